"""What `grader status` says first: the worst that is wrong."""

from datetime import timedelta
from typing import Any

import pytest

from grader.queueing.diagnosis import diagnose
from grader.queueing.status import LastError, QueueStatus, RedisMemory
from tests.factories import make_lane, make_queue, make_worker

SICK = make_worker("sick", state="sick", running=0)
STOPPING = make_worker("stopping", state="stopping")
NOW = make_queue().at


def failed(ago_s: float) -> tuple[LastError, ...]:
    return (LastError(at=NOW - timedelta(seconds=ago_s), text="w1 the engine is gone"),)


TROUBLES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"memory": RedisMemory(used_bytes=90, limit_bytes=100)}, "Redis accepts no submissions: 90%"),
    ({"lanes": (make_lane(), make_lane(image="science"))}, "No worker serves the image science"),
    ({"workers": (make_worker(), SICK)}, "1 of 2 workers cannot grade, such as sick."),
    ({"silent": frozenset({"x", "y"})}, "2 workers fell silent"),
    ({"errors": failed(59)}, "The last internal error was 59 s ago: w1 the engine is gone"),
    ({"workers": (make_worker(), make_worker("v", build="b"))}, "The workers run 2 different"),
    ({"queued": 1, "oldest_s": 31.0}, "Submissions wait for long: 1 submission waits, the oldest"),
)
"""The worst first."""

HARMLESS: tuple[dict[str, Any], ...] = (
    {"memory": RedisMemory(used_bytes=89, limit_bytes=100)},
    {"memory": RedisMemory(used_bytes=89, limit_bytes=0)},
    {"lanes": (make_lane(),)},
    {"workers": (make_worker(images="python,science"),), "lanes": (make_lane(image="science"),)},
    {"workers": (make_worker(), STOPPING)},
    {"errors": failed(601)},
    {"queued": 1, "oldest_s": 30.0},
)


def queue(values: dict[str, Any]) -> QueueStatus:
    workers = values.get("workers", (make_worker(),))
    others = {key: value for key, value in values.items() if key != "workers"}
    return make_queue(*workers, **{"at": NOW, **others})


@pytest.mark.parametrize(
    ("workers", "text"),
    [
        pytest.param((), "Nothing is graded: the queue has no worker.", id="none"),
        pytest.param((SICK,), "Nothing is graded: every worker is sick.", id="sick"),
        pytest.param((STOPPING,), "Nothing is graded: every worker is stopping.", id="stopping"),
        pytest.param(
            (STOPPING, SICK), "Nothing is graded: every worker is sick or stopping.", id="both"
        ),
    ],
)
def test_queue_without_a_serving_worker_grades_nothing(workers: Any, text: str) -> None:
    found = diagnose(make_queue(*workers))
    assert (found.text, found.is_well, found.can_grade) == (text, False, False)
    waiting = diagnose(make_queue(*workers, queued=7, oldest_s=150.0))
    assert waiting.text == f"{text[:-1]}, and 7 submissions wait, the oldest for 2 min."


@pytest.mark.parametrize(("values", "beginning"), TROUBLES, ids=[text for _, text in TROUBLES])
def test_trouble_is_told(values: dict[str, Any], beginning: str) -> None:
    found = diagnose(queue(values))
    assert found.text.startswith(beginning)
    assert (found.is_well, found.can_grade) == (False, True)


def test_worst_is_told_first() -> None:
    for worse, (values, _) in enumerate(TROUBLES[1:]):
        both = {**values, **TROUBLES[worse][0]}
        assert diagnose(queue(both)).text.startswith(TROUBLES[worse][1])


@pytest.mark.parametrize("values", HARMLESS, ids=range(len(HARMLESS)))
def test_harmless_state_is_well(values: dict[str, Any]) -> None:
    found = diagnose(queue(values))
    assert found.text.startswith("All is well: ")
    assert (found.is_well, found.can_grade) == (True, True)


def test_every_slot_is_counted_under_one_state() -> None:
    workers = (make_worker(), STOPPING, SICK, make_worker("new", state="unheard of", running=1))
    found = make_queue(*workers).slots_by_state
    assert found == {"busy": 7, "idle": 1, "stopping": 1, "sick": 4, "unheard of": 3}
    assert sum(found.values()) == make_queue(*workers).slots
