"""The pool of processes that are each asked one question at a time."""

import multiprocessing
import queue
from collections.abc import Iterator

import pytest

from grader.process.child import Child
from grader.process.children import ChildPool

_ECHO = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)"


class Echo(Child):
    """Answers each line with the same line."""

    def __init__(self) -> None:
        super().__init__("-c", _ECHO)

    def ask(self, text: str) -> str:
        self.stdin.write(f"{text}\n".encode())
        self.stdin.flush()
        return self.stdout.readline().decode().strip()


@pytest.fixture
def pool() -> Iterator[ChildPool[Echo]]:
    pool = ChildPool(Echo, processes=1)
    yield pool
    pool.close()


def test_process_is_kept_until_a_question_fails(pool: ChildPool[Echo]) -> None:
    with pool.seat() as seat:
        assert seat.process is None
        first = seat.started()
        assert first.ask("a") == "a"
    with pool.seat() as seat:
        assert seat.started() is first
    with pytest.raises(ZeroDivisionError), pool.seat():
        _ = 1 / 0
    with pool.seat() as seat:
        assert seat.process is None
        assert seat.started().ask("b") == "b"
    assert first.end() < 0


def test_no_more_processes_run_than_there_are_places(pool: ChildPool[Echo]) -> None:
    with pool.seat(), pytest.raises(queue.Empty), pool.seat(timeout_s=0.01):
        pass
    with pool.seat(timeout_s=0.01):
        pass


def test_closed_pool_has_no_living_process(pool: ChildPool[Echo]) -> None:
    with pool.seat() as seat:
        asked = seat.started()
        pool.close()
        assert asked.stdout.read() == b""
        assert seat.end() < 0
        late = seat.started()
        assert late.stdout.read() == b""
    pool.close()
    assert late.end() < 0


def test_fork_leaves_the_processes_of_its_parent_alone(pool: ChildPool[Echo]) -> None:
    with pool.seat() as seat:
        process = seat.started()
    fork = multiprocessing.get_context("fork").Process(target=pool.close)
    fork.start()
    fork.join()
    assert fork.exitcode == 0
    assert process.ask("a") == "a"
