"""The pool of threads that do not delay the exit of the interpreter."""

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from itertools import count

import pytest

from grader.process.request_id import caller
from grader.process.threads import Threads


def test_pool_returns_results_and_raises_errors() -> None:
    pool = Threads(2, "test")
    assert pool.submit(pow, 2, exp=5).result(10) == 32
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result(10)
    pool.shutdown()


def test_pool_runs_as_many_calls_at_once_as_it_may_and_no_more() -> None:
    pool, running, most = Threads(4, "test"), 0, 0
    lock, together = threading.Lock(), threading.Barrier(4)

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(10)
        with lock:
            running -= 1

    for future in [pool.submit(call) for _ in range(40)]:
        future.result(10)
    assert most == 4
    pool.shutdown()


def test_pool_starts_no_second_thread_while_the_first_is_idle() -> None:
    pool = Threads(8, "test")
    names = set()
    for _ in range(50):
        names.add(pool.submit(lambda: threading.current_thread().name).result(10))
        # The thread has to come back from its call before the next one is submitted.
        while not pool._idle:
            time.sleep(0.001)
    assert names == {"test-0"}
    pool.shutdown()


def wait(begun: threading.Event, go: threading.Event) -> bool:
    begun.set()
    return go.wait(10)


def test_calls_of_different_callers_take_turns() -> None:
    pool, begins, order = Threads(1, "test"), threading.Event(), list[str]()
    pool.submit(begins.wait, 10)
    for name in ("many", "many", "many", "one", "two", "two"):
        token = caller.set(name)
        pool.submit(order.append, name)
        caller.reset(token)
    begins.set()
    pool.shutdown(wait=True)
    assert order == ["many", "one", "two", "many", "two", "many"]


def test_shut_down_pool_runs_or_cancels_queued_calls() -> None:
    for is_cancelled in (False, True):
        pool, numbers = Threads(1, "test"), count()
        begun, go = threading.Event(), threading.Event()
        first = pool.submit(wait, begun, go)
        begun.wait(10)
        queued = [pool.submit(next, numbers) for _ in range(5)]
        pool.shutdown(wait=False, cancel_futures=is_cancelled)
        go.set()
        pool.shutdown()
        assert first.result(0)
        if is_cancelled:
            assert all(future.cancelled() for future in queued)
            with pytest.raises(CancelledError):
                queued[0].result(0)
        else:
            assert [future.result(0) for future in queued] == [0, 1, 2, 3, 4]
        with pytest.raises(RuntimeError, match="shut down"):
            pool.submit(pow, 1, 1)


def test_interpreter_ends_while_calls_run_and_others_are_queued() -> None:
    program = """
import time
from grader.process.threads import Threads
pool = Threads(2, "test")
for _ in range(10):
    pool.submit(time.sleep, 60)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=30, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
