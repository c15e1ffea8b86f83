"""The state of the service at one moment, for Prometheus and the live page."""

from collections.abc import Callable
from dataclasses import dataclass

from grader.queueing.status import QueueStatus
from grader.sandbox.pool import SlotCounts
from grader.server.http.wait_queue import WaitQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """The slots, the queue with its workers, and how many submissions wait, at one moment."""

    waiting: int
    """Submissions that wait, here and in the queue."""
    oldest_s: float
    """How long the first of them has waited; 0 if none waits."""
    slots: SlotCounts | None
    """The slots of this process; None while it has none."""
    has_queue: bool
    queue: QueueStatus | None
    """None if there is no queue, or if Redis does not answer."""

    @property
    def busy(self) -> int:
        """Slots that are in use, here and at the workers."""
        here = 0 if self.slots is None else self.slots.busy
        return here + (0 if self.queue is None else self.queue.running)

    @property
    def usable(self) -> int:
        """Slots that are open or can be opened, here and at the workers."""
        here = 0
        if self.slots is not None:
            here = self.slots.busy + self.slots.idle + self.slots.unopened
        return here + (0 if self.queue is None else self.queue.slots)


class StateReader:
    """Reads the state. Safe for many threads."""

    def __init__(
        self,
        wait_queue: WaitQueue,
        slots: Callable[[], SlotCounts | None],
        queue: Callable[[], QueueStatus | None] | None,
    ) -> None:
        """Read nothing yet.

        Args:
            wait_queue: The submissions and programs that wait in this process.
            slots: Returns the slots of this process; None while it has none.
            queue: Returns the state of the queue, None if Redis does not answer. May wait.
        """
        self._wait_queue = wait_queue
        self._slots = slots
        self._queue = queue

    def read(self) -> ServiceState:
        """Read everything now. If there is a queue, this may wait for Redis."""
        status = None if self._queue is None else self._queue()
        waiting, oldest_s = self._wait_queue.depth, self._wait_queue.oldest_s
        if status is not None:
            waiting, oldest_s = waiting + status.queued, max(oldest_s, status.oldest_s)
        return ServiceState(
            waiting=waiting,
            oldest_s=oldest_s,
            slots=self._slots(),
            has_queue=self._queue is not None,
            queue=status,
        )
