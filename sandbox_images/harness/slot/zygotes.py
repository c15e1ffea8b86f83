"""The supervisor's side of zygotes."""

import contextlib
import json
import os
import select
import socket
import sys
from typing import Any, Protocol

from sandbox_images.harness.kernel import processes, signals
from sandbox_images.harness.wire import orders

_START_TIMEOUT_S = 60.0
_STANDING_RUNS = 512
_STANDING_GROWTH_BYTES = 64 * 1024 * 1024
_STANDING_CPU_TIME_S = 3600
_LIMITS_OF_A_RUN = ("cpu_time_s", "wall_time_s", "output_bytes")
_PROGRAM = os.path.abspath(os.path.join(__file__, "../../__main__.py"))
_ENVIRONMENT = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
}
"""The hash seed is the same everywhere, so that the order of a set changes no verdict."""


class SlotBroken(Exception):
    """A part of the slot is gone or does not answer; the slot must be replaced."""


class RunSource(Protocol):
    """Where a run's process comes from: a zygote forks it, or it was there before."""

    control: socket.socket
    """Readable when there is something to `receive`."""
    memory_bytes: int
    """Memory that the process shares with what it was forked from."""
    cpu_time_s: float
    """CPU time that the process used before the run."""
    pids: frozenset[int]
    """Processes that stay when the run is over."""
    is_standing: bool
    """Whether the process was there before the run, so that no message says that it started."""

    @property
    def is_gone(self) -> bool:
        """Whether `receive` would return at once, although `control` may not be readable."""

    def start(self, order: orders.RunOrder) -> None:
        """Begin a run."""

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Wait for the next message about the run, with the descriptors that came along."""


class Zygote:
    """A zygote process; see `RunSource`. It forks a process for each run."""

    cpu_time_s = 0.0
    pids: frozenset[int] = frozenset()
    is_standing = False
    is_gone = False

    def __init__(
        self, kind: str, preload: tuple[str, ...], site: list[str], *, reduced: bool
    ) -> None:
        self._name = " ".join((kind, *preload))
        self.is_spent = False
        """Whether a run has left something behind that only the end of the slot removes."""
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.set_inheritable(True)
        descriptor = str(theirs.fileno())
        arguments = [kind, descriptor, json.dumps(site), json.dumps(preload), json.dumps(reduced)]
        command = [sys.executable, "-s", "-S", "-P", "-B", _PROGRAM, "zygote", *arguments]
        self.pid = os.posix_spawn(
            sys.executable,
            command,
            _ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, 2, 1),
            ],
            # As in a program that was just started, but blocked until the zygote ignores them.
            setsigdef=signals.ENDING,
            setsigmask=signals.ENDING,
        )
        theirs.close()
        self.control.settimeout(_START_TIMEOUT_S)
        self.memory_bytes: int = self.receive()[0]["memory_bytes"]
        self.control.settimeout(None)

    def start(self, order: orders.RunOrder) -> None:
        """Have a run forked. Messages about it arrive on `control`."""
        message = order.message
        try:
            orders.send(self.control, message, order.descriptors)
        except OSError as error:
            raise self._broken(f"does not answer: {error}") from error

    def start_without_code(self, program: str, limits: dict[str, Any], channel: int) -> None:
        """Have a run forked that has no code, but gets what it executes over a channel."""
        parcel = orders.write_bundle("solution.py", None, [])
        try:
            with orders.order_by_channel(program, parcel, limits, channel) as order:
                self.start(order)
        finally:
            os.close(parcel.descriptor)

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """See `RunSource.receive`."""
        try:
            received = orders.receive(self.control)
        except OSError as error:
            raise self._broken(f"does not answer: {error}") from error
        if received is None:
            raise self._broken("is gone")
        self.is_spent |= received[0].get("leaves_files", False)
        return received

    def _broken(self, what: str) -> SlotBroken:
        return SlotBroken(f"the {self._name} zygote {what}")


class StandingJudge:
    """A run's process that stays to judge the next suite; see `RunSource`.

    It is replaced if it is killed, or has ended because a run did not end in order.
    """

    is_standing = True
    is_gone = False

    def __init__(self, zygote: Zygote, program: str, limits: dict[str, Any]) -> None:
        """Have the judge forked. The zygote has no other run until the judge ends."""
        self.memory_bytes = zygote.memory_bytes
        self._zygote = zygote
        self._limits = _limits_of_a_process(limits)
        self._runs = 0
        self._peak_memory_bytes = 0
        self._has_ended = False
        self._is_in_doubt = False
        before = processes.all_pids()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            limits = {**limits, "cpu_time_s": _STANDING_CPU_TIME_S}
            zygote.start_without_code(program, limits, theirs.fileno())
        message, descriptors = zygote.receive()
        for descriptor in descriptors:
            os.close(descriptor)  # a judge's forbidden calls fail without a report
        if message["event"] != "started":
            raise SlotBroken(f"a judge did not start: {message}")
        self.pids = processes.all_pids() - before
        ready = orders.receive(self.control)
        if ready is None:
            raise SlotBroken(f"a judge did not begin: {zygote.receive()[0]}")
        self.cpu_time_s = ready[0]["all_cpu_time_s"]

    def serves(self, limits: dict[str, Any]) -> bool:
        """Tell whether it can judge a run with these limits."""
        return (
            not self._has_ended
            and not self._is_in_doubt
            and _limits_of_a_process(limits) == self._limits
            and self._runs < _STANDING_RUNS
            and self._peak_memory_bytes < self.memory_bytes + _STANDING_GROWTH_BYTES
            and not select.select([self.control], [], [], 0)[0]  # which says that it has ended
        )

    def start(self, order: orders.RunOrder) -> None:
        """Begin to judge a suite."""
        message = {**order.message, "limits": {}}
        with contextlib.suppress(OSError):  # if it is gone, `receive` reports its end
            orders.send(self.control, message, order.descriptors)

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Wait for the end of the run, or of the process."""
        received = orders.receive(self.control)
        if received is None:
            return self.end(), []
        ended, _ = received
        self._runs += 1
        self.cpu_time_s = ended["all_cpu_time_s"]
        self._is_in_doubt = ended["in_doubt"]
        self._peak_memory_bytes = max(self._peak_memory_bytes, ended["peak_memory_bytes"])
        return received

    def end(self) -> dict[str, Any]:
        """End the process, and return the message about it; empty if it had ended before."""
        if self._has_ended:
            return {}
        self._has_ended = True
        self.control.close()
        self.pids = frozenset()  # the kernel may reuse these numbers
        ended, _ = self._zygote.receive()
        return {**ended, "cpu_time_s": max(0.0, ended["cpu_time_s"] - self.cpu_time_s)}


def _limits_of_a_process(limits: dict[str, Any]) -> dict[str, Any]:
    """Return the limits that a process gets once. `Watch` enforces the others for each run."""
    return {name: value for name, value in limits.items() if name not in _LIMITS_OF_A_RUN}


class Zygotes:
    """Every zygote of the slot, each started when it is first needed.

    Processes are started here only while there is no run.
    """

    def __init__(self, site: list[str], *, reduced: bool) -> None:
        """Start none yet.

        Args:
            site: Folders with third-party packages.
            reduced: Whether `lock_in.reduced` is to lock in the runs.
        """
        self._site = site
        self._reduced = reduced
        self._zygotes: dict[tuple[str, tuple[str, ...]], Zygote] = {}
        self._standing: dict[str, StandingJudge] = {}
        self._lasting_pids = processes.all_pids()

    @property
    def harness_pids(self) -> frozenset[int]:
        """Every process of the slot that belongs to no run."""
        return self._lasting_pids.union(*(judge.pids for judge in self._standing.values()))

    @property
    def are_spent(self) -> bool:
        """Whether a run has left something that stays as long as the slot."""
        return any(zygote.is_spent for zygote in self._zygotes.values())

    def get(self, kind: str, preload: tuple[str, ...]) -> Zygote:
        """Return the zygote of a kind, such as "plain" or "pytest", with these modules loaded."""
        key = (kind, preload)
        if key not in self._zygotes:
            before = processes.all_pids()
            self._zygotes[key] = Zygote(kind, preload, self._site, reduced=self._reduced)
            self._lasting_pids |= processes.all_pids() - before
        return self._zygotes[key]

    def standing_judge(self, kind: str, limits: dict[str, Any]) -> StandingJudge:
        """Return a judge that may have judged before and is as good as new.

        Args:
            kind: What it judges: "script" or "pytest".
            limits: Those of the run.
        """
        judge = self._standing.get(kind)
        if judge is not None and not judge.serves(limits):
            judge.end()
            del self._standing[kind]
        if kind not in self._standing:
            zygote = self.get(f"standing_{kind}", ())
            self._standing[kind] = StandingJudge(zygote, f"judge_{kind}s", limits)
        return self._standing[kind]
