"""Sessions in real slots: what an episode costs, what a tree of branches costs, what is left."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from grader.config.sessions import SessionSettings
from grader.config.settings import SandboxChoice, Settings
from grader.model import MiB
from grader.model.errors import SessionLostError
from grader.model.verdict import LimitKind
from grader.sessions.local import Sessions

SETTINGS = Settings(sandbox=SandboxChoice.NATIVE, sessions=SessionSettings(most=2))


@pytest.fixture
def sessions(request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """Sessions in native slots, if they are to be had."""
    request.getfixturevalue("native_sandbox")
    with Sessions(SETTINGS) as sessions:
        yield sessions


def test_thirty_steps_execute_each_cell_once(sessions: Sessions) -> None:
    with sessions.open() as session:
        session.run("import time\nruns = []")
        for number in range(30):
            result = session.run(f"runs.append({number})\ntime.sleep(0.01)\nlen(runs)")
            assert (result.value, result.replayed) == (str(number + 1), False)
        assert session.run("runs == list(range(30))").value == "True"


def test_late_steps_of_an_episode_take_no_longer_than_early_ones(sessions: Sessions) -> None:
    with sessions.open() as session:
        took = []
        for _ in range(30):
            before = time.monotonic()
            session.run("sum(range(200_000))")
            took.append(time.monotonic() - before)
    # The fastest of each: the machine may be busy with other things.
    assert min(took[20:]) < 3 * min(took[:10])


def test_sixty_four_branches_go_on_from_one_state(sessions: Sessions) -> None:
    with sessions.open() as session:
        session.run("base = list(range(1000))")
        branches = [session.fork() for _ in range(64)]
        for number, branch in enumerate(branches):
            branch.run(f"base.append({number})")
        results = [branch.run("base[-1]") for branch in branches]
        assert [result.value for result in results] == [str(number) for number in range(64)]
        assert not any(result.replayed for result in results)
        assert session.run("len(base)").value == "1000"


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("data = bytearray(os.urandom(12 << 20))", id="memory"),
        pytest.param("open('data', 'wb').write(os.urandom(12 << 20))", id="files"),
    ],
)
def test_what_earlier_states_hold_leaves_room_for_the_next_step(
    sessions: Sessions, cell: str
) -> None:
    limits = replace(SETTINGS.limits, memory_bytes=96 * MiB)
    with sessions.open(limits=limits) as session:
        branch = session.fork()
        results = [session.run(f"import os\n{cell}") for _ in range(10)]
        assert [result.problem for result in results] == [None] * 10
        assert session.run("x = bytearray(120 << 20)").limit_hit is LimitKind.MEMORY
        assert branch.run("1").value == "1"
        # What made room can still be gone back to.
        assert session.fork(at=3).run("2").value == "2"


def test_cell_that_imports_pandas_is_kept(sessions: Sessions) -> None:
    with sessions.open() as session:
        # Its allocator is what started a thread.
        result = session.run("import pandas, pyarrow")
        if result.error is not None:
            pytest.skip(result.error.message)
        assert result.problem is None
        assert session.run("pandas.DataFrame({'a': ['x']}).a.str.upper()[0]").value == "'X'"


def test_database_stays_locked_to_no_other_step_than_its_own(sessions: Sessions) -> None:
    with sessions.open() as session:
        opened = session.run(
            "import sqlite3\ndb = sqlite3.connect('d', timeout=1)\n"
            "db.execute('create table t (a)')\ndb.execute('insert into t values (5)')"
        )
        assert opened.error is None
        assert session.run("db.commit()\n[*db.execute('select a from t')]").value == "[(5,)]"
        assert session.fork(at=0).run("open('d')").error is not None


def test_session_outlives_its_slot(
    sessions: Sessions, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    with sessions.open() as session:
        session.run("x = 41")
        held: Any = session._tree._slot_session
        os.kill(held._slot._transport._warden.pid, signal.SIGKILL)
        eventually(lambda: not held._slot.is_alive(), 10.0)
        result = session.run("x + 1")
        assert (result.value, result.replayed) == ("42", True)


@pytest.mark.usefixtures("native_sandbox")
def test_step_under_way_ends_when_the_sessions_are_closed() -> None:
    opened = Sessions(SETTINGS)
    session = opened.open()
    with ThreadPoolExecutor(1) as thread:
        step = thread.submit(session.run, "import time; time.sleep(15)")
        time.sleep(0.3)
        before = time.monotonic()
        opened.close()
        assert time.monotonic() - before < 8
        with pytest.raises(SessionLostError, match="has ended"):
            step.result()


def test_closed_session_leaves_its_slot_as_it_was(sessions: Sessions) -> None:
    with sessions.open() as session:
        session.run("open('left', 'w').close(); import os; os.mkdir('/tmp/left')")
        slot = session._tree._slot_session._slot  # type: ignore[union-attr]
    with sessions.open() as session:
        assert session._tree._slot_session._slot is slot  # type: ignore[union-attr]
        result = session.run("import os; os.listdir('.') + os.listdir('/tmp')")
        assert result.value == "[]"
