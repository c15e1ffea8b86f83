"""Watch one run: drain its pipes, keep its clock, and stop it at the first limit it hits."""

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox_images.harness import orders, processes
from sandbox_images.harness.cgroup import CgroupReader
from sandbox_images.harness.zygotes import SlotBroken, Zygote

_TICK_S = 0.025
_CHUNK = 1 << 16
_REPORT_BYTES = 16 * 1024 * 1024
_FLOOD_FACTOR = 16
"""A program that prints this many times its limit is stopped; one that prints less may end."""


class RunStopped(Exception):
    """The grader wants no more of this job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended; the fields of grader.sandbox.base.RunOutcome."""

    exit_code: int | None
    exit_signal: int | None
    stdout: bytes
    stderr: bytes
    report: bytes
    dropped_bytes: int
    cpu_time_s: float
    wall_time_s: float
    peak_memory_bytes: int
    limit_hit: str | None
    oom_killed: bool

    @property
    def streams(self) -> tuple[bytes, bytes, bytes]:
        """What the run wrote: output, errors, report."""
        return self.stdout, self.stderr, self.report


class _Pipe:
    """The reading end of a pipe whose content is kept up to a cap and then dropped."""

    def __init__(self, cap: int) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.writer, True)
        self._cap = cap
        self._chunks: list[bytes] = []
        self._kept = 0
        self.dropped_bytes = 0

    def drain(self) -> bool:
        """Read what is there; False at the end of the stream."""
        while True:
            try:
                data = os.read(self.reader, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            room = self._cap - self._kept
            if room > 0:
                self._chunks.append(data[:room])
                self._kept += len(self._chunks[-1])
            self.dropped_bytes += max(0, len(data) - max(room, 0))
            if len(data) < _CHUNK:
                return True

    @property
    def content(self) -> bytes:
        return b"".join(self._chunks)

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        self.close_writer()
        os.close(self.reader)


class Watch:
    """One run, from its order to its end."""

    def __init__(
        self,
        *,
        zygote: Zygote,
        limits: dict[str, Any],
        cgroup: CgroupReader | None,
        harness_pids: frozenset[int],
        host_descriptor: int,
        is_stopped: Callable[[], bool],
    ) -> None:
        """Prepare.

        Args:
            zygote: Forks the run.
            limits: The fields of grader.model.Limits.
            cgroup: Counters of the slot, where it has any.
            harness_pids: Processes of the slot that are not the run's.
            host_descriptor: Readable when the grader says something.
            is_stopped: Reads what the grader said and tells whether to stop this job.
        """
        self._zygote = zygote
        self._limits = limits
        self._cgroup = cgroup
        self._harness_pids = harness_pids
        self._host_descriptor = host_descriptor
        self._is_stopped = is_stopped
        self._stdout = _Pipe(limits["output_bytes"])
        self._stderr = _Pipe(limits["output_bytes"])
        self._report = _Pipe(_REPORT_BYTES)
        self._started_at: float | None = None
        self._ended: dict[str, Any] | None = None
        self._seen_cpu_time_s = 0.0
        self._limit_hit: str | None = None
        self._oom_kills = cgroup.oom_kills() if cgroup else 0
        self._memory_before = cgroup.memory_bytes() if cgroup else 0

    def run(self, program: str, bundle: int, payload: int) -> Ended:
        """Start the run and wait for its end.

        Raises:
            RunStopped: The grader lost interest; the box is dead.
            SlotBroken: The run did not get as far as the submission's code.
        """
        pipes = (self._stdout, self._stderr, self._report)
        try:
            self._zygote.start(
                orders.RunOrder(
                    program=program,
                    limits=self._limits,
                    bundle=bundle,
                    payload=payload,
                    stdout=self._stdout.writer,
                    stderr=self._stderr.writer,
                    report=self._report.writer,
                )
            )
            for pipe in pipes:
                pipe.close_writer()
            asked_at = time.monotonic()
            self._loop(asked_at)
            wall_time_s = time.monotonic() - (self._started_at or asked_at)
            # Every writer is dead by now, so this is all there will ever be.
            for pipe in pipes:
                while pipe.drain() and _readable(pipe.reader):
                    pass
            return self._summary(wall_time_s)
        finally:
            for pipe in pipes:
                pipe.close()

    def _loop(self, asked_at: float) -> None:
        poll = select.poll()
        control = self._zygote.control
        drains: dict[int, _Pipe] = {}
        for pipe in (self._stdout, self._stderr, self._report):
            drains[pipe.reader] = pipe
            poll.register(pipe.reader, select.POLLIN)
        poll.register(control, select.POLLIN)
        poll.register(self._host_descriptor, select.POLLIN)
        next_tick = asked_at + _TICK_S
        while self._ended is None and self._limit_hit is None:
            now = time.monotonic()
            for descriptor, _event in poll.poll(max(0.0, next_tick - now) * 1000):
                if descriptor == control.fileno():
                    self._hear()
                elif descriptor == self._host_descriptor:
                    if self._is_stopped():
                        self._kill()
                        raise RunStopped
                elif not drains[descriptor].drain():
                    poll.unregister(descriptor)
            self._check_flood()
            if time.monotonic() >= next_tick and self._ended is None:
                self._check_limits(asked_at)
                next_tick = time.monotonic() + _TICK_S

    def _hear(self) -> None:
        """Take a message about the run."""
        message = self._zygote.receive()
        if message["event"] == "started":
            self._started_at = time.monotonic()
        else:
            self._ended = message

    def _kill(self) -> None:
        """Kill the run and wait until nothing of it lives."""
        processes.kill_run(self._harness_pids)
        while self._ended is None:
            self._hear()

    def _check_flood(self) -> None:
        dropped = max(self._stdout.dropped_bytes, self._stderr.dropped_bytes)
        if self._limit_hit is None and dropped > _FLOOD_FACTOR * self._limits["output_bytes"]:
            self._stop("output")

    def _check_limits(self, asked_at: float) -> None:
        reading = processes.read_run(self._harness_pids, self._zygote.memory_bytes)
        self._seen_cpu_time_s = max(self._seen_cpu_time_s, reading.cpu_time_s)
        used = reading.memory_bytes
        if self._cgroup:
            used = self._cgroup.memory_bytes() - self._memory_before
        wall_time_s = time.monotonic() - (self._started_at or asked_at) - reading.run_delay_s
        if self._oom_happened() or used > self._limits["memory_bytes"]:
            self._stop("memory")
        elif reading.cpu_time_s > self._limits["cpu_time_s"]:
            self._stop("cpu_time")
        elif wall_time_s > self._limits["wall_time_s"]:
            self._stop("wall_time")

    def _oom_happened(self) -> bool:
        return self._cgroup is not None and self._cgroup.oom_kills() > self._oom_kills

    def _stop(self, limit: str) -> None:
        self._limit_hit = limit
        self._kill()

    def _summary(self, wall_time_s: float) -> Ended:
        oom_killed = self._oom_happened()
        if oom_killed:
            self._limit_hit = "memory"
        if self._started_at is None:
            said = self._stderr.content.decode(errors="replace")[-1000:]
            raise SlotBroken(f"a run did not start: {said}")
        assert self._ended is not None
        # The kernel's account of the main process lacks what processes took that outlived it.
        cpu_time_s = max(self._ended["cpu_time_s"], self._seen_cpu_time_s)
        status = self._ended["status"]
        exit_code = exit_signal = None
        if self._limit_hit is None and os.WIFSIGNALED(status):
            exit_signal = os.WTERMSIG(status)
        elif self._limit_hit is None:
            exit_code = os.WEXITSTATUS(status)
        dropped = self._stdout.dropped_bytes + self._stderr.dropped_bytes
        if self._limit_hit is None and cpu_time_s > self._limits["cpu_time_s"]:
            self._limit_hit = "cpu_time"
        if self._limit_hit is None and dropped:
            self._limit_hit = "output"
        return Ended(
            exit_code=exit_code,
            exit_signal=exit_signal,
            stdout=self._stdout.content,
            stderr=self._stderr.content,
            report=self._report.content,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            wall_time_s=wall_time_s,
            peak_memory_bytes=self._ended["peak_memory_bytes"],
            limit_hit=self._limit_hit,
            oom_killed=oom_killed,
        )


def _readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
