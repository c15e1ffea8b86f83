"""Which holders of a readers-writer lock exclude each other."""

import threading
from collections.abc import Callable

import pytest

from worker.locks import ReadersWriterLock

Eventually = Callable[[Callable[[], bool], float], None]


def test_many_threads_hold_it_as_shared() -> None:
    lock = ReadersWriterLock()
    with lock.shared(), lock.shared():
        pass


def test_exclusive_waits_for_shared_holders_and_keeps_others_out(eventually: Eventually) -> None:
    lock, trace, leave = ReadersWriterLock(), list[str](), threading.Event()

    def exclusive() -> None:
        with lock.exclusive():
            trace.append("exclusive in")
            leave.wait(30)
            trace.append("exclusive out")

    def shared() -> None:
        with lock.shared():
            trace.append("shared")

    with lock.shared():
        first = threading.Thread(target=exclusive)
        first.start()
        eventually(lambda: lock._waiting_exclusive == 1, 30)
        second = threading.Thread(target=shared)
        second.start()
        assert trace == []
    eventually(lambda: trace == ["exclusive in"], 30)
    leave.set()
    first.join()
    second.join()
    assert trace == ["exclusive in", "exclusive out", "shared"]


@pytest.mark.parametrize("kind", ["exclusive", "shared"])
def test_lock_is_released_after_an_error(kind: str) -> None:
    lock = ReadersWriterLock()
    with pytest.raises(ZeroDivisionError), getattr(lock, kind)():
        raise ZeroDivisionError
    with lock.exclusive():
        pass
