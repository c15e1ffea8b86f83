"""The ledger: the state of every job, in Redis.

Every method is one atomic step, and can be repeated if its answer was lost. Safe for many threads,
and in a process that was forked from one that used it. docs/operations.md describes the keys.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.model.wire import WIRE_VERSION
from grader.queueing import names
from grader.queueing.broker import connect, execute
from grader.queueing.ledger_values import (
    Beat,
    Checked,
    Entered,
    Handover,
    Hint,
    LedgerEntry,
    Message,
    Stepped,
    Wanted,
    read_hints,
    read_message,
    read_submitted,
    read_taken,
)
from grader.queueing.names import Key
from grader.queueing.scripts import SCRIPTS

CLIENT_LEASE_S = 60.0
"""A client that was silent for so long counts as dead: its jobs are no longer wanted."""

_REAP_INTERVAL_S = 0.5
_DROPPED_AT_ONCE = 5000
"""Verdicts, and suites, that one step drops at most if Redis is nearly full; Redis serves nothing
meanwhile."""
_CHECKED_AT_ONCE = 1024
"""Jobs that one step looks after."""
_UNUSED_SUITE_S = 30.0
"""A suite that no client has named for so many seconds may be dropped, too."""

_WORKERS_TRIED = 2
"""If the sandboxes of so many workers failed to run a job, it is an internal error."""
_APART_S = 20.0
"""How many seconds a worker that could not run a job leaves it to others, if there are any."""

MAX_READ = 64
"""Answers that one call reads at most."""


class Ledger:
    """The scripts as methods. Each raises `QueueUnavailableError` if Redis fails, and no other."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigurationError: As `connect`.
        """
        self._redis = connect(settings)
        self._execute: Callable[..., Any] = partial(execute, self._redis)
        self._queue = settings.queue
        self._times = {
            "worker_lease_ms": _ms(settings.queue.lease_s),
            "client_lease_ms": _ms(CLIENT_LEASE_S),
            "keep_ms": _ms(settings.queue.result_ttl_s),
            "cache_ttl_ms": _ms(settings.queue.cache_ttl_s),
        }
        """Arguments of every script."""

    def close(self) -> None:
        """Close the connections. Repeats harmlessly."""
        self._redis.close()

    # ------------------------------------------------------------ clients

    def submit(self, client: str, entries: Sequence[LedgerEntry]) -> Entered:
        """Enter each job, unless it has a cached report or is in flight."""
        found, hints = self._run(
            "submit",
            *(entry.code for entry in entries),
            client=client,
            weights={
                entry.waiter(client): self._queue.weight * names.CLASS_WEIGHTS[entry.service_class]
                for entry in entries
            },
            jobs=[
                {
                    "key": entry.key,
                    "waiter": entry.waiter(client),
                    "suite": entry.suite,
                    "image": entry.image,
                    "timeout_ms": _ms(entry.timeout_s),
                    "settings": entry.settings,
                }
                for entry in entries
            ],
        ) or ((), ())
        return Entered(jobs=tuple(read_submitted(each) for each in found), hints=read_hints(hints))

    def store_suite(self, digest: str, suite: bytes) -> None:
        """Store a suite for the workers. Every submission that names it keeps it longer."""
        self._run("store_suite", suite, digest=digest)

    def read(self, client: str, *, block_s: float) -> list[Message]:
        """Wait up to `block_s` seconds for answers, and return up to `MAX_READ` of them.

        An answer is read again until `acknowledge` drops it.
        """
        found = self._execute(
            "XREAD", "COUNT", MAX_READ, "BLOCK", max(1, _ms(block_s)),
            "STREAMS", Key.OUT + client, "0",
        )  # fmt: skip
        entries = found[0][1] if found else ()
        return [read_message(entry_id, fields) for entry_id, fields in entries]

    def acknowledge(self, client: str, last: str) -> None:
        """Drop the answers up to the id `last`."""
        milliseconds, _, number = last.partition("-")
        self._execute("XTRIM", Key.OUT + client, "MINID", f"{milliseconds}-{int(number) + 1}")

    def check(self, client: str, keys: Sequence[str]) -> Checked:
        """Renew a client's lease, and look after its jobs, some of them in each atomic step.

        Args:
            client: The client.
            keys: Jobs that it waits for.
        """
        lost: list[str] = []
        versions: set[int] = set()
        slots: list[bytes] = []
        for start in range(0, max(1, len(keys)), _CHECKED_AT_ONCE):
            some = list(keys[start : start + _CHECKED_AT_ONCE])
            found, others, slots = self._run("check", client=client, keys=some) or ((), (), [])
            lost += _texts(found)
            versions = {int(member.partition(" ")[0]) for member in _texts(others)}
        return Checked(
            lost=tuple(lost),
            other_versions=tuple(sorted(versions)),
            slots={
                image.decode(): int(number)
                for image, number in zip(slots[::2], slots[1::2], strict=True)
            },
        )

    def has_slot(self, key: str) -> bool:
        """Return whether `begin` was called for a job, and it has not ended yet."""
        return bool(self._execute("HGET", Key.JOB + key, "has_slot") == b"1")

    def cancel(self, client: str, keys: Iterable[str]) -> None:
        """Stop waiting for jobs. Those that no other client waits for are stopped."""
        self._run("cancel", client=client, keys=list(keys))

    def leave(self, client: str) -> None:
        """Forget a client that no longer waits for anything."""
        self._execute("DEL", Key.OUT + client)
        self._execute("ZREM", Key.CLIENTS, client)

    # ------------------------------------------------------------ workers

    def step(self, worker: str, handovers: Sequence[Handover], wanted: Sequence[Wanted]) -> Stepped:
        """Send reports to the clients that wait for them, and have the worker hold jobs.

        Which jobs it gets is decided here: those of the lane that is furthest behind its share of
        the slots, and of these the one with the earliest deadline.
        """
        found = self._run(
            "step",
            *(each.report for each in handovers),
            worker=worker,
            cache_bytes=self._queue.cache_bytes,
            done=[
                {
                    "token": each.token,
                    "key": each.key,
                    "error": each.error,
                    "keep": each.keep,
                    "edition": each.edition,
                }
                for each in handovers
            ],
            wanted=[{"token": each.token, "images": list(each.images)} for each in wanted],
        )
        in_time, taken = found or ((), ())
        return Stepped(
            in_time=tuple(done == 1 for done in in_time),
            taken=tuple(read_taken(each) if each else None for each in taken),
        )

    def run_alone(self, worker: str, token: str, key: str) -> bool:
        """Note that a worker runs only this job; False if it no longer holds the job.

        If the worker dies now, that is put down to this job.
        """
        return bool(self._run("note", worker=worker, token=token, key=key, field="alone"))

    def begin(self, worker: str, token: str, key: str) -> bool:
        """Note that a job has a slot; False if the worker no longer holds the job."""
        return bool(self._run("note", worker=worker, token=token, key=key, field="has_slot"))

    def suite(self, digest: str) -> bytes | None:
        """Return a suite that was stored; None if it is gone."""
        found: bytes | None = self._execute("GET", Key.SUITE + digest)
        return found

    def ask_again(self, worker: str, token: str, key: str) -> None:
        """Have the clients submit a job again that a worker holds, since its suite is gone."""
        self._run("ask_again", worker=worker, token=token, key=key)

    def give_back(self, worker: str, jobs: Iterable[tuple[str, str]]) -> tuple[Hint, ...]:
        """Put jobs that a worker holds back into the queue; return the hints to send.

        Args:
            worker: The worker.
            jobs: Token and key of each.
        """
        given = [{"token": token, "key": key} for token, key in jobs]
        return read_hints(self._run("give_back", worker=worker, jobs=given))

    def retry(self, worker: str, token: str, key: str) -> tuple[Hint, ...] | None:
        """Put a job that a worker could not run back into the queue, for another worker.

        Returns:
            The hints to send; None if too many workers have failed at the job.
        """
        found = self._run(
            "retry",
            worker=worker,
            token=token,
            key=key,
            tries=_WORKERS_TRIED,
            apart_ms=_ms(_APART_S),
        )
        return read_hints(found[0]) if found else None

    def beat(
        self,
        worker: str,
        description: str,
        running: Iterable[tuple[str, str]],
        tokens: Sequence[str],
        *,
        edition: str,
    ) -> Beat:
        """Renew a worker's lease, and compare what it does with what the ledger says.

        Args:
            worker: The worker.
            description: What `grader status` shows of it, as JSON.
            running: Token and key of each of its running jobs.
            tokens: Those under which it holds jobs.
            edition: What its verdicts depend on, apart from the jobs. A verdict is kept for one
                edition, and answers only while workers of that edition serve.
        """
        found = self._run(
            "beat",
            worker=worker,
            description=description,
            running=[{"token": token, "key": key} for token, key in running],
            tokens=list(tokens),
            edition=edition,
            member=_versions_member(worker),
        )
        lost, held = found or ((), ())
        return Beat(
            lost=tuple(_texts(lost)),
            held=tuple((token.decode(), key.decode()) for token, key in held),
        )

    def leave_worker(self, worker: str) -> tuple[Hint, ...]:
        """Forget a worker that ends in order; return the hints for the jobs that it still held."""
        return read_hints(self._run("leave", worker=worker, member=_versions_member(worker)))

    def reap(self) -> tuple[Hint, ...]:
        """Take jobs back from dead workers and find lost hints, at most twice a second.

        Also drops cached reports and unused suites if Redis is nearly full.

        Returns:
            The hints to send.
        """
        found = self._run(
            "reap",
            interval_ms=_ms(_REAP_INTERVAL_S),
            worker_deaths=self._queue.worker_deaths,
            most_dropped=_DROPPED_AT_ONCE,
            unused_suite_ms=_ms(_UNUSED_SUITE_S),
        )
        return read_hints(found)

    # ------------------------------------------------------------ inside

    def _run(self, name: str, *payloads: bytes, **arguments: Any) -> Any:
        """Run a script with named arguments, and payloads that are too large to be put in JSON."""
        from redis.exceptions import NoScriptError

        script = SCRIPTS[name]
        # A key in a foreign hint, or an error's text, may hold a lone surrogate.
        encoded = json.dumps({**self._times, **arguments}, ensure_ascii=False).encode(
            errors="replace"
        )
        try:
            return self._execute("EVALSHA", script.digest, 0, encoded, *payloads)
        except QueueUnavailableError as error:
            if not isinstance(error.__cause__, NoScriptError):
                raise
            return self._execute("EVAL", script.source, 0, encoded, *payloads)


def _versions_member(worker: str) -> str:
    """Return what programs of all versions read in `Key.VERSIONS`; its form must not change."""
    return f"{WIRE_VERSION} {worker}"


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _texts(found: Iterable[bytes]) -> list[str]:
    return [text.decode() for text in found]
