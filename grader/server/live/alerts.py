"""Alerts: what needs an operator's attention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.queueing.diagnosis import obstacle as queue_obstacle
from grader.queueing.diagnosis import rough_time
from grader.server.live.intervals import Interval
from grader.server.live.worker_history import GoneWorker
from grader.server.state import ServiceState

_LOST_FOR_S = 600.0
"""How long a lost worker is an alert; after that, the number of workers says enough."""
_STALE_S = 10.0
_LONG_WAIT_S = 30.0
_UNGRADED_SHARE = 0.01
_ATTACK_SHARE = 0.02
_FEW = 3
"""Fewer are too few for a share to mean anything."""


class Level(StrEnum):
    """How serious an alert is."""

    BAD = "bad"
    """Samples are lost, or will be lost."""
    WARN = "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that needs attention."""

    level: Level
    text: str
    """What is wrong, and what to do about it if that is not obvious."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known about the service at one moment."""

    now: float
    """In seconds since 1970."""
    state: ServiceState
    state_age_s: float
    """How old `state` is."""
    recent: Sequence[Interval]
    """The intervals of the last minutes."""
    gone: Iterable[GoneWorker]
    deadline_s: float
    """When a submission is given up, if its request sets no deadline."""
    obstacle: str | None
    """Why nothing can be graded in this process; None if grading works, or if workers grade."""
    is_stopping: bool


def find_alerts(situation: Situation) -> list[Alert]:
    """Return the alerts, the worst first; none if all is well."""
    found = [
        *_of_service(situation),
        *_of_queue(situation),
        *_of_waiting(situation),
        *_of_submissions(situation.recent),
    ]
    return sorted(found, key=lambda alert: alert.level is not Level.BAD)


def _of_service(situation: Situation) -> Iterable[Alert]:
    if situation.is_stopping:
        yield _warn("The service is stopping: it finishes what runs and refuses the rest.")
    if situation.obstacle is not None:
        yield _bad(f"Nothing can be graded: {situation.obstacle}. The log says more.")
    if situation.state_age_s > _STALE_S:
        yield _warn(f"The figures of the queue are {situation.state_age_s:.0f} s old.")


def _of_queue(situation: Situation) -> Iterable[Alert]:
    if not situation.state.has_queue:
        return
    queue = situation.state.queue
    if queue is None:
        yield _bad("Redis does not answer: submissions wait, and are given up at their deadline.")
        return
    if (nothing := queue_obstacle(queue)) is not None:
        yield _bad(
            f"Nothing is graded, since {nothing}: submissions wait, and are given up at their "
            "deadline."
        )
    for each in situation.gone:
        ago_s = situation.now - each.at
        if each.is_lost and ago_s <= _LOST_FOR_S:
            running = each.worker.running
            had = f", with {running} running, which others take over" if running else ""
            host = each.worker.host
            yield _bad(
                f"A worker on {host} was lost {rough_time(ago_s)} ago{had}. Its log says why."
            )


def _of_waiting(situation: Situation) -> Iterable[Alert]:
    oldest_s = situation.state.oldest_s
    if oldest_s > situation.deadline_s / 2:
        yield _bad(
            f"The first in the queue has waited {rough_time(oldest_s)}; "
            f"at {situation.deadline_s:g} s it is given up. Add slots or workers."
        )
    elif oldest_s > _LONG_WAIT_S:
        yield _warn(f"The first in the queue has waited {rough_time(oldest_s)}.")


def _of_submissions(recent: Sequence[Interval]) -> Iterable[Alert]:
    total = sum(interval.submissions for interval in recent)
    over = rough_time(sum(interval.span_s for interval in recent))
    ungraded = sum(interval.internal_errors for interval in recent)
    if ungraded:
        text = (
            f"{ungraded} of {max(total, ungraded)} in the last {over} were not graded, through our "
            "fault or that of their labels."
        )
        many = ungraded >= _FEW and ungraded > _UNGRADED_SHARE * total
        yield _bad(text) if many else _warn(text)
    suspicious = sum(interval.suspicious for interval in recent)
    if suspicious >= _FEW and suspicious > _ATTACK_SHARE * total:
        share = 100 * suspicious / total
        yield _warn(
            f"{suspicious} submissions in the last {over} ({share:.0f} %) look like an attack on "
            "the grader."
        )


def _bad(text: str) -> Alert:
    return Alert(level=Level.BAD, text=text)


def _warn(text: str) -> Alert:
    return Alert(level=Level.WARN, text=text)
