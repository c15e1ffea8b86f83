"""Notebooks of episodes: in a session while there is room, replayed else."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import pytest

from grader.config.sessions import SessionSettings
from grader.config.settings import Settings
from grader.model import Limits
from grader.rewards.agents.notebooks import Notebook, Notebooks
from grader.sandbox.native.backend import NativeSandbox
from tests.fake.backend import FakeSandbox


@pytest.fixture
def make() -> Iterator[Callable[..., Notebooks]]:
    made: list[Notebooks] = []

    def new(most: int = 1, idle_s: float = 600.0, **others: Any) -> Notebooks:
        settings = Settings(sessions=SessionSettings(most=most, idle_s=idle_s), **others)
        made.append(Notebooks(settings, sandbox=FakeSandbox()))
        return made[-1]

    yield new
    for notebooks in made:
        notebooks.close()


def test_cells_share_their_names(make: Callable[..., Notebooks]) -> None:
    notebooks, notebook = make(), Notebook()
    assert notebooks.run(notebook, "x = 4").text == "(no output)"
    assert notebooks.run(notebook, "print('seen')\nx * 2").text == "seen\n8"
    assert notebook.cells == ["x = 4", "print('seen')\nx * 2"]
    notebook.end()


def test_exception_is_told_and_kept(make: Callable[..., Notebooks]) -> None:
    notebooks, notebook = make(), Notebook()
    outcome = notebooks.run(notebook, "x = 1\n1 / 0")
    assert outcome.lives
    assert outcome.text.endswith("ZeroDivisionError: division by zero")
    assert notebooks.run(notebook, "x").text == "1"


def test_cell_that_hits_a_limit_is_not_kept() -> None:
    settings = Settings(limits=Limits(cpu_time_s=0.2))
    notebooks, notebook = Notebooks(settings, sandbox=FakeSandbox()), Notebook()
    outcome = notebooks.run(notebook, "while True: pass")
    assert (outcome.lives, notebook.cells) == (False, [])
    assert "the limit on cpu time was hit" in outcome.text
    notebooks.close()


def test_long_output_is_cut(make: Callable[..., Notebooks]) -> None:
    outcome = make().run(Notebook(), "print('x' * 9000)")
    assert "more was printed" in outcome.text
    assert len(outcome.text) < 2100


def test_notebook_without_room_is_replayed_until_there_is_room(
    make: Callable[..., Notebooks],
) -> None:
    notebooks = make(most=1)
    first, second = Notebook(), Notebook()
    notebooks.run(first, "x = 'first'")
    notebooks.run(second, "x = 'second'")
    assert (first.session is None, second.session is None) == (False, True)
    assert notebooks.run(second, "x").text == "'second'"
    first.end()
    assert notebooks.run(second, "x").text == "'second'"
    assert second.session is not None


def test_replayed_cell_that_hits_a_limit_is_not_kept(make: Callable[..., Notebooks]) -> None:
    notebooks = make(most=1, limits=Limits(cpu_time_s=0.2))
    first, second = Notebook(), Notebook()
    notebooks.run(first, "x = 'first'")
    notebooks.run(second, "x = 'second'")
    outcome = notebooks.run(second, "x = 'third'\nwhile True: pass")
    assert (outcome.lives, second.session) == (False, None)
    assert "the limit on cpu time was hit" in outcome.text
    assert notebooks.run(second, "x").text == "'second'"


def test_replayed_cells_take_turns_in_the_slots(make: Callable[..., Notebooks]) -> None:
    notebooks = make(most=1)
    first = Notebook()
    notebooks.run(first, "x = 'first'")
    others = [Notebook() for _ in range(12)]
    with ThreadPoolExecutor(len(others)) as threads:
        for _ in range(2):
            outcomes = list(threads.map(notebooks.run, others, repeat("print(1)")))
            assert [each.text for each in outcomes] == ["1"] * len(others)
    assert all(each.session is None for each in others)


@pytest.mark.usefixtures("native_sandbox")
def test_replayed_cell_that_ends_its_process_is_not_kept() -> None:
    settings = Settings(sessions=SessionSettings(most=1), slots=1)
    notebooks = Notebooks(settings, sandbox=NativeSandbox(settings))
    first, second = Notebook(), Notebook()
    try:
        notebooks.run(first, "x = 'first'")
        notebooks.run(second, "x = 'second'")
        for end in ("import os; os._exit(42)", "import os, signal; os.kill(os.getpid(), 9)"):
            outcome = notebooks.run(second, end)
            assert (outcome.lives, second.session) == (False, None), outcome
        assert notebooks.run(second, "raise SystemExit(1)").text.endswith("SystemExit: 1")
        assert notebooks.run(second, "x").text == "'second'"
    finally:
        notebooks.close()


def test_notebook_whose_session_has_expired_goes_on(
    make: Callable[..., Notebooks], eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    notebooks, notebook = make(idle_s=1.0), Notebook()
    notebooks.run(notebook, "x = 5")
    session = notebook.session
    assert session is not None
    eventually(lambda: not session.is_open, 5.0)
    assert notebooks.run(notebook, "x").text == "5"


def test_end_frees_the_session(make: Callable[..., Notebooks]) -> None:
    notebooks, notebook = make(), Notebook()
    notebooks.run(notebook, "x = 1")
    notebook.end()
    notebook.end()
    assert notebooks._sessions.count() == 0
