"""Sessions: what one step leaves for the next, and what it cannot take from it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.model import SuiteFile
from grader.model.errors import InputError, SessionLostError
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Slot, SlotSession, StepOutcome
from tests.contract.conftest import LIMITS, make_batch, run_one

STATES = 16
IMPORT = "from pathlib import Path; "


@pytest.fixture
def session(slot: Slot) -> Iterator[SlotSession]:
    """A session in the slot of the module, which is free again afterwards."""
    session = slot.open_session(LIMITS, states=STATES)
    yield session
    session.close()
    assert run_one(slot, make_batch("print('free')")).stdout == b"free\n"


def take(session: SlotSession, state: int, cell: str, **limits: Any) -> StepOutcome:
    return session.step(state, IMPORT + cell, limits=replace(LIMITS, **limits))


def go(session: SlotSession, *cells: str, start: int = 0) -> int:
    """Take steps one after another, and return the state that they lead to."""
    for cell in cells:
        outcome = take(session, start, cell)
        assert outcome.state is not None, outcome
        start = outcome.state
    return start


def value(session: SlotSession, state: int, cell: str) -> str:
    """Return the value that a cell has in a state."""
    outcome = take(session, state, cell)
    assert outcome.run is not None, outcome
    events = [json.loads(line) for line in outcome.run.report.splitlines()]
    (found,) = (event["text"] for event in events if event["e"] == "value")
    if outcome.state is not None:
        session.drop([outcome.state])
    return str(found)


# ---------------------------------------------------------------- what lives on


def test_names_and_modules_live_on(session: SlotSession) -> None:
    state = go(session, "import math\nx = 2", "\ndef f(y): return math.sqrt(x * y)", "x = 8")
    assert value(session, state, "f(2)") == "4.0"


def test_output_is_that_of_the_step_alone(session: SlotSession) -> None:
    first = take(session, 0, "import sys\nprint('one')\nprint('other', file=sys.stderr)")
    assert first.run is not None
    assert first.state is not None
    assert (first.run.stdout, first.run.stderr) == (b"one\n", b"other\n")
    second = take(session, first.state, "print('two')")
    assert second.run is not None
    assert (second.run.stdout, second.run.stderr) == (b"two\n", b"")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        pytest.param("1\n2", "2", id="last-line"),
        pytest.param("x = 1\nx", "1", id="after-statements"),
        pytest.param("'text'", "'text'", id="repr"),
    ],
)
def test_value_of_the_last_line_is_reported(session: SlotSession, cell: str, shown: str) -> None:
    assert value(session, 0, cell) == shown


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("x = 1", id="statement"),
        pytest.param("None", id="none"),
        pytest.param("1;", id="semicolon"),
        pytest.param("", id="empty"),
        pytest.param("# nothing", id="comment"),
    ],
)
def test_cell_without_a_value_reports_none(session: SlotSession, cell: str) -> None:
    outcome = take(session, 0, cell)
    assert outcome.run is not None
    assert (outcome.run.report, outcome.problem) == (b"", None)


def test_exception_is_told_with_the_lines_of_the_cell_and_the_state_goes_on(
    session: SlotSession,
) -> None:
    outcome = take(session, 0, "x = 7\ndef f():\n    return 1 / 0\nf()")
    assert outcome.run is not None
    assert outcome.state is not None
    told = json.loads(outcome.run.report)
    assert (told["e"], told["type"]) == ("exception", "ZeroDivisionError")
    assert [line for line in told["traceback"].splitlines() if "File" in line] == [
        '  File "<cell 1>", line 4, in <module>',
        '  File "<cell 1>", line 3, in f',
    ]
    assert "return 1 / 0" in told["traceback"]
    assert value(session, outcome.state, "x") == "7"


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        pytest.param("x = (", "SyntaxError", id="syntax"),
        pytest.param("raise SystemExit(3)", "SystemExit", id="exit"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt", id="interrupt"),
        pytest.param("input()", "EOFError", id="input"),
    ],
)
def test_what_a_cell_raises_does_not_end_the_session(
    session: SlotSession, cell: str, kind: str
) -> None:
    outcome = take(session, 0, cell)
    assert outcome.run is not None
    assert outcome.state is not None
    assert json.loads(outcome.run.report)["type"] == kind


def test_await_at_the_top_of_a_cell_works(session: SlotSession) -> None:
    cell = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nawait f()"
    assert value(session, 0, cell) == "5"


def test_files_live_on_and_can_be_read(session: SlotSession) -> None:
    state = go(session, "Path('a.txt').write_text('hello')", "import os; os.mkdir('d')")
    state = go(session, "Path('d/b').write_bytes(bytes(3))", start=state)
    assert session.list_files(state) == {"a.txt": 5, "d/b": 3}
    assert session.read_files(state, ["a.txt", "d/b", "d", "none"]) == {
        "a.txt": b"hello",
        "d/b": bytes(3),
    }


def test_files_are_put_before_the_cell(session: SlotSession) -> None:
    outcome = session.step(
        0,
        IMPORT + "Path('in/data').read_text()",
        limits=LIMITS,
        files=[SuiteFile(path="in/data", content=b"given")],
    )
    assert outcome.run is not None
    assert outcome.state is not None
    assert json.loads(outcome.run.report)["text"] == "'given'"
    assert value(session, outcome.state, "Path('in/data').read_text()") == "'given'"
    assert session.list_files(0) == {}


# ---------------------------------------------------------------- branches


def test_branches_do_not_see_each_other(session: SlotSession) -> None:
    base = go(session, "names = ['base']\nPath('f').write_text('base')")
    left = go(session, "names.append('left')\nPath('f').write_text('left')", start=base)
    right = go(session, "names.append('right')\nPath('g').write_text('right')", start=base)
    look = "names, {n: Path(n).read_text() for n in sorted(__import__('os').listdir('.'))}"
    assert value(session, left, look) == "(['base', 'left'], {'f': 'left'})"
    assert value(session, right, look) == "(['base', 'right'], {'f': 'base', 'g': 'right'})"
    assert value(session, base, look) == "(['base'], {'f': 'base'})"


def test_state_that_was_dropped_is_gone(session: SlotSession) -> None:
    state = go(session, "x = 1")
    session.drop([state, 99])
    outcome = take(session, state, "x")
    assert (outcome.state, outcome.run, outcome.is_gone) == (None, None, True)
    with pytest.raises(InputError, match="gone"):
        session.read_files(state, ["f"])


def test_there_are_no_more_states_than_the_session_may_have(session: SlotSession) -> None:
    states = [go(session, "pass") for _ in range(STATES - 1)]
    outcome = take(session, 0, "pass")
    assert outcome.state is None
    assert "16 states" in str(outcome.problem)
    session.drop(states[:1])
    assert take(session, 0, "pass").state is not None


def test_session_that_is_closed_takes_no_step(slot: Slot) -> None:
    session = slot.open_session(LIMITS, states=STATES)
    session.close()
    session.close()
    session.drop([0])
    with pytest.raises(SessionLostError):
        take(session, 0, "1")


# ---------------------------------------------------------------- limits


def test_step_that_takes_too_long_leaves_the_state_before(session: SlotSession) -> None:
    state = go(session, "x = 1\nPath('f').write_text('kept')")
    cell = "x = 2\nPath('f').write_text('lost')\nwhile True: pass"
    outcome = take(session, state, cell, cpu_time_s=0.3)
    assert outcome.run is not None
    assert (outcome.state, outcome.run.limit_hit) == (None, LimitKind.CPU_TIME)
    assert value(session, state, "x, Path('f').read_text()") == "(1, 'kept')"


@pytest.mark.usefixtures("isolated")
def test_sleep_hits_the_limit_on_wall_time(session: SlotSession) -> None:
    outcome = take(session, 0, "import time; time.sleep(60)", wall_time_s=0.3)
    assert outcome.run is not None
    assert (outcome.state, outcome.run.limit_hit) == (None, LimitKind.WALL_TIME)


@pytest.mark.usefixtures("isolated")
def test_memory_is_limited_for_all_states_together(session: SlotSession) -> None:
    most = LIMITS.memory_bytes
    state = go(session, f"a = bytearray({most // 2})")
    outcome = take(session, state, f"b = bytearray({most * 2 // 3})")
    assert outcome.run is not None
    assert (outcome.state, outcome.run.limit_hit) == (None, LimitKind.MEMORY)
    assert value(session, state, "len(a)") == str(most // 2)


def test_output_beyond_the_limit_is_dropped_and_the_state_kept(session: SlotSession) -> None:
    outcome = take(session, 0, "x = 3\nprint('y' * 100)", output_bytes=10)
    assert outcome.run is not None
    assert outcome.state is not None
    assert (outcome.run.stdout, outcome.run.limit_hit) == (b"y" * 10, LimitKind.OUTPUT)
    assert outcome.run.dropped_bytes == 91
    assert value(session, outcome.state, "x") == "3"


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        pytest.param("import os; os._exit(3)", "exit code 3", id="exit"),
        pytest.param("import os; os.kill(os.getpid(), 11)", "signal 11", id="signal"),
        pytest.param("import os; os.abort()", "signal 6", id="abort"),
        pytest.param(
            "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
            "left threads running (1)",
            id="thread",
        ),
    ],
)
@pytest.mark.usefixtures("isolated")
def test_step_that_leaves_no_process_to_fork_leaves_the_state_before(
    session: SlotSession, cell: str, problem: str
) -> None:
    state = go(session, "x = 1")
    outcome = take(session, state, f"x = 2\n{cell}")
    assert outcome.state is None
    assert problem in str(outcome.problem)
    assert value(session, state, "x") == "1"


@pytest.mark.usefixtures("isolated")
def test_thread_that_ends_with_the_cell_is_no_hindrance(session: SlotSession) -> None:
    cell = """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    squares = list(pool.map(lambda n: n * n, range(4)))
"""
    assert value(session, go(session, cell), "squares") == "[0, 1, 4, 9]"


@pytest.mark.usefixtures("isolated")
def test_process_that_a_cell_leaves_running_is_ended(session: SlotSession) -> None:
    state = go(session, "import subprocess\np = subprocess.Popen(['sleep', '600'])")
    cell = "import os\n[n for n in os.listdir('/proc') if n.isdigit() and n == str(p.pid)]"
    assert value(session, state, cell) == "[]"


@pytest.mark.usefixtures("isolated")
def test_random_numbers_go_on_as_in_one_process(session: SlotSession) -> None:
    state = go(session, "import random; random.seed(5); random.random()")
    expected = "import random\nr = random.Random(5)\nr.random()\nr.random()"
    assert value(session, state, "random.random()") == value(session, 0, expected)


@pytest.mark.usefixtures("isolated")
def test_alarm_that_a_cell_sets_does_not_end_the_state(session: SlotSession) -> None:
    cell = """
x = 1
import signal
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.05)
"""
    state = go(session, cell)
    assert value(session, state, "import time; time.sleep(0.2); x") == "1"
    assert value(session, state, "x") == "1"


@pytest.mark.usefixtures("isolated")
def test_alarm_at_the_end_of_a_cell_does_not_end_the_state(session: SlotSession) -> None:
    for delay_us in range(5, 255, 5):
        cell = f"""
import signal
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, {delay_us}e-6)
"""
        session.drop([go(session, cell)])
