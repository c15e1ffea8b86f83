"""How the service is at one moment, for whoever asks: Prometheus, and the service's page."""

from collections.abc import Callable
from dataclasses import dataclass

from grader.queueing.status import QueueStatus
from grader.sandbox.pool import SlotCounts
from grader.server.http.wait_queue import Lobby


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """What is a state and not a count."""

    waiting: int
    """Submissions that wait, here and in the queue."""
    oldest_s: float
    """How long the first of them has waited; 0 where none does."""
    slots: SlotCounts | None
    """Those of this process; None while there are none."""
    has_queue: bool
    queue: QueueStatus | None
    """None where there is no queue, and where it does not answer."""

    @property
    def busy(self) -> int:
        """Slots that have something to do, here and at the workers."""
        here = 0 if self.slots is None else self.slots.busy
        return here + (0 if self.queue is None else self.queue.running)

    @property
    def usable(self) -> int:
        """Slots that there are or may be, here and at the workers."""
        here = 0
        if self.slots is not None:
            here = self.slots.busy + self.slots.idle + self.slots.unopened
        return here + (0 if self.queue is None else self.queue.slots)


class StateReader:
    """Reads the state. Safe for many threads."""

    def __init__(
        self,
        lobby: Lobby,
        slots: Callable[[], SlotCounts | None],
        queue: Callable[[], QueueStatus | None] | None,
    ) -> None:
        """Read nothing yet.

        Args:
            lobby: What waits in this process.
            slots: Those of this process; None while there are none.
            queue: The state of the queue, None where it does not answer. May wait.
        """
        self._lobby = lobby
        self._slots = slots
        self._queue = queue

    def read(self) -> ServiceState:
        """Read everything now. Where there is a queue this may wait for it."""
        status = None if self._queue is None else self._queue()
        waiting, oldest_s = self._lobby.depth, self._lobby.oldest_s
        if status is not None:
            waiting, oldest_s = waiting + status.queued, max(oldest_s, status.oldest_s)
        return ServiceState(
            waiting=waiting,
            oldest_s=oldest_s,
            slots=self._slots(),
            has_queue=self._queue is not None,
            queue=status,
        )
