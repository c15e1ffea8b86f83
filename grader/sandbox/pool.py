"""A bounded set of warm slots that threads borrow, one submission at a time."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from grader.model import Limits
from grader.model.errors import ConfigurationError, SandboxUnavailableError
from grader.sandbox.contract import RunBatch, RunOutcome, Sandbox, Slot, SlotSession

_log = logging.getLogger(__name__)

_CLOSED = "the grader is closed"
_PAUSE_S = 0.5
"""Between two tries to open a slot while the engine does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotKind:
    """What a batch needs of a slot."""

    image: str
    memory_bytes: int

    def serves(self, need: "SlotKind", *, supersets: Mapping[str, str]) -> bool:
        """Tell whether a slot of this kind can take a batch with that need.

        Args:
            need: What the batch needs.
            supersets: By image, another image that has everything it has.
        """
        images = (need.image, supersets.get(need.image))
        return self.image in images and self.memory_bytes >= need.memory_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCounts:
    """How many slots of a pool are in which state."""

    busy: int
    """Lent, or being opened to be lent."""
    idle: int
    unopened: int
    """Not opened yet, or closed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Idle:
    kind: SlotKind
    slot: Slot


class _Lent:
    """A slot while it is lent. If a batch makes it unfit for the next, that one gets a new slot."""

    def __init__(self, slot: Slot, reopen: Callable[[], Slot]) -> None:
        self.slot = slot
        self._reopen = reopen
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def name(self) -> str:
        return self.slot.name

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        return self._fit_slot().run(batch)

    def open_session(
        self, limits: Limits, *, states: int, preload: Sequence[str] = ()
    ) -> SlotSession:
        return self._fit_slot().open_session(limits, states=states, preload=preload)

    def is_alive(self) -> bool:
        return self.slot.is_alive()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self.slot.close()

    def _fit_slot(self) -> Slot:
        # Another thread closes a slot to stop what it runs, so a closed one is not replaced.
        if not self._is_closed and not self.slot.is_alive():
            self.slot.close()
            slot = self._reopen()
            with self._lock:
                self.slot = slot
                if self._is_closed:
                    slot.close()
        return self.slot


class SlotPool:
    """At most `size` slots of one sandbox, opened when first needed. Safe for many threads."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        size: int,
        memory_bytes: int,
        outage_s: float = 0.0,
        supersets: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Open nothing yet.

        Args:
            sandbox: Opens the slots. The pool closes them, not the sandbox.
            size: How many slots may exist at once.
            memory_bytes: The least memory of a slot. Batches that need more get larger slots.
            outage_s: How long opening a slot is tried again, once one has been opened, so that no
                submission loses its verdict if an engine is restarted.
            supersets: By image variant, another one whose slots can take its batches, too.
        """
        self._sandbox = sandbox
        self._size = size
        self._memory_bytes = memory_bytes
        self._outage_s = outage_s
        self._supersets = supersets
        self._has_opened = False
        self._changed = threading.Condition()
        self._idle: list[_Idle] = []
        self._count = 0
        self._closed = False

    @contextmanager
    def borrow(self, *, image: str, memory_bytes: int) -> Iterator[Slot]:
        """Wait for a slot and lend it. If its use raises, the slot is closed.

        Raises:
            SandboxError: A slot could not be opened.
            ConfigurationError: The pool is closed.
        """
        need = SlotKind(image=image, memory_bytes=max(memory_bytes, self._memory_bytes))
        idle = self._take_living(need)
        lent = None
        try:
            kind = need if idle is None else idle.kind
            slot = self._open(need) if idle is None else idle.slot
            lent = _Lent(slot, lambda: self._open(kind))
            yield lent
        except BaseException:
            self._give_up(lent)
            raise
        self._give_back(_Idle(kind=kind, slot=lent.slot))

    def counts(self) -> SlotCounts:
        """Return how many slots are in which state now."""
        with self._changed:
            idle = len(self._idle)
            return SlotCounts(busy=self._count - idle, idle=idle, unopened=self._size - self._count)

    def close(self) -> None:
        """Close every idle slot, and each borrowed one when it comes back."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._count -= len(idle)
            self._changed.notify_all()
        for each in idle:
            each.slot.close()

    def _open(self, need: SlotKind) -> Slot:
        deadline = time.monotonic() + self._outage_s
        while True:
            try:
                slot = self._sandbox.open_slot(image=need.image, memory_bytes=need.memory_bytes)
            except SandboxUnavailableError as error:
                if not self._has_opened or time.monotonic() > deadline or self._closes_soon():
                    raise
                _log.warning("no slot could be opened; trying again: %s", error)
            else:
                self._has_opened = True
                # The sandbox closes what was open when it was closed, not what it opens later.
                with self._changed:
                    if not self._closed:
                        return slot
                slot.close()
                raise ConfigurationError(_CLOSED)

    def _closes_soon(self) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, _PAUSE_S)

    def _take_living(self, need: SlotKind) -> _Idle | None:
        """Like `_take`, but close slots that died while they were idle."""
        while (idle := self._take(need)) is not None:
            if idle.slot.is_alive():
                return idle
            _log.warning("the slot %s died while it was idle", idle.slot.name)
            self._give_up(idle.slot)
        return None

    def _take(self, need: SlotKind) -> _Idle | None:
        """Return an idle slot, or None with the right to open one."""
        with ExitStack() as unlocked, self._changed:
            while True:
                if self._closed:
                    raise ConfigurationError(_CLOSED)
                for idle in reversed(self._idle):
                    if idle.kind.serves(need, supersets=self._supersets):
                        self._idle.remove(idle)
                        return idle
                if self._count < self._size:
                    self._count += 1
                    return None
                if self._idle:
                    # All slots are open and no idle one fits: one makes room. It is closed without
                    # the lock, because closing a container takes seconds.
                    unlocked.callback(self._idle.pop(0).slot.close)
                    return None
                self._changed.wait()

    def _give_back(self, idle: _Idle) -> None:
        with self._changed:
            if not self._closed:
                self._idle.append(idle)
                self._changed.notify()
                return
            self._count -= 1
        idle.slot.close()

    def _give_up(self, slot: Slot | None) -> None:
        if slot is not None:
            slot.close()
        with self._changed:
            self._count -= 1
            self._changed.notify()
