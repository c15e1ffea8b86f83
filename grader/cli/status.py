"""`grader status`."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.options import BrokerOption, SetOption, choose
from grader.model.limits import MiB
from grader.text.integers import counted
from grader.text.visible import visible_line

if TYPE_CHECKING:
    from grader.queueing.diagnosis import Diagnosis
    from grader.queueing.status import Lane, QueueStatus, RedisMemory, WorkerStatus

_ERRORS_SHOWN = 5
_LANES_SHOWN = 10


def status(
    *,
    broker: BrokerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    set_: SetOption = None,
) -> None:
    """Show what is wrong with the queue, then what waits, workers and slots, rates and errors.

    The first line is one sentence: the worst that is wrong, or that all is well.

    **Exit codes**

    - 0: a worker grades
    - 2: no broker is set
    - 3: nothing is graded: Redis does not answer, or no worker takes jobs
    """
    from grader.queueing.diagnosis import diagnose
    from grader.queueing.status import read_status

    found = read_status(choose(set_, broker=broker).settings)
    diagnosis = diagnose(found)
    if as_json:
        typer.echo(json.dumps(_plain(found, diagnosis), default=_json_value))
    else:
        for line in (diagnosis.text, *_lines(found)):
            typer.echo(visible_line(line))
    if not diagnosis.can_grade:
        raise typer.Exit(3)


def _plain(found: "QueueStatus", diagnosis: "Diagnosis") -> dict[str, Any]:
    derived = {"slots": found.slots, "running": found.running, "hit_rate": found.hit_rate}
    return {"diagnosis": asdict(diagnosis), **asdict(found), **derived}


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
    slots = ", ".join(
        f"{number} {state}"
        for state, number in found.slots_by_state.items()
        if number or state in ("busy", "idle")
    )
    lines = [
        f"queue    {found.queued} waiting, the oldest for {found.oldest_s:.1f} s; "
        f"{counted(found.clients, 'client')}",
        f"slots    {slots}; {counted(len(found.workers), 'worker')}, "
        f"{sum(worker.per_s for worker in found.workers):.1f} submissions/s",
        f"so far   {counts.get('submitted', 0)} submitted, {counts.get('graded', 0)} graded, "
        f"{counts.get('internal_errors', 0)} internal errors, "
        f"{counts.get('redelivered', 0)} redelivered, {counts.get('stale', 0)} stale, "
        f"{counts.get('killed', 0)} killed; "
        f"{counted(counts.get('workers_lost', 0), 'worker')} lost",
        f"cache    {found.hit_rate:.1%} of submissions needed no run; "
        f"{counted(found.cached, 'verdict')}, {counted(found.cached_bytes, 'byte')}",
        f"redis    {_memory(found.memory)}",
    ]
    lines += [_lane_line(lane) for lane in found.lanes[:_LANES_SHOWN]]
    if more := found.lanes[_LANES_SHOWN:]:
        lines.append(f"lane     and {len(more)} more, {sum(lane.waiting for lane in more)} waiting")
    lines += [_worker_line(worker) for worker in found.workers]
    lines += [
        f"error    {error.at:%Y-%m-%d %H:%M:%S}Z {error.text}"
        for error in found.errors[:_ERRORS_SHOWN]
    ]
    return lines


def _memory(memory: "RedisMemory") -> str:
    used = f"{memory.used_bytes / MiB:.1f} MiB used"
    if not memory.limit_bytes:
        return f"{used}, no limit (maxmemory)"
    return f"{used}, {memory.share:.0%} of {memory.limit_bytes / MiB:.0f} MiB (maxmemory)"


def _lane_line(lane: "Lane") -> str:
    runs = "none has run" if lane.run_s is None else f"runs take {lane.run_s:.2g} s"
    return (
        f"lane     {lane.client}: {lane.service_class}, {lane.waiting} waiting for {lane.image}, "
        f"the next for {lane.waited_s:.1f} s, "
        f"weight {lane.weight:g}, {runs}"
    )


def _worker_line(worker: "WorkerStatus") -> str:
    return (
        f"worker   {worker.id}: {worker.state}, {worker.running} of {worker.slots} slots busy "
        f"({worker.sandbox}, {worker.images}), {worker.graded} graded, {worker.per_s:.1f}/s, "
        f"build {worker.build or 'unknown'}"
    )
