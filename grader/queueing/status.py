"""The state of the queue, for `grader status`, the live page and metrics."""

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.model.wire import WIRE_VERSION
from grader.queueing import names
from grader.queueing.broker import connect, each_broker, read_broker
from grader.queueing.names import Key


class WorkerState(StrEnum):
    """What a worker does with jobs. A worker of another build may write another state."""

    SERVING = "serving"
    STOPPING = "stopping"
    """It was told to end, and takes no more jobs."""
    SICK = "sick"
    """It takes no jobs until its sandbox works again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStatus:
    """What a worker wrote about itself with its last heartbeat."""

    id: str
    host: str
    version: str
    """Of the installed package; "" if it runs from a source tree."""
    build: str
    """A digest of the sources that it runs."""
    state: str
    """A `WorkerState`."""
    images: str
    sandbox: str
    slots: int
    running: int
    graded: int
    """Submissions since it started."""
    per_s: float
    """Submissions a second over the last minute."""
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The jobs of one client, class and image that wait, of which there are some."""

    client: str
    """With a slash and the caller behind it, if it is a service."""
    service_class: str
    image: str
    waiting: int
    """Jobs. One that several clients wait for is in a lane of each."""
    waited_s: float
    """How long the job that comes first has waited."""
    weight: float
    """Lanes of an image share its slots in proportion to this."""
    run_s: float | None
    """Seconds that its jobs lately had a slot, on average; None if none has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastError:
    """An internal error of a worker."""

    at: datetime
    text: str
    """The worker and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisMemory:
    """The memory of Redis, in bytes."""

    used_bytes: int
    limit_bytes: int
    """0 if there is none."""

    @property
    def share(self) -> float:
        """The share of the limit that is used, in [0, 1]; 0 if there is no limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The queue at one moment."""

    at: datetime
    """By the clock of Redis."""
    workers: tuple[WorkerStatus, ...]
    silent: frozenset[str]
    """Ids of workers whose lease ran out, and whose jobs were not taken back yet."""
    other_versions: Mapping[int, int]
    """How many workers have another wire version than this program, by that version. They share no
    job with it."""
    queued: int
    """Jobs that no worker holds."""
    oldest_s: float
    """Seconds that the oldest of them has waited; 0 if there are none."""
    lanes: tuple[Lane, ...]
    """Those with most jobs first."""
    clients: int
    counts: Mapping[str, int]
    """By `grader.queueing.names.Counter`, since Redis was last emptied."""
    cached: int
    cached_bytes: int
    memory: RedisMemory
    """If there are several Redis, of the one that is nearest to its limit."""
    errors: tuple[LastError, ...]
    """Newest first."""
    away: tuple[str, ...] = ()
    """Places of the Redis that do not answer, if others do."""

    @property
    def waiting(self) -> Mapping[str, int]:
        """Jobs in the lanes, by image variant."""
        found: Counter[str] = Counter()
        for lane in self.lanes:
            found[lane.image] += lane.waiting
        return found

    @property
    def slots(self) -> int:
        """The slots of all workers."""
        return sum(worker.slots for worker in self.workers)

    @property
    def running(self) -> int:
        """The submissions that run now."""
        return sum(worker.running for worker in self.workers)

    @property
    def serving(self) -> tuple[WorkerStatus, ...]:
        """The workers that take jobs."""
        return tuple(each for each in self.workers if each.state == WorkerState.SERVING)

    @property
    def slots_by_state(self) -> Mapping[str, int]:
        """Slots: "busy", "idle", or unusable, which is named after the state of its worker."""
        found = {"busy": self.running, "idle": 0, WorkerState.STOPPING: 0, WorkerState.SICK: 0}
        for worker in self.workers:
            state = "idle" if worker.state == WorkerState.SERVING else worker.state
            found[state] = found.get(state, 0) + max(0, worker.slots - worker.running)
        return {str(state): slots for state, slots in found.items()}

    @property
    def cache_outcomes(self) -> Mapping[str, int]:
        """Submissions by outcome: "hit", "joined" (equal to one in flight) or "miss"."""
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
    """Return a status as a worker writes it to Redis, under its id, for `read_status`."""
    written = asdict(status)
    del written["id"]
    written["started"] = status.started.timestamp()
    return json.dumps(written)


def read_status(settings: Settings) -> QueueStatus:
    """Read the status from Redis, without changing anything there.

    If there are several Redis, it is the sum over those that answer.

    Raises:
        ConfigurationError: No broker is set.
        QueueUnavailableError: No Redis answers.
    """
    brokers = each_broker(settings)
    # At the same time, since one that is away takes seconds.
    with ThreadPoolExecutor(len(brokers)) as threads:
        found = list(threads.map(_read_or_error, brokers))
    answers = [each for each in found if isinstance(each, QueueStatus)]
    if not answers:
        raise next(each for each in found if isinstance(each, QueueUnavailableError))
    away = [
        read_broker(broker).place
        for broker, each in zip(brokers, found, strict=True)
        if not isinstance(each, QueueStatus)
    ]
    return replace(functools.reduce(sum_of, answers), away=tuple(away))


def _read_or_error(settings: Settings) -> QueueStatus | QueueUnavailableError:
    try:
        return _read_one(settings)
    except QueueUnavailableError as error:
        return error


def sum_of(one: QueueStatus, other: QueueStatus) -> QueueStatus:
    """Return the status of two Redis that have one queue together."""
    return QueueStatus(
        at=max(one.at, other.at),
        workers=one.workers + other.workers,
        silent=one.silent | other.silent,
        other_versions=Counter(one.other_versions) + Counter(other.other_versions),
        queued=one.queued + other.queued,
        oldest_s=max(one.oldest_s, other.oldest_s),
        lanes=_sum_lanes((*one.lanes, *other.lanes)),
        # Each client is known to all of them.
        clients=max(one.clients, other.clients),
        counts=Counter(one.counts) + Counter(other.counts),
        cached=one.cached + other.cached,
        cached_bytes=one.cached_bytes + other.cached_bytes,
        memory=max(one.memory, other.memory, key=lambda memory: memory.share),
        errors=tuple(sorted((*one.errors, *other.errors), key=lambda error: error.at)[::-1]),
    )


def _sum_lanes(lanes: Iterable[Lane]) -> tuple[Lane, ...]:
    found: dict[tuple[str, ...], Lane] = {}
    for lane in lanes:
        name = (lane.client, lane.service_class, lane.image)
        known = found.get(name)
        found[name] = (
            lane
            if known is None
            else replace(
                known,
                waiting=known.waiting + lane.waiting,
                waited_s=max(known.waited_s, lane.waited_s),
            )
        )
    return tuple(sorted(found.values(), key=lambda lane: -lane.waiting))


def _read_one(settings: Settings) -> QueueStatus:
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
    known = [worker.decode() for worker in client.zrange(Key.WORKERS, 0, -1)]
    # No transaction, which a full Redis refuses. In this order, a worker that ends in order is not
    # taken for silent, and a lost one is either silent or counted as lost already.
    asked = client.pipeline(transaction=False)
    asked.time()
    for worker in known:
        asked.get(Key.WORKER + worker)
    asked.zrange(Key.WORKERS, 0, -1, withscores=True)
    asked.hgetall(Key.STATS)
    (seconds, microseconds), *texts, leases, counts = asked.execute()
    now = seconds + microseconds / 1e6
    until_ms = {worker.decode(): until for worker, until in leases}
    written = {
        worker: text
        for worker, text in zip(known, texts, strict=True)
        if text is not None and until_ms.get(worker, 0) >= now * 1000
    }
    memory = client.info("memory")
    oldest = client.zrange(Key.QUEUED, 0, 0, withscores=True)
    return QueueStatus(
        at=datetime.fromtimestamp(now, UTC),
        workers=tuple(_decode_worker(worker, text) for worker, text in written.items()),
        silent=frozenset((until_ms.keys() & set(known)) - written.keys()),
        other_versions=_other_versions(client.zrangebyscore(Key.VERSIONS, now * 1000, "+inf")),
        queued=client.zcard(Key.QUEUED),
        oldest_s=max(0.0, now - oldest[0][1] / 1000) if oldest else 0.0,
        lanes=_lanes(client, now),
        clients=client.zcount(Key.CLIENTS, now * 1000, "+inf"),
        counts={k.decode(): int(v) for k, v in counts.items()},
        cached=client.hlen(Key.VERDICTS),
        cached_bytes=int(client.get(Key.VERDICTS_BYTES) or 0),
        memory=RedisMemory(used_bytes=memory["used_memory"], limit_bytes=memory["maxmemory"]),
        errors=tuple(_error(line.decode()) for line in client.lrange(Key.ERRORS, 0, -1)),
    )


def _other_versions(members: Iterable[bytes]) -> dict[int, int]:
    versions = Counter(int(member.partition(b" ")[0]) for member in members)
    return {version: versions[version] for version in sorted(versions) if version != WIRE_VERSION}


def _lanes(client: Any, now: float) -> tuple[Lane, ...]:
    places = [
        (image.decode(), waiter.decode())
        for image in client.hkeys(Key.VIRTUAL)
        for waiter in client.zrange(Key.LANES + image.decode(), 0, -1)
    ]
    asked = client.pipeline(transaction=False)
    for image, waiter in places:
        asked.zcard(names.lane(Key.LANE, image, waiter))
        asked.zrange(names.lane(Key.LANE, image, waiter), 0, 0)
        asked.hmget(names.lane(Key.SHARE, image, waiter), "weight", "mean_ms")
    answers = asked.execute()
    for keys in answers[1::3]:
        asked.hget(Key.JOB + (keys[0].decode() if keys else ""), "created")
    created = asked.execute()
    lanes = [
        Lane(
            client=waiter.rpartition("/")[0],
            service_class=waiter.rpartition("/")[2],
            image=image,
            waiting=waiting,
            waited_s=max(0.0, now - float(created_ms or now * 1000) / 1000),
            weight=float(weight or 1),
            run_s=None if mean_ms is None else float(mean_ms) / 1000,
        )
        for (image, waiter), waiting, (weight, mean_ms), created_ms in zip(
            places, answers[::3], answers[2::3], created, strict=True
        )
        if waiting
    ]
    return tuple(sorted(lanes, key=lambda lane: -lane.waiting))


def _decode_worker(worker: str, text: bytes) -> WorkerStatus:
    written = json.loads(text)
    # Field by field, because a worker of another build may write more fields, or fewer.
    return WorkerStatus(
        id=worker,
        host=written["host"],
        version=written.get("version", ""),
        build=written.get("build", ""),
        state=written["state"],
        images=written["images"],
        sandbox=written["sandbox"],
        slots=written["slots"],
        running=written["running"],
        graded=written["graded"],
        per_s=written["per_s"],
        started=datetime.fromtimestamp(written["started"], UTC),
    )


def _error(line: str) -> LastError:
    at_ms, _, text = line.partition(" ")
    return LastError(at=datetime.fromtimestamp(int(at_ms) / 1000, UTC), text=text)
