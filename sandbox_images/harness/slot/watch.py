"""Watch one run: drain its pipes, and stop it at the first limit that it hits."""

import os
import select
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from sandbox_images.harness.kernel import clock, processes
from sandbox_images.harness.kernel.cgroup import CgroupReader
from sandbox_images.harness.kernel.shared_memory import SharedMemory
from sandbox_images.harness.slot.ended import Ended, broken, exit_of
from sandbox_images.harness.slot.limit_hit import is_late, limit_of
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.pipes import CappedOutput, CappedPipe
from sandbox_images.harness.split.statuses import CANDIDATE_GONE, JUDGE_BROKEN
from sandbox_images.harness.wire import orders

_TICK_S = 0.025
_REPORT_BYTES = 16 * 1024 * 1024
_FAREWELL_S = 0.2
_LARGE_PART = 8
"""If a source is larger than this part of the memory limit, it is what filled the memory: a run
holds its source several times before it starts."""
_FLOOD_FACTOR = 16
"""A program that prints this many times its limit is stopped; with less, it may run on."""


class RunStopped(Exception):
    """The grader has stopped the batch."""


class Watch:
    """One run, from its order to its end. It ends when the last of its parties does."""

    def __init__(
        self,
        *,
        parties: list[Party],
        limits: dict[str, Any],
        cgroup: CgroupReader | None,
        oom_happened: Callable[[], bool],
        shared: SharedMemory | None,
        slot_memory: Callable[[], int] | None,
        idle_memory_bytes: int,
        harness_pids: frozenset[int],
        host_descriptor: int,
        is_stopped: Callable[[], bool],
        is_crowded: Callable[[], bool] | None = None,
    ) -> None:
        """Prepare.

        Args:
            parties: The run's processes; the main one last.
            limits: The fields of grader.model.Limits, for all of them together.
            cgroup: Counters of the slot, if it has any.
            oom_happened: Tells whether the kernel has killed for want of memory; see `OomKills`.
            shared: Adds up what processes share; None if `slot_memory` does.
            slot_memory: Reads the bytes in use in the slot, if something counts them.
            idle_memory_bytes: Bytes in use in the slot without a run.
            harness_pids: Processes of the slot that are not the run's.
            host_descriptor: Readable when the grader has sent something.
            is_stopped: Reads what the grader has sent and tells whether to stop this batch.
            is_crowded: Tells whether there are too many files, if the kernel does not check it.
        """
        self._parties = parties
        self._main = parties[-1]
        self._limits = limits
        self._cgroup = cgroup
        self._harness_pids = harness_pids.difference(*(party.source.pids for party in parties))
        self._host_descriptor = host_descriptor
        self._is_stopped = is_stopped
        self._is_crowded = is_crowded
        self._stdout = CappedOutput(limits["output_bytes"])
        self._stderr = CappedOutput(limits["output_bytes"])
        self._report = CappedOutput(_REPORT_BYTES)
        self._streams = [(CappedPipe(self._stdout), CappedPipe(self._stderr)) for _ in parties]
        self._report_pipe = CappedPipe(self._report)
        self._pipes = (*chain.from_iterable(self._streams), self._report_pipe)
        self._asked_at = 0.0
        self._account = processes.Account(
            min(party.inherited_bytes for party in parties),
            None if slot_memory else limits["memory_bytes"],
            shared,
            cpu_time_before_s=sum(party.source.cpu_time_s for party in parties),
        )
        self._others_s: float | None = None
        self._limit_hit: str | None = None
        self._oom_happened = oom_happened
        self._slot_memory = slot_memory
        self._memory_before = idle_memory_bytes
        self.was_long = False
        """Whether it lasted long enough for its limits to be checked."""

    def run(self, payload: int) -> Ended:
        """Start the run and wait for its end.

        Raises:
            RunStopped: The grader has stopped the batch; all processes of the run are gone.
            SlotBroken: A process failed before it reached the code it was to run, or was killed
                because the machine had no memory left.
        """
        try:
            self._asked_at = clock.now()
            for party, (stdout, stderr) in zip(self._parties, self._streams, strict=True):
                self._start(party, payload, stdout=stdout.writer, stderr=stderr.writer)
            for pipe in self._pipes:
                pipe.close_writer()
            self._loop()
            wall_time_s = clock.now() - (self._main.started_at or self._asked_at)
            self._end_all()
            for pipe in self._pipes:
                pipe.drain_rest()
            return self._summary(wall_time_s)
        finally:
            for pipe in self._pipes:
                pipe.close()
            for party in self._parties:
                party.close()

    def _start(self, party: Party, payload: int, *, stdout: int, stderr: int) -> None:
        # Only the main process gets the tests and the report: with these, the submission could
        # read what is expected, or write its own verdict.
        if party is self._main:
            report = self._report_pipe.writer
            party.order(self._limits, payload=payload, stdout=stdout, stderr=stderr, report=report)
            return
        with orders.nothing() as nothing:
            party.order(self._limits, payload=nothing, stdout=stdout, stderr=stderr, report=nothing)

    def _loop(self) -> None:
        poll = select.poll()
        drains: dict[int, CappedPipe] = {pipe.reader: pipe for pipe in self._pipes}
        controls = {party.source.control.fileno(): party for party in self._parties}
        listeners: dict[int, Party] = {}
        for descriptor in (*drains, *controls, self._host_descriptor):
            poll.register(descriptor, select.POLLIN)
        next_tick = self._asked_at + _TICK_S
        while self._main.ended is None and self._limit_hit is None:
            now = clock.now()
            for descriptor, event in poll.poll(max(0.0, next_tick - now) * 1000):
                if descriptor in controls:
                    party = controls[descriptor]
                    party.hear()
                    if party.listener is not None and party.ended is None:
                        listeners[party.listener] = party
                        poll.register(party.listener, select.POLLIN)
                elif descriptor in listeners:
                    if event & select.POLLIN:
                        listeners[descriptor].notifications.hear(descriptor)
                    else:  # all processes that it reports on are gone
                        poll.unregister(descriptor)
                elif descriptor == self._host_descriptor:
                    if self._is_stopped():
                        self._kill()
                        raise RunStopped
                elif not drains[descriptor].drain():
                    poll.unregister(descriptor)
            self._check_flood()
            if clock.now() >= next_tick and self._main.ended is None:
                self._check_limits()
                next_tick = clock.now() + _TICK_S

    def _end_all(self) -> None:
        """End what is left of the run after its main process."""
        if self._limit_hit is None:
            self._await_farewell()
        if any(party.ended is None for party in self._parties):
            self._kill()

    def _await_farewell(self) -> None:
        """Give the candidate a moment to end after the exchange."""
        # If it broke off the exchange, its end decides the outcome of the run.
        timeout_s = _FAREWELL_S if self._candidate_left else _TICK_S
        for party in self._parties[:-1]:
            if party.ended is None and select.select([party.source.control], [], [], timeout_s)[0]:
                party.hear()

    def _kill(self) -> None:
        """Kill the run and wait until all of its processes are gone."""
        while living := [party for party in self._parties if party.ended is None]:
            # Repeated, because a zygote may fork a process after the kill.
            processes.kill_run(self._harness_pids.union(*self._spared_pids()))
            controls = {party.source.control: party for party in living}
            readable = select.select(list(controls), [], [], _TICK_S)[0]
            for control, party in controls.items():
                if control in readable or party.source.is_gone:
                    party.hear()

    def _spared_pids(self) -> Iterator[frozenset[int]]:
        """Yield the processes that have ended their part in order and stay for the next run."""
        for party in self._parties:
            if party.ended is not None:
                yield party.source.pids

    @property
    def _candidate_left(self) -> bool:
        """Whether the judge says that the candidate broke off the exchange."""
        return self._judge_said(CANDIDATE_GONE)

    def _judge_said(self, exit_status: int) -> bool:
        """Whether there is a judge, and it ended with this exit status."""
        if len(self._parties) == 1 or self._main.ended is None:
            return False
        status = self._main.status
        return os.WIFEXITED(status) and os.WEXITSTATUS(status) == exit_status

    def _check_flood(self) -> None:
        dropped = max(self._stdout.dropped_bytes, self._stderr.dropped_bytes)
        if self._limit_hit is None and dropped > _FLOOD_FACTOR * self._limits["output_bytes"]:
            self._stop("output")

    def _check_limits(self) -> None:
        self.was_long = True
        self._account.look(processes.all_pids() - self._harness_pids, self._counted_s())
        used = self._account.memory_bytes
        if self._slot_memory:
            used = self._slot_memory() - self._memory_before
        age_s = clock.now() - (self._main.started_at or self._asked_at)
        if self._oom_happened() or used > self._limits["memory_bytes"]:
            self._stop("memory")
        elif self._account.cpu_time_s > self._limits["cpu_time_s"]:
            self._stop("cpu_time")
        elif is_late(age_s, waited_s=self._account.waited_s, limits=self._limits):
            self._stop("wall_time")
        elif self._is_crowded and self._is_crowded():
            # `limit_hit` stays None: on other kernels, the program gets an error and goes on.
            self._kill()

    def _counted_s(self) -> float | None:
        """Return the CPU time of all runs of the slot so far, if a control group counts it."""
        if self._cgroup is None:
            return None
        own_s = time.process_time()
        if self._others_s is None:  # Zygotes and other judges wait while a run lasts.
            self._others_s = processes.cpu_time_s(self._harness_pids) - own_s
        return self._cgroup.cpu_time_s() - self._others_s - own_s

    @property
    def _is_too_large(self) -> bool:
        """Whether the submission, or what a compiler made of it, did not fit into memory.

        Then it could not be started. Files of the suite that do not fit are not its fault.
        """
        most_bytes = self._limits["memory_bytes"] // _LARGE_PART
        return self._limit_hit == "memory" and (
            bool(self._main.command)
            or any(party.bundle.source_bytes > most_bytes for party in self._parties)
        )

    def _stop(self, limit: str) -> None:
        self._limit_hit = limit
        self._kill()

    def _summary(self, wall_time_s: float) -> Ended:
        oom_killed = self._oom_happened()
        if oom_killed:
            self._limit_hit = "memory"
        if any(party.started_at is None for party in self._parties) and not self._is_too_large:
            raise broken("a run did not start", self._stderr.content)
        if self._judge_said(JUDGE_BROKEN):
            raise broken("a judge did not begin", self._stderr.content)
        ends = [party.ended for party in self._parties if party.ended is not None]
        # The kernel's account of a process lacks the time of children that outlived it.
        cpu_time_s = max(sum(end["cpu_time_s"] for end in ends), self._account.cpu_time_s)
        exit_code = exit_signal = None
        if self._limit_hit is None:
            decisive = self._parties[0] if self._candidate_left else self._main
            exit_code, exit_signal = exit_of(decisive.status)
        dropped = self._stdout.dropped_bytes + self._stderr.dropped_bytes
        limit_hit = limit_of(
            self._limit_hit,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            memory_bytes=max(
                party.own_peak_bytes(self._account.mapped_bytes) for party in self._parties
            ),
            limits=self._limits,
        )
        return Ended(
            exit_code=exit_code,
            exit_signal=exit_signal,
            stdout=self._stdout.content,
            stderr=self._stderr.content,
            report=self._report.content,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            wall_time_s=wall_time_s,
            waited_s=self._account.waited_s,
            peak_memory_bytes=max(end["peak_memory_bytes"] for end in ends),
            limit_hit=limit_hit,
            oom_killed=oom_killed,
            # If there are two parties, the first is the candidate. The judge's calls do not matter.
            forbidden_calls=tuple(self._parties[0].notifications.names),
        )
