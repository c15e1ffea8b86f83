"""One of two programs that talk to each other: its process, its usage and its end."""

import select
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from sandbox_images.harness.kernel import processes
from sandbox_images.harness.kernel.shared_memory import SharedMemory
from sandbox_images.harness.slot.ended import Ended, broken, exit_of
from sandbox_images.harness.slot.limit_hit import is_late, limit_of
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.pipes import CappedOutput, CappedPipe
from sandbox_images.harness.slot.relay import Relay
from sandbox_images.harness.slot.zygotes import Zygote
from sandbox_images.harness.wire import orders

_REPORT_BYTES = 1024 * 1024


class Talker(NamedTuple):
    """What is needed to start one of two programs that talk to each other."""

    zygote: Zygote
    """Forks its process. The other program has another zygote."""
    bundle: orders.Parcel
    """What is put into its work area."""
    limits: dict[str, Any]
    """The fields of grader.model.Limits, for this program alone."""
    command: tuple[str, ...] = ()
    """What its process executes in place of Python code, if anything."""
    environment: Mapping[str, str] = MappingProxyType({})
    """The command's variables."""


class Side:
    """One of the two programs: its process, its output, and its limits."""

    def __init__(
        self, talker: Talker, shared: SharedMemory | None, *, prints: Relay, reads: Relay
    ) -> None:
        """Start nothing yet.

        Args:
            talker: The program.
            shared: Adds up what its processes share; None if the kernel does not tell.
            prints: Carries what it prints.
            reads: Brings what it reads.
        """
        self.zygote_pid = talker.zygote.pid
        self.party = Party(
            talker.zygote,
            "command" if talker.command else "stdin",
            bundle=talker.bundle,
            command=talker.command,
            environment=talker.environment,
        )
        self.limits = limits = talker.limits
        self.prints = prints
        self.reads = reads
        self.stderr = CappedPipe(CappedOutput(limits["output_bytes"]))
        self.report = CappedPipe(CappedOutput(_REPORT_BYTES))
        self._drained = [self.stderr, self.report]
        self._listens = True
        self.pids: list[int] = []
        self.account = processes.Account(self.party.inherited_bytes, limits["memory_bytes"], shared)
        self.limit_hit: str | None = None
        self.was_killed = False
        self.ended_at: float | None = None

    @property
    def is_alive(self) -> bool:
        """Whether its process has not ended."""
        return self.party.ended is None

    def start(self) -> None:
        """Start its process."""
        self.party.order(
            self.limits,
            payload=self.reads.sink_reader,
            stdout=self.prints.source_writer,
            stderr=self.stderr.writer,
            report=self.report.writer,
        )
        for pipe in (self.stderr, self.report):
            pipe.close_writer()

    def awaited(self) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """Yield its descriptors to wait for now, each with its event and its handler."""
        for pipe in self._drained:
            yield pipe.reader, select.POLLIN, partial(self._drain, pipe)
        if self.party.listener is not None and self.is_alive and self._listens:
            yield self.party.listener, select.POLLIN, self._hear_notification

    def _drain(self, pipe: CappedPipe) -> None:
        if not pipe.drain():
            self._drained.remove(pipe)

    def _hear_notification(self) -> None:
        """Handle a notification; if there is none, all processes of the program are gone."""
        listener = self.party.listener
        if listener is None:
            return
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        self._listens = any(event & select.POLLIN for _listener, event in poll.poll(0))
        if self._listens:
            self.party.notifications.hear(listener)

    def look(self, pids: list[int], counted_s: float | None = None) -> None:
        """Read what its processes use; see `Account.look`."""
        self.pids = pids
        self.account.look(pids, counted_s)

    def find_limit(self, age_s: float, waited_s: float) -> str | None:
        """Return the limit that it exceeded at the last look; None if it exceeded none.

        Args:
            age_s: Seconds on the clock during which it ought to have ended.
            waited_s: How many of them do not count.
        """
        if self.account.memory_bytes > self.limits["memory_bytes"]:
            return "memory"
        if self.account.cpu_time_s > self.limits["cpu_time_s"]:
            return "cpu_time"
        if is_late(age_s, waited_s=waited_s, limits=self.limits):
            return "wall_time"
        if self.prints.dropped_bytes or self.stderr.output.dropped_bytes:
            return "output"
        return None

    def summary(self, wall_time_s: float, *, oom_happened: bool) -> Ended:
        """Return how it ended."""
        for pipe in (self.stderr, self.report):
            pipe.drain_rest()
        ended = self.party.ended
        if ended is None or (self.party.started_at is None and not self.was_killed):
            raise broken("a run did not start", self.stderr.output.content)
        cpu_time_s = max(ended["cpu_time_s"], self.account.cpu_time_s)
        exit_code, exit_signal = exit_of(self.party.status)
        oom_killed = oom_happened and exit_signal == signal.SIGKILL and not self.was_killed
        dropped = self.prints.dropped_bytes + self.stderr.output.dropped_bytes
        limit = limit_of(
            "memory" if oom_killed else self.limit_hit,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            memory_bytes=self.party.own_peak_bytes(self.account.mapped_bytes),
            limits=self.limits,
        )
        if limit is not None:
            exit_code = exit_signal = None
        return Ended(
            exit_code=exit_code,
            exit_signal=exit_signal,
            stdout=self.prints.content,
            stderr=self.stderr.output.content,
            report=self.report.output.content,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            wall_time_s=wall_time_s,
            peak_memory_bytes=ended["peak_memory_bytes"],
            limit_hit=limit,
            oom_killed=oom_killed,
            forbidden_calls=tuple(self.party.notifications.names),
        )

    def close(self) -> None:
        """Close every descriptor of its own."""
        for pipe in (self.stderr, self.report):
            pipe.close()
        self.party.close()
