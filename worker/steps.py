"""Steps in the ledger, each for as many threads as want one at the same time."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from grader.model.errors import QueueUnavailableError
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Handover, Taken, Wanted

_MOST_TOGETHER = 64
_BYTES_TOGETHER = 1 << 20
"""Of reports. Redis serves nothing else while it runs a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShare:
    """One thread's share of a step."""

    in_time: bool
    """False if the worker no longer held the job that was handed in."""
    taken: Taken | None
    """None if no job waits, or if none was wanted."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Request:
    handover: Handover | None
    wanted: Wanted | None
    woken: threading.Event = field(default_factory=threading.Event)
    """Set when the request is settled, or when its thread has to make the next step."""
    outcome: StepShare | None = None
    error: BaseException | None = None


class Steps:
    """Hands in reports and takes jobs. Safe for many threads.

    While one thread waits for Redis, the requests of the others gather, and the next step is for
    all of them. So a busy worker costs Redis few commands, and an idle one waits for nothing.
    """

    def __init__(self, worker: str, ledger: Ledger, images: Sequence[str]) -> None:
        """Send nothing yet.

        Args:
            worker: The id of the worker in the ledger.
            ledger: The ledger.
            images: The image variants that the worker serves.
        """
        self._worker = worker
        self._ledger = ledger
        self._images = list(images)
        self._numbers = count()
        self._lock = threading.Lock()
        self._waiting: list[_Request] = []
        self._is_busy = False

    def make(self, handover: Handover | None, token: str | None) -> StepShare:
        """Hand in a report, and take a job.

        Args:
            handover: The report; None if there is none.
            token: The delivery for the job; None if none is wanted. If the answer is lost and the
                step repeated with the same token, it is the same job.

        Raises:
            QueueUnavailableError: Redis does not answer.
        """
        wanted = None if token is None else Wanted(token=token, images=self._next_images())
        request = _Request(handover=handover, wanted=wanted)
        with self._lock:
            self._waiting.append(request)
            must_wait, self._is_busy = self._is_busy, True
        if must_wait:
            request.woken.wait()
        if request.outcome is None and request.error is None:
            self._step()
        if request.outcome is None:
            # One error of many threads, each of which changes its traceback.
            message = str(request.error)
            raise QueueUnavailableError(message) from request.error
        return request.outcome

    def _next_images(self) -> list[str]:
        # Images take turns to be first, so that none waits until another has no jobs left.
        first = next(self._numbers) % len(self._images)
        return self._images[first:] + self._images[:first]

    def _step(self) -> None:
        """Settle the oldest requests, and let the thread of the next one go on."""
        with self._lock:
            together = self._take_waiting()
        try:
            self._settle(together)
        except BaseException as error:
            for request in together:
                request.error = error
            if not isinstance(error, QueueUnavailableError):
                raise
        finally:
            with self._lock:
                self._is_busy = bool(self._waiting)
                following = self._waiting[:1]
            for request in together + following:
                request.woken.set()

    def _take_waiting(self) -> list[_Request]:
        taken, size = 0, 0
        for request in self._waiting[:_MOST_TOGETHER]:
            size += 0 if request.handover is None else len(request.handover.report)
            if taken and size > _BYTES_TOGETHER:
                break
            taken += 1
        together, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return together

    def _settle(self, requests: Sequence[_Request]) -> None:
        handovers = [r.handover for r in requests if r.handover is not None]
        wanted = [r.wanted for r in requests if r.wanted is not None]
        stepped = self._ledger.step(self._worker, handovers, wanted)
        in_time, taken = iter(stepped.in_time), iter(stepped.taken)
        for request in requests:
            request.outcome = StepShare(
                in_time=request.handover is not None and next(in_time),
                taken=None if request.wanted is None else next(taken),
            )
