"""Slots that die while they are idle, and a sandbox that does not answer for a while."""

import threading
import time
from collections.abc import Iterator

import pytest

from grader.model import Limits
from grader.model.errors import ConfigurationError, SandboxUnavailableError
from grader.sandbox.contract import Program, RunBatch, Slot
from grader.sandbox.pool import SlotPool
from tests.deployment import wait_until
from tests.fake.backend import FakeSandbox


class Engine(FakeSandbox):
    """Refuses to open slots while it is away, and remembers those that it opened."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.opened: list[Slot] = []
        self.tries = 0

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        self.tries += 1
        if self.is_away:
            message = "the engine does not answer"
            raise SandboxUnavailableError(message)
        self.opened.append(super().open_slot(image=image, memory_bytes=memory_bytes))
        return self.opened[-1]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def pool(engine: Engine) -> Iterator[SlotPool]:
    opened = SlotPool(engine, size=2, memory_bytes=1, outage_s=30)
    yield opened
    opened.close()


BATCH = RunBatch(program=Program.STDIN, source="print(7)", runs=(b"",), limits=Limits())


def borrowed_name(pool: SlotPool) -> str:
    with pool.borrow(image="python", memory_bytes=1) as slot:
        return slot.name


def test_slot_that_a_batch_made_unfit_is_replaced_before_the_next(
    engine: Engine, pool: SlotPool
) -> None:
    with pool.borrow(image="python", memory_bytes=1) as slot:
        (first,) = slot.run(BATCH)
        engine.opened[0].close()
        (second,) = slot.run(BATCH)
        assert (first.exit_code, second.exit_code, slot.name) == (0, 0, "fake-1")
    assert not engine.opened[0].is_alive()
    assert borrowed_name(pool) == "fake-1"
    assert pool.counts().busy == 0


def test_slot_that_was_closed_to_stop_it_is_not_replaced(engine: Engine, pool: SlotPool) -> None:
    with pool.borrow(image="python", memory_bytes=1) as slot:
        slot.close()
        with pytest.raises(SandboxUnavailableError):
            list(slot.run(BATCH))
    assert len(engine.opened) == 1


def test_slot_that_died_idle_is_not_lent_again(engine: Engine, pool: SlotPool) -> None:
    with (
        pool.borrow(image="python", memory_bytes=1),
        pool.borrow(image="python", memory_bytes=1),
    ):
        pass
    for slot in engine.opened:
        slot.close()
    assert borrowed_name(pool) == "fake-2"
    assert borrowed_name(pool) == "fake-2"
    assert pool.counts().unopened == 1


def test_engine_that_comes_back_in_time_is_waited_for(engine: Engine, pool: SlotPool) -> None:
    borrowed_name(pool)
    engine.opened[0].close()
    engine.is_away = True
    names: list[str] = []
    thread = threading.Thread(target=lambda: names.append(borrowed_name(pool)))
    thread.start()
    wait_until(lambda: engine.tries >= 3, 20, "it is tried again")
    assert names == []
    engine.is_away = False
    thread.join(20)
    assert names == ["fake-1"]


def test_engine_that_never_worked_is_not_waited_for(engine: Engine, pool: SlotPool) -> None:
    engine.is_away = True
    with pytest.raises(SandboxUnavailableError):
        borrowed_name(pool)
    assert engine.tries == 1
    assert pool.counts().unopened == 2


def test_closing_the_pool_ends_the_waiting(engine: Engine, pool: SlotPool) -> None:
    borrowed_name(pool)
    engine.opened[0].close()
    engine.is_away = True
    threading.Timer(0.3, pool.close).start()
    start = time.monotonic()
    with pytest.raises(SandboxUnavailableError):
        borrowed_name(pool)
    assert time.monotonic() - start < 15


def test_slot_that_was_being_opened_when_the_pool_closed_is_not_lent(
    engine: Engine, pool: SlotPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_slot = engine.open_slot

    def close_meanwhile(*, image: str, memory_bytes: int) -> Slot:
        pool.close()
        engine.close()
        return open_slot(image=image, memory_bytes=memory_bytes)

    monkeypatch.setattr(engine, "open_slot", close_meanwhile)
    with pytest.raises(ConfigurationError, match="the grader is closed"):
        borrowed_name(pool)
    assert not engine.opened[0].is_alive()
    assert pool.counts().unopened == 2


def test_slot_that_is_slow_to_close_holds_up_no_other_thread(
    engine: Engine, pool: SlotPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pool.borrow(image="python", memory_bytes=1),
        pool.borrow(image="python", memory_bytes=1),
    ):
        pass
    closing, may_close = threading.Event(), threading.Event()

    def close() -> None:
        closing.set()
        assert may_close.wait(30)

    monkeypatch.setattr(engine.opened[1], "close", close)  # given back first

    def make_room() -> None:
        with pool.borrow(image="science", memory_bytes=1):
            pass

    evicting = threading.Thread(target=make_room)
    evicting.start()
    try:
        assert closing.wait(30)
        assert borrowed_name(pool) == "fake-0"
        assert pool.counts().idle == 1
    finally:
        may_close.set()
        evicting.join()
