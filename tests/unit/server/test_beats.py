"""From counts to what a page shows of them: spans of time, quantiles, lost workers, concerns."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from grader.model.verdict import Suspicion, Verdict
from grader.queueing.status import QueueStatus, WorkerStatus
from grader.sandbox.pool import SlotCounts
from grader.server.live.beats import Beat, Look, Ring, beat_between, quantile
from grader.server.live.concerns import Level, Situation, find_concerns
from grader.server.live.roster import GoneWorker, Roster
from grader.server.metrics import BUCKETS_S, Metrics
from grader.server.state import ServiceState
from tests.factories import make_report


def make_worker(name: str = "w", **overrides: Any) -> WorkerStatus:
    values: dict[str, Any] = {
        "host": "node1",
        "state": "serving",
        "images": "python",
        "sandbox": "native",
        "slots": 4,
        "running": 3,
        "graded": 10,
        "per_s": 1.0,
        "started": datetime.now(UTC),
    }
    return WorkerStatus(id=name, **{**values, **overrides})


def make_queue(*workers: WorkerStatus, **overrides: Any) -> QueueStatus:
    values: dict[str, Any] = {
        "silent": frozenset(),
        "queued": 0,
        "oldest_s": 0.0,
        "messages": {},
        "clients": 1,
        "counts": {},
        "cached": 0,
        "cached_bytes": 0,
        "errors": (),
    }
    return QueueStatus(workers=workers, **{**values, **overrides})


def make_state(**overrides: Any) -> ServiceState:
    values: dict[str, Any] = {
        "waiting": 0,
        "oldest_s": 0.0,
        "slots": SlotCounts(busy=1, idle=1, unopened=2),
        "has_queue": False,
        "queue": None,
    }
    return ServiceState(**{**values, **overrides})


def look(metrics: Metrics, clock: float, **state: Any) -> Look:
    return Look(at=1e9 + clock, clock=clock, counts=metrics.counts(), state=make_state(**state))


# ---------------------------------------------------------------- beats


def test_beat_has_what_was_counted_between_two_looks() -> None:
    metrics = Metrics()
    metrics.report(make_report(), 0.1)
    first = look(metrics, 10)
    metrics.report(make_report(), 0.1)
    metrics.report(make_report(Verdict.INTERNAL_ERROR), 0.1)
    both = (Suspicion.EARLY_EXIT, Suspicion.NETWORK)
    metrics.report(make_report(Verdict.FAILED, suspicion=both), 0.1)
    metrics.cancelled()
    metrics.program("Success")
    beat = beat_between(first, look(metrics, 12, waiting=4, oldest_s=3.0))
    assert beat.verdicts == {"passed": 1, "failed": 1, "internal_error": 1}
    assert beat.submissions == 3
    assert (beat.suspicious, beat.internal_errors, beat.cancelled, beat.programs) == (1, 1, 1, 1)
    assert (beat.span_s, beat.waiting, beat.oldest_s, beat.busy, beat.usable) == (2, 4, 3.0, 1, 4)
    assert beat.workers is None
    assert set(beat.latency) == {"wait", "run", "total"}
    assert 0.05 < beat.latency["total"].p50_s <= 0.1


def test_beat_of_a_queue_adds_workers_and_what_the_cache_did() -> None:
    metrics = Metrics()
    counts = {"submitted": 10, "cache_hits": 2, "joined": 1}
    queue = make_queue(make_worker(), counts=counts)
    later = replace(queue, counts={"submitted": 15, "cache_hits": 4, "joined": 1})
    first = look(metrics, 10, has_queue=True, queue=queue)
    beat = beat_between(first, look(metrics, 12, has_queue=True, queue=later))
    assert beat.cache == {"hit": 2, "miss": 3}
    assert (beat.workers, beat.busy, beat.usable) == (1, 4, 8)


def test_redis_that_was_emptied_counts_as_nothing() -> None:
    metrics = Metrics()
    first = look(metrics, 1, has_queue=True, queue=make_queue(counts={"submitted": 10}))
    last = look(metrics, 2, has_queue=True, queue=make_queue(counts={"submitted": 1}))
    assert beat_between(first, last).cache == {}


@pytest.mark.parametrize(
    ("where", "share", "expected"),
    [
        pytest.param([0], 0.5, 0.001, id="half of the first bucket"),
        pytest.param([6, 6, 6, 7], 0.95, 0.45, id="most of the last that holds any"),
        pytest.param([len(BUCKETS_S)], 0.5, 300, id="longer than the last bound"),
    ],
)
def test_quantile_is_spread_evenly_in_its_bucket(
    where: list[int], share: float, expected: float
) -> None:
    buckets = [where.count(index) for index in range(len(BUCKETS_S) + 1)]
    assert quantile(buckets, share) == pytest.approx(expected, rel=0.1)


def test_ring_is_bounded_and_its_beats_are_as_long_as_it_says() -> None:
    metrics, ring = Metrics(), Ring(span_s=60, count=3)
    for second in range(0, 601, 2):
        ring.look(look(metrics, second, waiting=9 if second == 590 else 1))
    assert len(ring.beats) == 3
    assert [beat.span_s for beat in ring.beats] == [60, 60, 60]
    assert [beat.waiting for beat in ring.beats] == [1, 1, 9]


# ---------------------------------------------------------------- workers


def test_worker_that_falls_silent_is_lost_and_one_that_leaves_is_not() -> None:
    roster = Roster()
    silent, stopped = make_worker("silent"), make_worker("stopped")
    roster.update(make_queue(silent, stopped), 1.0)
    roster.update(make_queue(silent=frozenset({"silent"})), 2.0)
    assert {gone.worker.id: gone.is_lost for gone in roster.gone} == {
        "silent": True,
        "stopped": False,
    }


def test_worker_whose_loss_was_counted_before_we_looked_is_lost() -> None:
    roster = Roster()
    roster.update(make_queue(make_worker("a"), make_worker("b", state="stopping")), 1.0)
    roster.update(make_queue(counts={"workers_lost": 1}), 2.0)
    assert {gone.worker.id: gone.is_lost for gone in roster.gone} == {"a": True, "b": False}


def test_worker_that_comes_back_is_not_gone() -> None:
    roster = Roster()
    roster.update(make_queue(make_worker()), 1.0)
    roster.update(make_queue(silent=frozenset({"w"})), 2.0)
    roster.update(make_queue(make_worker()), 3.0)
    assert not roster.gone


def test_roster_is_bounded() -> None:
    roster = Roster()
    for number in range(100):
        roster.update(make_queue(make_worker(str(number))), float(number))
    assert len(roster.gone) == 20


# ---------------------------------------------------------------- concerns


def make_beat(**overrides: Any) -> Beat:
    values: dict[str, Any] = {
        "at": 0.0,
        "span_s": 2.0,
        "verdicts": {"passed": 100},
        "suspicious": 0,
        "internal_errors": 0,
        "cancelled": 0,
        "programs": 0,
        "latency": {},
        "cache": {},
        "waiting": 0,
        "oldest_s": 0.0,
        "busy": 0,
        "usable": 1,
        "workers": None,
    }
    return Beat(**{**values, **overrides})


def levels(**overrides: Any) -> dict[str, Level]:
    """Return the concerns of a situation by their first words."""
    values: dict[str, Any] = {
        "now": 1000.0,
        "state": make_state(),
        "state_age_s": 1.0,
        "recent": [make_beat()],
        "gone": (),
        "deadline_s": 600.0,
        "obstacle": None,
        "is_stopping": False,
    }
    found = find_concerns(Situation(**{**values, **overrides}))
    return {" ".join(concern.text.split()[:4]): concern.level for concern in found}


def lost(at: float, *, is_lost: bool = True) -> GoneWorker:
    return GoneWorker(worker=make_worker(), at=at, is_lost=is_lost)


def test_nothing_is_a_concern_where_all_is_well() -> None:
    assert levels() == {}
    assert levels(state=make_state(has_queue=True, queue=make_queue(make_worker()))) == {}


SERVING = make_state(has_queue=True, queue=make_queue(make_worker()))


@pytest.mark.parametrize(
    ("situation", "first_words", "level"),
    [
        pytest.param({"obstacle": "x"}, "Nothing can be graded:", "bad", id="no sandbox"),
        pytest.param({"is_stopping": True}, "The service is stopping:", "warn", id="stopping"),
        pytest.param({"state_age_s": 11.0}, "The figures of the", "warn", id="stale"),
        pytest.param(
            {"state": make_state(has_queue=True)}, "Redis does not answer:", "bad", id="no Redis"
        ),
        pytest.param(
            {"state": make_state(has_queue=True, queue=make_queue())},
            "There is no worker:",
            "bad",
            id="no worker",
        ),
        pytest.param(
            {"state": SERVING, "gone": [lost(950)]}, "A worker on node1", "bad", id="lost worker"
        ),
        pytest.param({"state": make_state(oldest_s=31)}, "The first in the", "warn", id="wait"),
        pytest.param(
            {"state": make_state(oldest_s=301)}, "The first in the", "bad", id="long wait"
        ),
        pytest.param({"recent": [make_beat(internal_errors=1)]}, "1 of 100 in", "warn", id="fault"),
        pytest.param({"recent": [make_beat(internal_errors=3)]}, "3 of 100 in", "bad", id="faults"),
        pytest.param(
            {"recent": [make_beat(suspicious=3)]}, "3 submissions in the", "warn", id="attacks"
        ),
    ],
)
def test_what_an_operator_should_look_at_is_a_concern(
    situation: dict[str, Any], first_words: str, level: str
) -> None:
    assert levels(**situation) == {first_words: level}


def test_what_is_long_ago_or_in_order_or_rare_is_no_concern() -> None:
    assert levels(state=SERVING, gone=[lost(100)]) == {}
    assert levels(state=SERVING, gone=[lost(990, is_lost=False)]) == {}
    assert levels(recent=[make_beat(suspicious=1)]) == {}


def test_worst_concern_comes_first() -> None:
    found = levels(obstacle="x", is_stopping=True, state_age_s=60.0)
    assert list(found.values()) == ["bad", "warn", "warn"]
