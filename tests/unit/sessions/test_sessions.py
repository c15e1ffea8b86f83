"""Sessions in this process: branches, bounds, expiry, and restored states."""

from collections.abc import Callable, Iterator
from typing import Never

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.config.sessions import SessionSettings
from grader.config.settings import Settings
from grader.model.errors import (
    ConfigurationError,
    InputError,
    SandboxUnavailableError,
    SessionLostError,
    SessionsFullError,
)
from grader.sessions.local import Session, Sessions
from tests.fake.backend import FakeSandbox

Make = Callable[..., Sessions]


@pytest.fixture
def make() -> Iterator[Make]:
    """Make sessions over the fake sandbox, with bounds of the test's own."""
    made: list[Sessions] = []

    def new(sandbox: FakeSandbox | None = None, **bounds: float) -> Sessions:
        settings = Settings(sessions=SessionSettings(**bounds))  # type: ignore[arg-type]
        made.append(Sessions(settings, sandbox=sandbox or FakeSandbox()))
        return made[-1]

    yield new
    for sessions in made:
        sessions.close()


def break_slots(sandbox: FakeSandbox) -> None:
    """Break every slot, as the death of an engine does."""
    for slot in sandbox._slots:
        slot.close()


def test_session_keeps_names_and_tells_values(make: Make) -> None:
    with make().open() as session:
        assert session.run("x = 20").value is None
        result = session.run("print('seen')\nx + 1")
        assert (result.value, result.stdout) == ("21", "seen\n")
        assert (result.kept, result.error) == (True, None)
        assert session.steps == 2


def test_exception_is_told_and_kept(make: Make) -> None:
    with make().open() as session:
        result = session.run("x = 1\nx.missing")
        assert result.error is not None
        assert (result.error.type, result.kept) == ("AttributeError", True)
        assert session.run("x").value == "1"


@pytest.mark.parametrize(
    "cell", ["raise ValueError('a\\ud800b')", "type('T\\udc00', (Exception,), {})()"]
)
def test_any_text_of_a_cell_can_be_encoded(make: Make, cell: str) -> None:
    with make().open() as session:
        result = session.run(cell)
        told = [result.value] if result.error is None else [result.error.type, result.error.message]
        assert all(str(text).encode() for text in told)


def test_fork_goes_on_by_itself(make: Make) -> None:
    with make().open() as session:
        session.run("x = []")
        branch = session.fork()
        session.run("x.append(1)")
        branch.run("x.append(2)")
        assert (session.run("x").value, branch.run("x").value) == ("[1]", "[2]")


def test_fork_at_an_earlier_step_has_what_there_was_then(make: Make) -> None:
    with make().open() as session:
        for number in range(4):
            session.run(f"x = {number}")
        assert session.fork(at=2).run("x").value == "1"
        first = session.fork(at=0).run("x").error
        assert first is not None
        assert first.type == "NameError"
        with pytest.raises(InputError, match="has 4 steps"):
            session.fork(at=5)


def test_session_lives_as_long_as_one_of_its_branches(make: Make) -> None:
    sessions = make()
    session = sessions.open()
    branch = session.fork()
    session.close()
    session.close()
    assert sessions.count() == 1
    assert branch.run("1").value == "1"
    branch.close()
    assert sessions.count() == 0
    with pytest.raises(SessionLostError, match="closed"):
        branch.run("1")


def test_there_are_no_more_sessions_than_there_may_be(make: Make) -> None:
    sessions = make(most=2)
    first, _second = sessions.open(), sessions.open()
    with pytest.raises(SessionsFullError) as caught:
        sessions.open()
    assert caught.value.retryable
    first.close()
    sessions.open()


def test_idle_session_expires(
    make: Make, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    sessions = make(idle_s=1.0)
    session = sessions.open()
    eventually(lambda: sessions.count() == 0, 5.0)
    with pytest.raises(SessionLostError, match="expired: it took no step for 1 s"):
        session.run("1")


def test_closed_sessions_open_none(make: Make) -> None:
    sessions = make()
    session = sessions.open()
    sessions.close()
    with pytest.raises(SessionLostError, match="ended"):
        session.run("1")
    with pytest.raises(ConfigurationError):
        sessions.open()


def test_states_beyond_the_bound_are_had_again_by_their_steps(make: Make) -> None:
    with make(states=3).open() as session:
        branches: list[Session] = []
        for number in range(6):
            branches.append(session.fork())
            branches[-1].run(f"x = {number}")
        results = [branch.run("x") for branch in branches]
        assert [result.value for result in results] == [str(number) for number in range(6)]
        assert any(result.replayed for result in results)


def test_session_goes_on_in_another_slot_when_its_own_breaks(make: Make) -> None:
    sandbox = FakeSandbox()
    with make(sandbox).open() as session:
        session.run("x = 1", files={"f": b"given"})
        session.run("x += 1")
        break_slots(sandbox)
        result = session.run("x")
        assert (result.value, result.replayed) == ("2", True)
        assert session.read_files("f") == {"f": b"given"}


def test_slots_that_keep_breaking_are_our_failure(make: Make) -> None:
    class Broken(FakeSandbox):
        def open_slot(self, **_: object) -> Never:
            message = "no engine"
            raise SandboxUnavailableError(message)

    sessions = make(Broken())
    with pytest.raises(SandboxUnavailableError):
        sessions.open()
    assert sessions.count() == 0


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../b", "a//b", "", "x\n"])
def test_path_outside_of_the_work_area_is_refused(make: Make, path: str) -> None:
    with make().open() as session, pytest.raises(InputError, match="must be relative"):
        session.run("1", files={path: b""})


@settings(max_examples=20, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=12),
    states=st.integers(3, 6),
)
def test_any_tree_of_branches_has_what_each_branch_did(
    steps: list[tuple[int, int]], states: int
) -> None:
    bounds = SessionSettings(states=states)
    with Sessions(Settings(sessions=bounds), sandbox=FakeSandbox()) as sessions:
        session = sessions.open()
        session.run("done = []")
        branches, expected = [session], [[]]  # type: tuple[list[Session], list[list[int]]]
        for place, number in steps:
            index = place % len(branches)
            if number == 0:
                branches.append(branches[index].fork())
                expected.append(list(expected[index]))
                continue
            expected[index].append(number)
            branches[index].run(f"done.append({number})")
        found = [branch.run("done").value for branch in branches]
        assert found == [str(done) for done in expected]
