"""Intervals, quantiles, lost workers and alerts of the live page."""

from dataclasses import replace
from typing import Any

import pytest

from grader.model.verdict import Suspicion, Verdict
from grader.sandbox.pool import SlotCounts
from grader.server.live.alerts import Level, Situation, find_alerts
from grader.server.live.intervals import History, Interval, Observation, interval_between, quantile
from grader.server.live.worker_history import GoneWorker, WorkerHistory
from grader.server.metrics import BUCKETS_S, Metrics
from grader.server.state import ServiceState
from tests.factories import make_queue, make_report, make_worker


def make_state(**overrides: Any) -> ServiceState:
    values: dict[str, Any] = {
        "waiting": 0,
        "oldest_s": 0.0,
        "slots": SlotCounts(busy=1, idle=1, unopened=2),
        "has_queue": False,
        "queue": None,
    }
    return ServiceState(**{**values, **overrides})


def observe(metrics: Metrics, clock: float, **state: Any) -> Observation:
    return Observation(
        at=1e9 + clock, clock=clock, counts=metrics.counts(), state=make_state(**state)
    )


# ---------------------------------------------------------------- intervals


def test_interval_has_the_counts_between_two_observations() -> None:
    metrics = Metrics()
    metrics.report(make_report(), 0.1)
    first = observe(metrics, 10)
    metrics.report(make_report(), 0.1)
    # The reward of a sample that could not be graded tells nothing about the model.
    metrics.report(replace(make_report(Verdict.INTERNAL_ERROR), reward=9.0), 0.1)
    both = (Suspicion.EARLY_EXIT, Suspicion.NETWORK)
    failed = make_report(Verdict.FAILED, suspicion=both)
    metrics.report(replace(failed, reward=-2.5), 0.1)
    metrics.cancelled()
    metrics.program("Success")
    interval = interval_between(first, observe(metrics, 12, waiting=4, oldest_s=3.0))
    assert interval.verdicts == {"passed": 1, "failed": 1, "internal_error": 1}
    assert (interval.submissions, interval.graded, interval.rewards) == (3, 2, -1.5)
    assert (
        interval.suspicious,
        interval.internal_errors,
        interval.cancelled,
        interval.programs,
    ) == (1, 1, 1, 1)
    assert (
        interval.span_s,
        interval.waiting,
        interval.oldest_s,
        interval.busy,
        interval.usable,
    ) == (2, 4, 3.0, 1, 4)
    assert interval.workers is None
    assert set(interval.latency) == {"wait", "run", "total"}
    assert 0.05 < interval.latency["total"].p50_s <= 0.1


def test_interval_of_a_queue_has_its_workers_and_cache() -> None:
    metrics = Metrics()
    counts = {"submitted": 10, "cache_hits": 2, "joined": 1}
    queue = make_queue(make_worker(), counts=counts)
    later = replace(queue, counts={"submitted": 15, "cache_hits": 4, "joined": 1})
    first = observe(metrics, 10, has_queue=True, queue=queue)
    interval = interval_between(first, observe(metrics, 12, has_queue=True, queue=later))
    assert interval.cache == {"hit": 2, "miss": 3}
    assert (interval.workers, interval.busy, interval.usable) == (1, 4, 8)


def test_counts_of_an_emptied_redis_do_not_shrink() -> None:
    metrics = Metrics()
    first = observe(metrics, 1, has_queue=True, queue=make_queue(counts={"submitted": 10}))
    last = observe(metrics, 2, has_queue=True, queue=make_queue(counts={"submitted": 1}))
    assert interval_between(first, last).cache == {}


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


def test_history_is_bounded_and_its_intervals_have_its_length() -> None:
    metrics, history = Metrics(), History(span_s=60, count=3)
    for second in range(0, 601, 2):
        history.add(observe(metrics, second, waiting=9 if second == 590 else 1))
    assert len(history.intervals) == 3
    assert [interval.span_s for interval in history.intervals] == [60, 60, 60]
    assert [interval.waiting for interval in history.intervals] == [1, 1, 9]


# ---------------------------------------------------------------- workers


def test_worker_that_falls_silent_is_lost_and_one_that_leaves_is_not() -> None:
    worker_history = WorkerHistory()
    silent, stopped = make_worker("silent"), make_worker("stopped")
    worker_history.update(make_queue(silent, stopped), 1.0)
    worker_history.update(make_queue(silent=frozenset({"silent"})), 2.0)
    assert {gone.worker.id: gone.is_lost for gone in worker_history.gone} == {
        "silent": True,
        "stopped": False,
    }


def test_worker_whose_loss_was_counted_before_the_observation_is_lost() -> None:
    worker_history = WorkerHistory()
    worker_history.update(make_queue(make_worker("a"), make_worker("b", state="stopping")), 1.0)
    worker_history.update(make_queue(counts={"workers_lost": 1}), 2.0)
    assert {gone.worker.id: gone.is_lost for gone in worker_history.gone} == {"a": True, "b": False}


def test_worker_that_comes_back_is_not_gone() -> None:
    worker_history = WorkerHistory()
    worker_history.update(make_queue(make_worker()), 1.0)
    worker_history.update(make_queue(silent=frozenset({"w"})), 2.0)
    worker_history.update(make_queue(make_worker()), 3.0)
    assert not worker_history.gone


def test_worker_history_is_bounded() -> None:
    worker_history = WorkerHistory()
    for number in range(100):
        worker_history.update(make_queue(make_worker(str(number))), float(number))
    assert len(worker_history.gone) == 20


# ---------------------------------------------------------------- alerts


def make_interval(**overrides: Any) -> Interval:
    values: dict[str, Any] = {
        "at": 0.0,
        "span_s": 2.0,
        "verdicts": {"passed": 100},
        "rewards": 0.0,
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
    return Interval(**{**values, **overrides})


def levels(**overrides: Any) -> dict[str, Level]:
    """Return the alerts of a situation by their first words."""
    values: dict[str, Any] = {
        "now": 1000.0,
        "state": make_state(),
        "state_age_s": 1.0,
        "recent": [make_interval()],
        "gone": (),
        "deadline_s": 600.0,
        "obstacle": None,
        "is_stopping": False,
    }
    found = find_alerts(Situation(**{**values, **overrides}))
    return {" ".join(alert.text.split()[:4]): alert.level for alert in found}


def lost(at: float, *, is_lost: bool = True) -> GoneWorker:
    return GoneWorker(worker=make_worker(), at=at, is_lost=is_lost)


def test_no_alert_if_all_is_well() -> None:
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
            "Nothing is graded, since",
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
        pytest.param(
            {"recent": [make_interval(internal_errors=1)]}, "1 of 100 in", "warn", id="fault"
        ),
        pytest.param(
            {"recent": [make_interval(internal_errors=3)]}, "3 of 100 in", "bad", id="faults"
        ),
        pytest.param(
            {"recent": [make_interval(suspicious=3)]}, "3 submissions in the", "warn", id="attacks"
        ),
    ],
)
def test_situation_raises_its_alert(
    situation: dict[str, Any], first_words: str, level: str
) -> None:
    assert levels(**situation) == {first_words: level}


def test_old_orderly_or_rare_events_raise_no_alert() -> None:
    assert levels(state=SERVING, gone=[lost(100)]) == {}
    assert levels(state=SERVING, gone=[lost(990, is_lost=False)]) == {}
    assert levels(recent=[make_interval(suspicious=1)]) == {}


def test_worst_alert_comes_first() -> None:
    found = levels(obstacle="x", is_stopping=True, state_age_s=60.0)
    assert list(found.values()) == ["bad", "warn", "warn"]
