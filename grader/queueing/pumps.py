"""The client of a queue that lies in one or several Redis: a pump for each.

Each job lies in one of them, with everything that belongs to it
(docs/adr/0025-several-redis.md).
"""

import hashlib
import logging
import math
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from grader.config.settings import Settings
from grader.queueing.broker import each_broker, read_broker
from grader.queueing.jobs import QueuedJob
from grader.queueing.pump import Pump, client_id

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A pump, and the place of its Redis."""

    place: str
    pump: Pump

    def score(self, job: QueuedJob, slots: int) -> float:
        """Return the score of this Redis for a job, if so many slots there take the job's image.

        The highest score wins (weighted rendezvous hashing). So all clients choose alike, each
        Redis gets jobs by its share of the slots, and few jobs change their place with that.
        """
        digest = hashlib.sha256(f"{self.place}\n{job.key}".encode()).digest()
        chance = ((int.from_bytes(digest[:8]) >> 12) + 0.5) / 2**52  # in (0, 1), both excluded
        return -slots / math.log(chance)


class Pumps:
    """One process's client of the queue."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing and start nothing yet.

        Raises:
            ConfigurationError: An address is unusable, or Celery or redis is missing.
        """
        brokers, client = each_broker(settings), client_id()
        self.in_flight = len(brokers) * settings.queue.in_flight
        """How many jobs may be sent and not yet answered."""
        move = None if len(brokers) == 1 else self._move
        self._all = [
            _Placed(place=read_broker(each).place, pump=Pump(each, client, move))
            for each in brokers
        ]

    def submit(
        self, job: QueuedJob, future: Future[Any], timeout_s: float, *, is_bulk: bool
    ) -> None:
        """Send a job; see `Pump.submit`."""
        for each in self._all:
            each.pump.start()
        self._choose(job).pump.submit(job, future, timeout_s, is_bulk=is_bulk)

    def has_slot(self, key: str) -> bool:
        """Return whether a program runs at this moment.

        Raises:
            QueueUnavailableError: Its Redis does not answer.
        """
        return any(each.pump.has_slot(key) for each in self._all if key in each.pump)

    @property
    def counts(self) -> Counter[str]:
        """The submissions of this client: sent, hits, joined."""
        return sum((each.pump.counts for each in self._all), Counter())

    def close(self) -> None:
        """Cancel the pending jobs, and leave the queue. Repeats harmlessly."""
        for each in self._all:
            each.pump.close()

    def _choose(self, job: QueuedJob) -> _Placed:
        for each in self._all:
            if job.key in each.pump:
                return each
        slots = [each.pump.slots(job.image) for each in self._all]
        # If none is known to serve the image, each may be the next to do so.
        weights = slots if any(slots) else [1] * len(slots)
        scores = [each.score(job, n) for each, n in zip(self._all, weights, strict=True)]
        return self._all[scores.index(max(scores))]

    def _move(self, pump: Pump) -> None:
        """Send the jobs that nothing serves at a pump's Redis to others, if those have slots."""
        for image in pump.images():
            if pump.slots(image) or not any(each.pump.slots(image) for each in self._all):
                continue
            released = pump.release(image)
            for pending in released:
                self._choose(pending.job).pump.take_over(pending)
            _log.warning(
                "Redis at %s does not answer or has no worker; sending %d jobs to others",
                next(each.place for each in self._all if each.pump is pump),
                len(released),
            )
