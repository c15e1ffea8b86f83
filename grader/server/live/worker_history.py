"""Which workers left and which were lost: Redis itself forgets workers that fall silent."""

from collections import deque
from dataclasses import dataclass

from grader.queueing.names import Counter
from grader.queueing.status import QueueStatus, WorkerState, WorkerStatus

_GONE = 20
"""Most workers that are gone and still shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneWorker:
    """A worker that no longer serves."""

    worker: WorkerStatus
    """Its last status."""
    at: float
    """When its absence was noticed, in seconds since 1970."""
    is_lost: bool
    """Whether it fell silent, and did not stop in order."""


class WorkerHistory:
    """Remembers workers from one status of the queue to the next."""

    def __init__(self) -> None:
        """Start without workers."""
        self._present: dict[str, WorkerStatus] = {}
        self._lost_count: int | None = None
        self.gone: deque[GoneWorker] = deque(maxlen=_GONE)
        """In the order in which they went."""

    def update(self, queue: QueueStatus, at: float) -> None:
        """Compare with the workers at a time, in seconds since 1970."""
        present = {worker.id: worker for worker in queue.workers}
        lost_count = queue.counts.get(Counter.WORKERS_LOST, 0)
        some_were_lost = self._lost_count is not None and lost_count > self._lost_count
        for name, worker in self._present.items():
            if name in present:
                continue
            # The ledger still lists a worker that fell silent, or has counted the loss.
            served = worker.state == WorkerState.SERVING
            is_lost = name in queue.silent or (some_were_lost and served)
            self.gone.append(GoneWorker(worker=worker, at=at, is_lost=is_lost))
        for each in [each for each in self.gone if each.worker.id in present]:
            self.gone.remove(each)
        self._present, self._lost_count = present, lost_count
