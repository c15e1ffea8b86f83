"""`grader status`."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.options import BrokerOption, SetOption, choose
from grader.text.visible import visible

if TYPE_CHECKING:
    from grader.queueing.status import QueueStatus, WorkerStatus

_ERRORS_SHOWN = 5


def status(
    *,
    broker: BrokerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    set_: SetOption = None,
) -> None:
    """Show the queue: what waits, the workers and their slots, rates, and the last errors.

    **Exit codes**

    - 0: there is a worker
    - 2: no broker is set
    - 3: Redis does not answer, or there is no worker
    """
    from grader.queueing.status import read_status

    found = read_status(choose(set_, broker=broker).settings)
    if as_json:
        typer.echo(json.dumps(_plain(found), default=_json_value))
    else:
        for line in _lines(found):
            typer.echo(visible(line))
    if not found.workers:
        raise typer.Exit(3)


def _plain(found: "QueueStatus") -> dict[str, Any]:
    derived = {"slots": found.slots, "running": found.running, "hit_rate": found.hit_rate}
    return {**asdict(found), **derived}


def _json_value(value: object) -> Any:
    match value:
        case frozenset():
            return sorted(value)
        case datetime():
            return value.isoformat()
        case _:
            message = f"cannot encode {type(value).__name__} as JSON"
            raise TypeError(message)


def _lines(found: "QueueStatus") -> list[str]:
    counts = found.counts
    messages = ", ".join(f"{number} {image}" for image, number in found.messages.items())
    lines = [
        f"queue    {found.queued} waiting, the oldest for {found.oldest_s:.1f} s; "
        f"messages: {messages}; {found.clients} clients",
        f"slots    {found.running} of {found.slots} busy, {len(found.workers)} workers, "
        f"{sum(worker.per_s for worker in found.workers):.1f} submissions/s",
        f"so far   {counts.get('submitted', 0)} submitted, {counts.get('graded', 0)} graded, "
        f"{counts.get('internal_errors', 0)} internal errors, "
        f"{counts.get('redelivered', 0)} redelivered",
        f"cache    {found.hit_rate:.1%} of submissions needed no run; "
        f"{found.cached} verdicts, {found.cached_bytes} bytes",
    ]
    lines += [_worker_line(worker) for worker in found.workers]
    lines += [
        f"error    {error.at:%Y-%m-%d %H:%M:%S}Z {error.text}"
        for error in found.errors[:_ERRORS_SHOWN]
    ]
    return lines


def _worker_line(worker: "WorkerStatus") -> str:
    return (
        f"worker   {worker.id}: {worker.state}, {worker.running} of {worker.slots} slots busy "
        f"({worker.sandbox}, {worker.images}), {worker.graded} graded, {worker.per_s:.1f}/s"
    )
