"""Sessions in slots of this process."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Protocol

from grader.config.settings import Settings
from grader.model import Limits, SuiteFile
from grader.model.errors import ConfigurationError, InputError, SessionLostError, SessionsFullError
from grader.process.closing import Closing
from grader.process.exits import close_at_exit, forget_at_exit
from grader.sandbox.choice import choose_sandbox
from grader.sandbox.contract import Sandbox, SessionSlot
from grader.sandbox.pool import SlotPool
from grader.sessions.result import StepResult
from grader.sessions.tree import StateNode, Tree

_CLOSED = "the session is closed"
_ENDED = "the process that held the session has ended"
_PATH_CHARS = 200
_EXPIRY_GRAIN = 0.05
"""How often idle sessions are looked for, as a part of the time after which they expire."""


class SlotSource(Protocol):
    """Lends slots to sessions. Safe for many threads."""

    def borrow(self, *, image: str, memory_bytes: int) -> AbstractContextManager[SessionSlot]:
        """Lend a slot; see `grader.sandbox.pool.SlotPool.borrow`."""

    def close(self) -> None:
        """End waits for slots and steps, and close all slots. Repeats harmlessly."""


class Session(Closing):
    """A session at its current state. Safe for many threads, which take turns."""

    def __init__(self, tree: Tree, node: StateNode, close_tree: Callable[[], None]) -> None:
        self._tree = tree
        self._node: StateNode | None = None
        self._close_tree = close_tree
        self._move(node)

    @property
    def steps(self) -> int:
        """How many steps led to the current state."""
        return self._here().depth

    @property
    def limits(self) -> Limits:
        """The limits of the session; each step may set its own."""
        return self._tree.root.limits

    @property
    def is_open(self) -> bool:
        """Whether it is neither closed nor expired."""
        return self._node is not None and not self._tree.is_closed

    def run(
        self,
        cell: str,
        *,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
    ) -> StepResult:
        """Execute a cell.

        The next cell has its names and the files of its work area. If the cell does not end within
        its limits, or leaves a thread running, nothing of it is kept.

        Args:
            cell: Python source. The value of its last line is returned, as in a notebook.
            files: Put into the work area first, by relative path.
            limits: CPU time, wall time and output of this step; None for those of the session.

        Raises:
            InputError: A path does not stay inside the work area.
            SessionLostError: The session was closed, has expired, or its state cannot be restored.
            SandboxError: Slots broke, also when tried again. Nothing of the step was kept.
        """
        node = self._here()
        given = files_of(files or {})
        result, reached = self._tree.take_step(node, cell, given, limits or self.limits)
        if reached is not None:
            self._move(reached)
        return result

    def fork(self, *, at: int | None = None) -> "Session":
        """Return a new branch that goes on from here, or from an earlier step.

        Args:
            at: After how many steps; None for all.

        Raises:
            InputError: The session has fewer steps.
            SessionLostError: The session is closed.
        """
        node = self._here()
        wanted = node.depth if at is None else at
        if not 0 <= wanted <= node.depth:
            message = f"at is {wanted}; the session has {node.depth} steps"
            raise InputError(message)
        while node.depth > wanted:
            if node.before is None:
                message = f"the session's first {node.depth - 1} steps are not known any more"
                raise InputError(message)
            node = node.before
        return Session(self._tree, node, self._close_tree)

    def read_files(self, *paths: str) -> dict[str, bytes]:
        """Return files of the work area, for those paths that are files.

        Raises:
            InputError: They have more bytes than the work area.
            SessionLostError: See `run`.
            SandboxError: See `run`.
        """
        return self._tree.read_files(self._here(), paths)

    def list_files(self) -> dict[str, int]:
        """Return the size of every file of the work area, by path; raises as `read_files`."""
        return self._tree.list_files(self._here())

    def close(self) -> None:
        """End this branch; with the last one, the session. Repeats harmlessly."""
        if self._node is not None and not self._move(None):
            self._close_tree()

    def _here(self) -> StateNode:
        if self._node is None:
            raise SessionLostError(_CLOSED)
        return self._node

    def _move(self, node: StateNode | None) -> int:
        """Go on from another state, or none; return how many branches the session then has."""
        before, self._node = self._node, node
        return self._tree.move(before, node)


class Sessions(Closing):
    """Opens sessions, in slots of this process. Safe for many threads."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sandbox: Sandbox | None = None,
        slots: SlotSource | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            settings: Limits, bounds and the backend; None for plain defaults.
            sandbox: None for the one that the settings choose. `close` closes it.
            slots: Lends slots, such as those of workers; None for slots of the sandbox. `close`
                closes it.
        """
        self._settings = settings or Settings()
        self._bounds = self._settings.sessions
        self._sandbox = sandbox
        self._slots = slots
        self._changed = threading.Condition()
        self._trees: set[Tree] = set()
        self._closed = False
        close_at_exit(self)

    def open(
        self,
        *,
        image: str = "python",
        limits: Limits | None = None,
        preload: Sequence[str] = (),
        wait_s: float = 0.0,
    ) -> Session:
        """Open a session.

        Args:
            image: The image variant: "python" or "science".
            limits: Those on memory and files hold for the whole session, the others for each step.
                None for those of the settings.
            preload: Modules that the session should find imported already.
            wait_s: How long to wait for another session to end if there is no room.

        Raises:
            SessionsFullError: As many sessions are open as the settings allow. Retryable.
            SandboxError: No slot can be opened.
            ConfigurationError: `close` was called.
        """
        limits = limits or self._settings.limits
        slots = self._open_slots()
        tree = Tree(
            lambda: slots.borrow(image=image, memory_bytes=limits.memory_bytes),
            limits,
            states=self._bounds.states,
            preload=preload,
            retries=self._settings.retries,
        )
        with self._changed:
            if not self._changed.wait_for(self._has_room, wait_s):
                message = f"{len(self._trees)} sessions are open, which is the most there may be"
                raise SessionsFullError(message)
            self._trees.add(tree)
            if len(self._trees) == 1:
                threading.Thread(target=self._expire, name="grader-sessions", daemon=True).start()
        try:
            tree.open()
        except BaseException:
            self._close_tree(tree, _CLOSED)
            raise
        return Session(tree, tree.root, partial(self._close_tree, tree, _CLOSED))

    def _has_room(self) -> bool:
        return len(self._trees) < self._bounds.most

    def count(self) -> int:
        """Return how many sessions are open."""
        with self._changed:
            return len(self._trees)

    def _close_tree(self, tree: Tree, why: str) -> None:
        """End a session with all of its branches. Repeats harmlessly."""
        tree.close(why)
        with self._changed:
            self._trees.discard(tree)
            self._changed.notify_all()

    def close(self) -> None:
        """End every session and close the slots. Repeats harmlessly."""
        with self._changed:
            self._closed = True
            trees = list(self._trees)
            slots, self._slots = self._slots, None
            sandbox, self._sandbox = self._sandbox, None
        for tree in trees:
            tree.forbid(_ENDED)
        # Closing the slots ends the steps that are under way.
        if slots is not None:
            slots.close()
        if sandbox is not None:
            sandbox.close()
        for tree in trees:
            self._close_tree(tree, _ENDED)
        if slots is not None:
            slots.close()
        forget_at_exit(self)

    def _open_slots(self) -> SlotSource:
        with self._changed:
            if self._closed:
                message = "the sessions are closed"
                raise ConfigurationError(message)
            if self._slots is None:
                self._sandbox = self._sandbox or choose_sandbox(self._settings)
                self._slots = SlotPool(
                    self._sandbox,
                    size=self._bounds.most,
                    memory_bytes=self._settings.limits.memory_bytes,
                    outage_s=self._settings.outage_s,
                )
            return self._slots

    def _expire(self) -> None:
        """Close sessions that have been idle for too long, until no session is open."""
        idle_s = self._bounds.idle_s
        why = f"the session has expired: it took no step for {idle_s:g} s"
        while True:
            with self._changed:
                if not self._trees:
                    return
                due = min(tree.used_at for tree in self._trees) + idle_s
                self._changed.wait(max(idle_s * _EXPIRY_GRAIN, due - time.monotonic()))
                trees = list(self._trees)
            for tree in trees:
                if tree.close_if_idle(idle_s, why):
                    self._close_tree(tree, why)


def files_of(given: Mapping[str, bytes]) -> tuple[SuiteFile, ...]:
    """Return files by their paths.

    Raises:
        InputError: A path does not stay inside the work area.
    """
    files: list[SuiteFile] = []
    for path, content in given.items():
        require_inside(path)
        files.append(SuiteFile(path=path, content=content))
    return tuple(files)


def require_inside(path: str) -> None:
    """Make sure that a path can be that of a file in the work area.

    Raises:
        InputError: It is not.
    """
    parts = path.split("/")
    is_inside = path.isprintable() and not any(part in ("", ".", "..") for part in parts)
    if not is_inside or len(path) > _PATH_CHARS:
        message = f"a path must be relative and stay in the program's folder: {path[:80]!r}"
        raise InputError(message)


def reduced(limits: Limits, *, time_s: float) -> Limits:
    """Return limits with CPU time and wall time of at most `time_s` seconds."""
    return replace(
        limits,
        cpu_time_s=min(limits.cpu_time_s, time_s),
        wall_time_s=min(limits.wall_time_s, time_s),
    )
