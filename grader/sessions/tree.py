"""The states of one session, in the slot that holds them, and how they are restored.

Every state is known by the steps that led to it. If its process is gone, because there was no room
for it or its slot broke, the state is restored by repeating these steps. So cells have to be
repeatable.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from grader.model import Limits, MiB, SuiteFile
from grader.model.errors import SandboxUnavailableError, SessionLostError
from grader.model.verdict import LimitKind
from grader.sandbox.contract import SessionSlot, SlotSession, StepOutcome
from grader.sessions.result import StepResult, read_result

_MOST_PAST_BYTES = 64 * MiB
_KILLED = "the session's own processes were killed, by the cell or for want of memory"
_TRIES = 2
_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True, eq=False)
class StateNode:
    """A state, with or without a process."""

    before: "StateNode | None"
    """The state that its step started from; None for the first."""
    cell: str = ""
    files: tuple[SuiteFile, ...] = ()
    limits: Limits
    depth: int = 0
    past_bytes: int = 0
    """The size of the cells and files of all steps that led to it."""
    state: int | None = None
    """Its number in the slot; None if it has no process."""
    users: int = field(default=0)
    """How many sessions go on from it."""


class Tree:
    """All states that began as one session. Safe for many threads, which take turns."""

    def __init__(
        self,
        borrow: Callable[[], contextlib.AbstractContextManager[SessionSlot]],
        limits: Limits,
        *,
        states: int,
        preload: Sequence[str],
        retries: int,
    ) -> None:
        """Open nothing yet.

        Args:
            borrow: Lends a slot, for as long as the session is open.
            limits: The session's limits.
            states: How many states may have a process at once.
            preload: Modules that the first state should find imported already.
            retries: How often a step is tried again after a failure of the slot.
        """
        self.root = StateNode(before=None, limits=limits)
        self.used_at = time.monotonic()
        self._borrow = borrow
        self._limits = limits
        self._most_states = states
        self._preload = tuple(preload)
        self._retries = retries
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._branches = 0
        self._held = contextlib.ExitStack()
        self._slot_session: SlotSession | None = None
        self._living: dict[int, StateNode] = {}
        """By number. Those that were used last are at the end."""
        self._closed_because: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or is about to be."""
        return self._closed_because is not None

    def open(self) -> None:
        """Take a slot.

        Raises:
            SandboxError: No slot can be opened.
        """
        with self._using():
            self._retrying(self._session)

    def take_step(
        self, node: StateNode, cell: str, files: Sequence[SuiteFile], limits: Limits
    ) -> tuple[StepResult, StateNode | None]:
        """Take a step, and return its result and the state that it led to.

        Raises:
            SessionLostError: The session is closed, or its state cannot be restored.
            SandboxUnavailableError: Slots broke, also when tried again.
        """
        with self._using():
            outcome, replayed = self._retrying(lambda: self._step(node, cell, files, limits))
            result = read_result(outcome, replayed=replayed)
            if outcome.state is None:
                return result, None
            past_bytes = node.past_bytes + len(cell) + sum(len(file.content) for file in files)
            is_known = past_bytes <= _MOST_PAST_BYTES
            new = StateNode(
                before=node if is_known else None,
                cell=cell if is_known else "",
                files=tuple(files) if is_known else (),
                limits=limits,
                depth=node.depth + 1,
                past_bytes=past_bytes,
            )
            self._add(new, outcome.state)
            return result, new

    def read_files(self, node: StateNode, paths: Sequence[str]) -> dict[str, bytes]:
        """Return files of a state; raises as `take_step`, and InputError as `SlotSession`."""
        with self._using():
            return self._retrying(
                lambda: dict(self._session().read_files(self._number(node)[0], paths))
            )

    def list_files(self, node: StateNode) -> dict[str, int]:
        """Return the sizes of a state's files; raises as `read_files`."""
        with self._using():
            return self._retrying(lambda: dict(self._session().list_files(self._number(node)[0])))

    def forbid(self, why: str) -> None:
        """Let no further step begin, and no step that fails be tried again.

        Args:
            why: The message of the error that later calls raise.
        """
        self._closed_because = self._closed_because or why

    def close(self, why: str) -> None:
        """Free the slot when the step under way has ended. Repeats harmlessly; see `forbid`."""
        self.forbid(why)
        with self._lock:
            self._release(None)

    def close_if_idle(self, idle_s: float, why: str) -> bool:
        """Close it if it took no step for so long; return whether it is closed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if time.monotonic() - self.used_at < idle_s:
                return False
            self.close(why)
            return True
        finally:
            self._lock.release()

    def move(self, old: StateNode | None, new: StateNode | None) -> int:
        """Note that a branch goes on from another state; return how many branches there are.

        Args:
            old: Its last state; None for a branch that begins.
            new: Its new state; None for a branch that ends.
        """
        with self._counting:
            for node, change in ((old, -1), (new, 1)):
                if node is not None:
                    node.users += change
                    self._branches += change
            return self._branches

    # ------------------------------------------------------------ with the lock held

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        with self._lock:
            if self._closed_because is not None:
                raise SessionLostError(self._closed_because)
            try:
                yield
            finally:
                self.used_at = time.monotonic()

    def _retrying(self, do: Callable[[], _T]) -> _T:
        left = self._retries
        while True:
            try:
                return do()
            except SandboxUnavailableError as error:
                self._release(error)
                if self._closed_because is not None:
                    raise SessionLostError(self._closed_because) from error
                if not left:
                    raise
                left -= 1
            except SessionLostError:
                self._release(None)
                raise

    def _session(self) -> SlotSession:
        if self._slot_session is None:
            slot = self._held.enter_context(self._borrow())
            self._slot_session = slot.open_session(
                self._limits, states=self._most_states, preload=self._preload
            )
            self._add(self.root, 0)
        return self._slot_session

    def _step(
        self, node: StateNode, cell: str, files: Sequence[SuiteFile], limits: Limits
    ) -> tuple[StepOutcome, bool]:
        outcome = StepOutcome(state=None, problem=_KILLED, run=None)
        for _ in range(_TRIES):
            self._session()
            _number, replayed = self._number(node)
            try:
                outcome = self._run(node, cell, files, limits)
            except SessionLostError:
                # An earlier cell may have caused this. If it happens again, this cell has.
                self._release(None)
                continue
            if not outcome.is_gone:
                return outcome, replayed
            self._forget(node)
        return outcome, False

    def _number(self, node: StateNode) -> tuple[int, bool]:
        """Return a state's number, and whether steps had to be repeated to restore it."""
        path = []
        known: StateNode | None = node
        while known is not None and known.state is None:
            path.append(known)
            known = known.before
        if known is None or known.state is None:
            message = (
                "the state is gone, and the cells and files that led to it have more than the "
                f"{_MOST_PAST_BYTES} bytes that are kept"
            )
            raise SessionLostError(message)
        for each in reversed(path):
            outcome = self._run(known, each.cell, each.files, each.limits)
            if outcome.state is None:
                message = f"step {each.depth} could not be repeated: {outcome.problem}"
                raise SessionLostError(message)
            self._add(each, outcome.state)
            known = each
        self._living[node.state or 0] = self._living.pop(node.state or 0)
        return node.state or 0, bool(path)

    def _run(
        self, node: StateNode, cell: str, files: Sequence[SuiteFile], limits: Limits
    ) -> StepOutcome:
        """Take a step from a living state, making room for the one that it leads to.

        If memory is short, take it again without the states that no session goes on from. The limit
        is on what all states have together, and a client does not know of those.
        """
        session, number = self._session(), node.state or 0
        if len(self._living) >= self._most_states:
            self._drop((self._unused(spare=node) or self._candidates(spare=node))[:1])
        outcome = session.step(number, cell, limits=limits, files=files)
        is_short = outcome.run is not None and outcome.run.limit_hit is LimitKind.MEMORY
        if is_short and (unused := self._unused(spare=node)):
            self._drop(unused)
            outcome = session.step(number, cell, limits=limits, files=files)
        return outcome

    def _unused(self, *, spare: StateNode) -> list[StateNode]:
        return [each for each in self._candidates(spare=spare) if not each.users]

    def _candidates(self, *, spare: StateNode) -> list[StateNode]:
        """Return the states that can be freed, those that were unused for longest first.

        The first state stays, because all others can be restored from it.
        """
        return [n for n in self._living.values() if n is not spare and n is not self.root]

    def _drop(self, nodes: Sequence[StateNode]) -> None:
        self._session().drop([node.state for node in nodes if node.state is not None])
        for node in nodes:
            self._forget(node)

    def _forget(self, node: StateNode) -> None:
        """Note that a state has no process. Without the first, none can be restored."""
        if node is self.root:
            self._release(None)
        elif node.state is not None:
            del self._living[node.state]
            node.state = None

    def _add(self, node: StateNode, state: int) -> None:
        node.state = state
        self._living[state] = node

    def _release(self, error: Exception | None) -> None:
        """Give the slot back; after an error, give it up."""
        for node in self._living.values():
            node.state = None
        self._living.clear()
        session, self._slot_session = self._slot_session, None
        with contextlib.suppress(SandboxUnavailableError), self._held:
            if error is not None:
                raise error
            if session is not None:
                session.close()
