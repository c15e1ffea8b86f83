"""What is going on in the queue, for people and for metrics."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.queueing import names
from grader.queueing.ledger import connect
from grader.sandbox.images import VARIANTS


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """What a worker said of itself less than a lease ago."""

    id: str
    host: str
    state: str
    """"serving" or "stopping"."""
    images: str
    sandbox: str
    slots: int
    running: int
    graded: int
    """Since it started."""
    per_s: float
    """Submissions a second over the last minute."""
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LastError:
    """An internal error that was reported."""

    at: datetime
    text: str
    """The worker and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The queue at one moment."""

    workers: tuple[WorkerStatus, ...]
    silent: frozenset[str]
    """Ids of workers that said nothing for a lease, until the others have noticed."""
    queued: int
    """Jobs that no worker has yet."""
    oldest_s: float
    """Seconds that the oldest of them has waited; 0 where there is none."""
    messages: Mapping[str, int]
    """Celery's messages waiting, by image variant."""
    clients: int
    counts: Mapping[str, int]
    """Since Redis was emptied; the names are those of `grader.queueing.names.Counter`."""
    cached: int
    cached_bytes: int
    errors: tuple[LastError, ...]
    """Newest first."""

    @property
    def slots(self) -> int:
        """Slots of all workers together."""
        return sum(worker.slots for worker in self.workers)

    @property
    def running(self) -> int:
        """Submissions that run now."""
        return sum(worker.running for worker in self.workers)

    @property
    def cache_outcomes(self) -> Mapping[str, int]:
        """Submissions by what the cache did: "hit", "joined" (equal to one in flight), "miss"."""
        hits, joined = (
            self.counts.get(each, 0) for each in (names.Counter.HITS, names.Counter.JOINED)
        )
        submitted = self.counts.get(names.Counter.SUBMITTED, 0)
        return {"hit": hits, "joined": joined, "miss": max(0, submitted - hits - joined)}

    @property
    def hit_rate(self) -> float:
        """The share of submissions that needed no run of their own, in [0, 1]."""
        outcomes = self.cache_outcomes
        submitted = sum(outcomes.values())
        return 1 - outcomes["miss"] / submitted if submitted else 0.0


def encode_worker(status: WorkerStatus) -> str:
    """Return what a worker leaves in Redis, under its id, for `read_status`."""
    told = asdict(status)
    del told["id"]
    told["started"] = status.started.timestamp()
    return json.dumps(told)


def read_status(settings: Settings) -> QueueStatus:
    """Ask Redis; changes nothing there.

    Raises:
        ConfigurationError: No broker is set.
        QueueUnavailableError: It does not answer.
    """
    client = connect(settings)
    from redis.exceptions import RedisError

    try:
        return _read(client)
    except (RedisError, OSError) as error:
        message = f"Redis does not answer: {error}"
        raise QueueUnavailableError(message) from error
    finally:
        client.close()


def _read(client: Any) -> QueueStatus:
    known = [worker.decode() for worker in client.zrange(names.WORKERS, 0, -1)]
    # Of one moment: whoever was lost is silent still, or counted already, and never neither.
    moment = client.pipeline(transaction=True)
    moment.time()
    moment.zrange(names.WORKERS, 0, -1, withscores=True)
    moment.hgetall(names.STATS)
    for worker in known:
        moment.get(names.WORKER + worker)
    (seconds, microseconds), leases, counts, *texts = moment.execute()
    now = seconds + microseconds / 1e6
    until_ms = {worker.decode(): until for worker, until in leases}
    told = {
        worker: text
        for worker, text in zip(known, texts, strict=True)
        if text is not None and until_ms.get(worker, 0) >= now * 1000
    }
    oldest = client.zrange(names.QUEUED, 0, 0, withscores=True)
    return QueueStatus(
        workers=tuple(_decode_worker(worker, text) for worker, text in told.items()),
        silent=frozenset((until_ms.keys() & set(known)) - told.keys()),
        queued=client.zcard(names.QUEUED),
        oldest_s=max(0.0, now - oldest[0][1] / 1000) if oldest else 0.0,
        messages={
            image: sum(client.llen(key) for key in names.queue_keys(image)) for image in VARIANTS
        },
        clients=client.zcount(names.CLIENTS, now * 1000, "+inf"),
        counts={k.decode(): int(v) for k, v in counts.items()},
        cached=client.hlen(names.VERDICTS),
        cached_bytes=int(client.get(names.VERDICTS_BYTES) or 0),
        errors=tuple(_error(line.decode()) for line in client.lrange(names.ERRORS, 0, -1)),
    )


def _decode_worker(worker: str, text: bytes) -> WorkerStatus:
    told = json.loads(text)
    # By name: a worker of another version may say more.
    return WorkerStatus(
        id=worker,
        host=told["host"],
        state=told["state"],
        images=told["images"],
        sandbox=told["sandbox"],
        slots=told["slots"],
        running=told["running"],
        graded=told["graded"],
        per_s=told["per_s"],
        started=datetime.fromtimestamp(told["started"], UTC),
    )


def _error(line: str) -> LastError:
    at_ms, _, text = line.partition(" ")
    return LastError(at=datetime.fromtimestamp(int(at_ms) / 1000, UTC), text=text)
