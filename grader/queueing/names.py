"""Names that clients and workers share: the task, its queues, the keys in Redis."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from grader.config.settings import ServiceClass
from grader.model.wire import WIRE_VERSION

_ROOT = f"grader:{WIRE_VERSION}:"
"""Programs of different wire versions share no key, and so no job, but for `Key.VERSIONS`."""

GRADE_TASK = "grader.grade"
"""The Celery task that has a worker take jobs from the ledger until none waits."""

CLASS_WEIGHTS: Mapping[ServiceClass, float] = {
    ServiceClass.INTERACTIVE: 16.0,
    ServiceClass.TRAINING: 4.0,
    ServiceClass.BATCH: 1.0,
}
"""Shares of the slots that lanes get, in proportion, while they have jobs that wait."""


class Key(StrEnum):
    """The keys in Redis; those that end with a colon are followed by an id.

    `scripts/*.lua` use them as `KEY.JOB` and so on; docs/operations.md describes them.
    """

    JOB = _ROOT + "job:"
    SUITE = _ROOT + "suite:"
    SUITES_USED = _ROOT + "suites:used"
    OUT = _ROOT + "out:"
    HELD = _ROOT + "held:"
    WORKER = _ROOT + "worker:"
    QUEUED = _ROOT + "queued"
    LANE = _ROOT + "lane:"
    LANES = _ROOT + "lanes:"
    SHARE = _ROOT + "share:"
    VIRTUAL = _ROOT + "virtual"
    SLOTS = _ROOT + "slots"
    HINTS = f"grader.{WIRE_VERSION}."
    WORKERS = _ROOT + "workers"
    CLIENTS = _ROOT + "clients"
    VERDICTS = _ROOT + "verdicts"
    VERDICTS_AGE = _ROOT + "verdicts:age"
    VERDICTS_BYTES = _ROOT + "verdicts:bytes"
    STATS = _ROOT + "stats"
    ERRORS = _ROOT + "errors"
    REAPED = _ROOT + "reaped"
    EDITIONS = _ROOT + "editions"
    VERSIONS = "grader:versions"


class SessionKey(StrEnum):
    """The lists in Redis in which sessions are asked for; each name is followed by an id."""

    OPEN = _ROOT + "sessions:open:"
    """By image: for any worker that has room for another session."""
    WORKER = _ROOT + "sessions:of:"
    """By worker: for the one that has the session."""
    ANSWER = _ROOT + "sessions:answer:"
    """By request."""


class JobState(StrEnum):
    """How far a job in the ledger has come; the scripts use them as `STATE.QUEUED` and so on."""

    QUEUED = "queued"
    RUNNING = "running"
    """Or about to: the worker has a thread for it."""


class AnswerKind(StrEnum):
    """What a message to a client says about a job; in scripts: `ANSWER.REPORT` and so on."""

    REPORT = "report"
    """The job was graded. The message holds the report."""
    KILLED = "killed"
    """Several workers died while they graded this job and no other."""
    AGAIN = "again"
    """Its suite is gone from Redis. The client has to submit the job again."""


class Counter(StrEnum):
    """The fields of `Key.STATS`; the scripts use them as `COUNTER.GRADED` and so on."""

    SUBMITTED = "submitted"
    HITS = "cache_hits"
    JOINED = "joined"
    """Submissions that found an equal job in flight."""
    GRADED = "graded"
    INTERNAL_ERRORS = "internal_errors"
    REDELIVERED = "redelivered"
    KILLED = "killed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    """Jobs that no client waited for any more when their turn came."""
    STALE = "stale"
    """Reports that were dropped because their worker no longer held the job."""
    HINTED_AGAIN = "hinted_again"
    WORKERS_LOST = "workers_lost"


def version_mismatch(versions: Iterable[int]) -> str:
    """Return why workers of these wire versions, and no others, do not serve this program."""
    theirs = " and ".join(map(str, versions))
    return (
        f"all workers have wire version {theirs}, and this program has {WIRE_VERSION}: "
        "run the same release of the grader here and there"
    )


def queue_name(image: str) -> str:
    """Return the Celery queue of an image variant, which is also its list in Redis."""
    return Key.HINTS + image


def waiter(client: str, service_class: ServiceClass, caller: str = "") -> str:
    """Return what the ledger calls a client's jobs of one class, and of one caller of a service."""
    # The scripts read the client up to the first slash.
    return "/".join(filter(None, (client, caller, service_class)))


def lane(kind: Key, image: str, waiter: str) -> str:
    """Return the key of what Redis keeps of a lane: `Key.LANE` or `Key.SHARE`."""
    return f"{kind}{image}:{waiter}"
