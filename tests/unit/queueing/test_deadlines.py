"""Alarms ring in order and in time, and cancelled ones leave nothing behind."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from grader.grading.deadlines import Deadlines


@pytest.fixture
def deadlines() -> Iterator[Deadlines]:
    opened = Deadlines()
    yield opened
    opened.close()


def test_alarms_ring_in_the_order_of_their_times(
    deadlines: Deadlines, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    rung: list[str] = []
    start = time.monotonic()
    deadlines.add(start + 0.2, lambda: rung.append("later"))
    deadlines.add(start + 0.1, lambda: rung.append("sooner"))
    eventually(lambda: rung == ["sooner", "later"], 30)
    assert time.monotonic() - start >= 0.2


def test_cancelled_alarm_does_not_ring(deadlines: Deadlines) -> None:
    rung = threading.Event()
    alarm = deadlines.add(time.monotonic() + 0.05, rung.set)
    alarm.cancel()
    alarm.cancel()
    assert not rung.wait(0.2)


def test_cancelled_alarms_do_not_pile_up(deadlines: Deadlines) -> None:
    for _ in range(5000):
        deadlines.add(time.monotonic() + 600, lambda: None).cancel()
    assert len(deadlines._heap) < 200


def test_closed_deadlines_ring_no_more() -> None:
    deadlines, rung = Deadlines(), threading.Event()
    deadlines.add(time.monotonic() + 0.05, rung.set)
    deadlines.close()
    deadlines.add(time.monotonic(), rung.set)
    assert not rung.wait(0.2)
