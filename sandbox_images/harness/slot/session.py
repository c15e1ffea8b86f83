"""A session: a tree of states, each of them a stopped process from which steps are forked.

The session is one run of the slot. Its main process keeps the files; `runners.session` is the other
side of this module. Every state is stopped by a signal unless a step is being forked from it, so
it takes no CPU time. When a step has ended, everything that it started is killed, except for the
process of the state that it led to.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sandbox_images.harness.kernel import processes, shared_memory
from sandbox_images.harness.lock_in.notifications import Guard
from sandbox_images.harness.slot.ended import Ended
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.step_source import SessionState, StepSource
from sandbox_images.harness.slot.zygotes import SlotBroken, Zygote
from sandbox_images.harness.wire import orders, session_lines
from sandbox_images.harness.wire.session_lines import FORK, FORKED, PARKED, REAP, Said

_ANSWER_S = 30.0
"""How long the keeper may take to copy files, even on a busy machine."""
_FORK_S = 5.0
_SWEEP_S = 3.0
_STOP_S = 1.0
_SWEEP_PAUSE_S = 0.002
_ALONE_S = 0.1
"""How long a finished thread may take to disappear."""
_HARMLESS = (None, "output")
"""A cell that hits one of these limits still leads to a state."""


class SessionLost(Exception):
    """The session's own processes are gone: a cell has killed them, or memory was short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The result of a step."""

    ended: Ended | None
    """None if the step did not begin."""
    state: int | None
    """The state that it led to; None if it led to none, and the session is as before."""
    problem: str | None
    """Why it led to none."""
    is_gone: bool = False
    """Whether the state that the step should start from is gone."""


class SessionStates:
    """The tree of states of one session. `close` ends all of its processes."""

    def __init__(
        self,
        zygote: Zygote,
        limits: dict[str, Any],
        *,
        most_states: int,
        harness_pids: frozenset[int],
    ) -> None:
        """Start the session, with one state, 0.

        Args:
            zygote: Forks the session as a run, and can have no other run meanwhile.
            limits: The fields of grader.model.Limits. Those on memory and files hold for the whole
                session, that on processes for what one step starts, the others for each step.
            most_states: How many states it may have at once.
            harness_pids: Processes of the slot that belong to no session.

        Raises:
            SlotBroken: The session did not start.
        """
        self._zygote = zygote
        self._limits = limits
        self._most_states = most_states
        self._harness_pids = harness_pids
        self._states: dict[int, SessionState] = {}
        self._next = 0
        self._files_of: int | None = None
        """The state whose files are in the work area; None if no state has such files."""
        self._listener: int | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_ANSWER_S)
        with theirs:
            self._start_run(theirs.fileno())
        self._own_pids = processes.all_pids() - harness_pids
        """The keeper, and process 1 of the session's namespace; states are not among them."""
        try:
            line, theirs = session_lines.open_line()
            with theirs:
                message = {"most_bytes": limits["work_bytes"]}
                orders.send(self._control, message, (theirs.fileno(),))
            said = self._await(line)
            if said is None or said.what != PARKED:
                raise SlotBroken("a session did not start")
            self._own_bytes = self._inherited_bytes = processes.memory_bytes(said.pid)
            self._add(SessionState(pid=said.pid, line=line, inherited_bytes=self._own_bytes))
        except BaseException:
            self.close()
            raise

    def _start_run(self, channel: int) -> None:
        # States are processes, too, and ended ones are reaped later.
        allowed = self._limits["processes"] + 2 * self._most_states
        limits = {**self._limits, "processes": allowed}
        self._zygote.start_without_code("session", limits, channel)
        message, descriptors = self._zygote.receive()
        if message["event"] != "started":
            raise SlotBroken(f"a session did not start: {message}")
        self._listener = descriptors[0] if descriptors else None

    @property
    def pids(self) -> frozenset[int]:
        """Every process that the session has between two steps."""
        return self._own_pids.union(state.pid for state in self._states.values())

    def memory_bytes(self) -> int:
        """Return roughly the memory of the session, for kernels that do not count it.

        Each process counts with what it has beyond the process that it was forked from. Memory
        that a step changes in place is not counted, nor are files.
        """
        grown = sum(
            max(0, processes.memory_bytes(state.pid) - state.inherited_bytes)
            for state in self._states.values()
        )
        kept = sum(map(processes.memory_bytes, self._own_pids)) - self._own_bytes
        others = sum(
            max(0, processes.memory_bytes(pid) - self._inherited_bytes)
            for pid in processes.all_pids() - self._harness_pids - self.pids
        )
        # The session's processes are in the zygote's net namespace.
        buffers = shared_memory.most_buffer_bytes(f"/proc/{self._zygote.pid}")
        return grown + kept + others + buffers

    def bystanders(self) -> frozenset[int]:
        """Return every process that does not belong to the step about to be watched."""
        known = self._harness_pids | self.pids
        others = processes.all_pids() - known
        # An ended state stays until the state that it was forked from reaps it.
        return known | (others - processes.living(others))

    def take_step(
        self,
        state: int,
        bundle: orders.Parcel,
        files: orders.Parcel,
        watch: Callable[[Party], Ended],
    ) -> Step:
        """Take a step from a state, which stays as it was.

        Args:
            state: Its number.
            bundle: Has the cell as its source.
            files: Put into the work area first.
            watch: Runs the step to its end.

        Raises:
            SessionLost: The session has ended.
            RunStopped: The grader wants no more of the session; the caller must close it.
        """
        self._check()
        if state not in self._states:
            return _refused("the state that the step starts from is gone", is_gone=True)
        if len(self._states) >= self._most_states:
            return _refused(f"the session has {self._most_states} states, which is its limit")
        if problem := self._lay_out(state, files):
            return _refused(problem)
        parent = self._states[state]
        child = self._fork(parent)
        if child is None:
            del self._states[state]
            self._end([parent])
            self._sweep(spare=None)
            return _refused("no process could be forked from the state", is_gone=True)
        self._inherited_bytes = child.inherited_bytes
        source = StepSource(child, self._listener, reap=lambda: self._reap(parent))
        self._files_of = None
        try:
            guard = Guard(self.pids)
            ended = watch(Party(source, "cell", bundle=bundle, guard=guard))
            problem = self._settle(source, child, ended)
        finally:
            source.close()
        if problem is not None:
            self._end([child])
            return Step(ended=ended, state=None, problem=problem)
        number = self._add(child)
        if problem := self._ask({"op": "save", "state": number}):
            del self._states[number]
            self._end([child])
            self._files_of = None
            return Step(ended=ended, state=None, problem=problem)
        return Step(ended=ended, state=number, problem=None)

    def read_files(self, state: int, wanted: orders.Parcel, *, listing: bool) -> bytes | str:
        """Return a frame with files of a state, or a text that says why there is none.

        Args:
            state: Its number.
            wanted: A bundle whose files have the paths to read.
            listing: Return a list of all files instead.

        Raises:
            SessionLost: The session has ended.
        """
        self._check()
        if state not in self._states:
            return "the state is gone"
        found = os.memfd_create("files", os.MFD_CLOEXEC)
        try:
            message = {"op": "get", "state": state, "listing": listing}
            if problem := self._ask(message, (wanted.descriptor, found)):
                return problem
            return os.pread(found, os.fstat(found).st_size, 0)
        finally:
            os.close(found)

    def drop(self, states: Iterable[int]) -> None:
        """Free states.

        Raises:
            SessionLost: The session has ended.
        """
        known = {number: self._states.pop(number) for number in states if number in self._states}
        self._end(known.values())
        if known and (problem := self._ask({"op": "forget", "states": list(known)})):
            raise SessionLost(problem)
        if self._files_of in known:
            self._files_of = None

    def close(self) -> None:
        """Kill all processes of the session and wait until they are gone."""
        for state in self._states.values():
            state.line.close()
        self._control.close()
        while not select.select([self._zygote.control], [], [], _SWEEP_PAUSE_S)[0]:
            processes.kill_run(self._harness_pids)
        self._zygote.receive()
        if self._listener is not None:
            os.close(self._listener)

    # ------------------------------------------------------------ parts of a step

    def _lay_out(self, state: int, files: orders.Parcel) -> str | None:
        """Restore the files of a state, then add `files`; return why that failed, if it did."""
        if self._files_of != state:
            if problem := self._ask({"op": "restore", "state": state}):
                self._files_of = None
                return problem
            self._files_of = state
        if files.files:
            self._files_of = None
            return self._ask({"op": "put"}, (files.descriptor,))
        return None

    def _fork(self, parent: SessionState) -> SessionState | None:
        """Fork a process that waits for its order; return None if there is none in time."""
        line, theirs = session_lines.open_line()
        with theirs:
            said = self._have(parent, FORK, (theirs.fileno(),), answers_at=line)
        # The kernel says which process answered: it has to be a new one.
        if said is None or said.what != FORKED or said.pid in self._harness_pids | self.pids:
            line.close()
            return None
        inherited_bytes = processes.memory_bytes(parent.pid)
        return SessionState(pid=said.pid, line=line, inherited_bytes=inherited_bytes)

    def _reap(self, parent: SessionState) -> int | None:
        """Return the wait status of the process that a state forked last; None if unknown."""
        said = self._have(parent, REAP, (), answers_at=parent.line)
        if said is None or said.pid != parent.pid:
            return None
        return session_lines.read_status(said.what)

    def _have(
        self,
        state: SessionState,
        what: str,
        descriptors: tuple[int, ...],
        *,
        answers_at: socket.socket,
    ) -> Said | None:
        """Wake a state to do `what`, and return its answer; None if there is none in time."""
        processes.send_signal(state.pid, signal.SIGCONT)
        try:
            orders.send(state.line, {"op": what}, descriptors)
        except OSError:
            return None
        said = self._await(answers_at)
        if answers_at is not state.line:
            # If it were stopped with the new line open, the end of the line would not be seen.
            self._await(state.line)
        _stop(state.pid)
        return said

    def _await(self, line: socket.socket) -> Said | None:
        """Return the next message; None if it takes too long."""
        if not select.select([line], [], [], _FORK_S)[0]:
            return None
        return session_lines.hear(line)

    def _settle(self, source: StepSource, child: SessionState, ended: Ended) -> str | None:
        """Kill all of a step but its process; return why that cannot be a state, if it cannot."""
        if source.is_parked and ended.limit_hit in _HARMLESS:
            threads = _await_single(child.pid)
            _stop(child.pid)
            self._sweep(spare=child.pid)
            if processes.count_threads(child.pid) == 1:
                return None
            if threads <= 1:
                return "the process of the cell could not be stopped"
            return (
                f"the cell left threads running ({threads - 1}), which a fork would lose; "
                "end threads in the cell that starts them"
            )
        self._sweep(spare=None)
        if ended.limit_hit is not None:
            return f"the limit on {ended.limit_hit.replace('_', ' ')} was hit"
        if ended.exit_code is not None:
            return f"the cell ended the process with exit code {ended.exit_code}"
        return f"the process of the cell was killed by signal {ended.exit_signal}"

    def _sweep(self, *, spare: int | None) -> None:
        """Kill what is left of a step.

        Raises:
            SessionLost: Processes start faster than they can be killed. The end of the session
                ends them all.
        """
        kept = self._harness_pids | self.pids | {spare}
        deadline = time.monotonic() + _SWEEP_S
        while True:
            for pid in processes.all_pids() - kept:
                processes.kill(pid)
            # Listed again: a process may have forked before it was killed.
            if not processes.living(processes.all_pids() - kept):
                return
            if time.monotonic() > deadline:
                raise SessionLost("the session has ended: processes of a step could not be killed")
            time.sleep(_SWEEP_PAUSE_S)

    def _add(self, state: SessionState) -> int:
        number, self._next = self._next, self._next + 1
        self._states[number] = state
        if number == 0:
            _stop(state.pid)
            if problem := self._ask({"op": "save", "state": 0}):
                raise SlotBroken(f"a session did not start: {problem}")
        self._files_of = number
        return number

    def _end(self, states: Iterable[SessionState]) -> None:
        for state in states:
            processes.kill(state.pid)
            state.line.close()

    # ------------------------------------------------------------ the keeper

    def _check(self) -> None:
        if select.select([self._zygote.control], [], [], 0)[0]:
            raise SessionLost("the session has ended: a cell killed its main process")

    def _ask(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> str | None:
        """Have the keeper carry out a request; return why it could not, if it could not."""
        try:
            orders.send(self._control, message, descriptors)
            received = orders.receive(self._control)
        except OSError as error:
            raise SessionLost(f"the session has ended: {error}") from error
        if received is None:
            raise SessionLost("the session has ended: its main process was killed")
        problem: str | None = received[0]["problem"]
        return problem


def _refused(problem: str, *, is_gone: bool = False) -> Step:
    return Step(ended=None, state=None, problem=problem, is_gone=is_gone)


def _stop(pid: int) -> None:
    """Stop a process, or kill it if it cannot be stopped; return when that has happened.

    Raises:
        SessionLost: Neither succeeded.
    """
    processes.send_signal(pid, signal.SIGSTOP)
    began = time.monotonic()
    while not processes.is_stopped(pid):
        took_s = time.monotonic() - began
        if took_s > _SWEEP_S:
            raise SessionLost("the session has ended: a state could not be stopped")
        if took_s > _STOP_S:
            # It waits in the kernel for a child, such as after vfork.
            processes.kill(pid)
            time.sleep(_SWEEP_PAUSE_S)


def _await_single(pid: int) -> int:
    """Return how many threads a process has, after giving those that are ending some time."""
    deadline = time.monotonic() + _ALONE_S
    while (threads := processes.count_threads(pid)) > 1 and time.monotonic() < deadline:
        time.sleep(_SWEEP_PAUSE_S)
    return threads
