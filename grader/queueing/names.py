"""Names that both ends of the queue agree on: the task, its queues, the keys in Redis."""

from enum import StrEnum

GRADE_TASK = "grader.grade"
"""The Celery task that grades the jobs whose keys it is given."""

PRIORITY_STEPS = (0, 3, 6, 9)
"""Priorities of the Redis transport; 0 comes first."""

_PRIORITY_DEADLINES_S = ((15.0, 0), (60.0, 3), (300.0, 6))
_PRIORITY_SEPARATOR = "\x06\x16"
"""What kombu puts between a queue's name and a priority."""

PREFIX = "grader:"
JOB = PREFIX + "job:"
SUITE = PREFIX + "suite:"
OUT = PREFIX + "out:"
HELD = PREFIX + "held:"
WORKER = PREFIX + "worker:"
QUEUED = PREFIX + "queued"
WORKERS = PREFIX + "workers"
CLIENTS = PREFIX + "clients"
VERDICTS = PREFIX + "verdicts"
VERDICTS_AGE = PREFIX + "verdicts:age"
VERDICTS_BYTES = PREFIX + "verdicts:bytes"
STATS = PREFIX + "stats"
ERRORS = PREFIX + "errors"
REAPED = PREFIX + "reaped"
WAIT = PREFIX + "wait"


class Answer(StrEnum):
    """What a message to a client says about a job."""

    REPORT = "report"
    """The job was graded; the message has the report."""
    KILLED = "killed"
    """Workers died while they graded this job and nothing else."""
    AGAIN = "again"
    """Its tests are no longer there; submit it once more."""


class Counter(StrEnum):
    """The fields of the statistics."""

    SUBMITTED = "submitted"
    HITS = "cache_hits"
    JOINED = "joined"
    """Submissions that found the same one in flight."""
    GRADED = "graded"
    INTERNAL_ERRORS = "internal_errors"
    REDELIVERED = "redelivered"
    KILLED = "killed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    """Jobs that nobody waited for any more when their turn came."""
    STALE = "stale"
    """Reports that came after the job had been given to somebody else, and were dropped."""
    HINTED_AGAIN = "hinted_again"
    WORKERS_LOST = "workers_lost"


def queue_name(image: str) -> str:
    """Return the Celery queue of an image variant."""
    return f"grader.{image}"


def priority_of(timeout_s: float) -> int:
    """Return the priority of a job that has `timeout_s` seconds left: short deadlines first."""
    for limit_s, priority in _PRIORITY_DEADLINES_S:
        if timeout_s <= limit_s:
            return priority
    return PRIORITY_STEPS[-1]


def queue_keys(image: str) -> tuple[str, ...]:
    """Return the lists in which the Redis transport keeps an image's queue, by priority."""
    name = queue_name(image)
    return tuple(
        name if step == 0 else f"{name}{_PRIORITY_SEPARATOR}{step}" for step in PRIORITY_STEPS
    )
