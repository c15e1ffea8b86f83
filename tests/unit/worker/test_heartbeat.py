"""What a heartbeat does while runs that it stops are slow to end."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import pytest

from grader.config.settings import Settings
from grader.model.errors import GradingStoppedError
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Beat, Hint
from grader.sandbox.contract import Slot
from worker.deliveries import Deliveries
from worker.heartbeat import Heartbeat
from worker.throughput import Throughput

KEYS = ["first", "second"]


class _Ledger:
    """A ledger in which all jobs were cancelled."""

    def __init__(self) -> None:
        self.beats = 0

    def beat(
        self,
        _worker: str,
        _status: str,
        running: Iterable[tuple[str, str]],
        _tokens: Iterable[str],
        *,
        edition: str,
    ) -> Beat:
        assert edition == "edition"
        self.beats += 1
        return Beat(lost=tuple(key for _, key in running), held=())

    def reap(self) -> list[Hint]:
        return []

    def give_back(self, *_: Any) -> list[Hint]:
        return []


class _Dispatcher:
    def send(self, hints: Iterable[Hint]) -> None:
        assert not list(hints)


class _SlowSlot:
    """A slot that closes only when it is allowed to."""

    def __init__(self) -> None:
        self.closings = 0
        self.may_close = threading.Event()

    def close(self) -> None:
        self.closings += 1
        self.may_close.wait(10)


@pytest.fixture
def slots() -> Iterator[list[_SlowSlot]]:
    opened = [_SlowSlot() for _ in KEYS]
    yield opened
    for slot in opened:
        slot.may_close.set()


def test_lease_is_renewed_and_all_cancelled_runs_are_stopped_at_once_while_slots_close_slowly(
    slots: list[_SlowSlot], eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    ledger = _Ledger()
    deliveries = Deliveries(
        "worker", ledger=cast("Ledger", ledger), dispatcher=cast("Any", _Dispatcher())
    )
    heartbeat = Heartbeat(
        "worker",
        Settings(slots=len(KEYS)),
        ledger=cast("Ledger", ledger),
        deliveries=deliveries,
        throughput=Throughput(),
        sandbox="fake",
        edition=lambda: "edition",
    )

    def run_until_stopped(key: str, slot: _SlowSlot) -> None:
        delivery = deliveries.open()
        assert delivery is not None
        lent = contextlib.nullcontext(cast("Slot", slot))
        with (
            deliveries.running(delivery, key),
            contextlib.suppress(GradingStoppedError),
            delivery.handle.using(lent),
        ):
            slot.may_close.wait(10)

    threads = [
        threading.Thread(target=run_until_stopped, args=each)
        for each in zip(KEYS, slots, strict=True)
    ]
    for thread in threads:
        thread.start()
    heartbeat.start()
    try:
        eventually(lambda: [slot.closings for slot in slots] == [1, 1], 30)
        beats = ledger.beats
        eventually(lambda: ledger.beats >= beats + 2, 30)
        assert [slot.closings for slot in slots] == [1, 1]
    finally:
        for slot in slots:
            slot.may_close.set()
        heartbeat.close()
        for thread in threads:
            thread.join()
