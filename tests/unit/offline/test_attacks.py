"""Attacks: that they load for every style of suite, and do what their name says."""

import subprocess
import sys
from typing import Any

import pytest

from grader.model import (
    CallCase,
    CallTests,
    InteractiveTests,
    Interactor,
    PytestTests,
    ScriptCase,
    ScriptTests,
    StdinCase,
    StdinTests,
    SuiteFile,
    Tests,
    TestSuite,
)
from grader.offline.attacks import Attack, attacks_on
from tests.factories import make_suite

REFERENCE = """
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

class Deep(Stack):
    pass

class StackError(ValueError):
    pass

def total(numbers):
    return sum(numbers)
"""


def pytest_suite(source: str) -> PytestTests:
    file = SuiteFile(path="test_it.py", content=source.encode())
    return PytestTests(files=(file,), test_paths=("test_it.py",))


STDIN = StdinTests(cases=(StdinCase(id="0", stdin="1\n", expected="7\n"),))
CALL = CallTests(entry_point="total", cases=(CallCase(id="0", args=([1],), expected=7),))
METHOD = CallTests(entry_point="Solution.total", cases=CALL.cases)
SCRIPT = ScriptTests(
    cases=(
        ScriptCase(id="0", source="assert total([3, 4]) == 7\nDeep().push(1)\nStack"),
        ScriptCase(id="1", source="try:\n    total(None)\nexcept StackError:\n    pass"),
    )
)
PYTEST = pytest_suite(
    "import pytest, solution\nfrom solution import Stack, Deep, StackError\n"
    "def test_it():\n    assert solution.total([3, 4]) == 7\n    Deep().push(Stack())\n"
    "    with pytest.raises(StackError):\n        solution.total(None)\n"
)
STYLES: dict[str, tuple[Tests, set[str]]] = {
    "call": (CALL, {"total"}),
    "method": (METHOD, {"Solution"}),
    "script": (SCRIPT, {"total", "Stack", "Deep", "StackError"}),
    "pytest": (PYTEST, {"total", "Stack", "Deep", "StackError"}),
}


def load(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "solution"}
    exec(compile(source, "solution.py", "exec"), namespace)  # noqa: S102 - attacks of ours
    return namespace


def suite_of(tests: Tests, reference: str | None = None) -> TestSuite:
    return make_suite(tests, reference=reference, entry_point=None)


@pytest.mark.parametrize("reference", [None, REFERENCE])
@pytest.mark.parametrize("style", STYLES)
def test_attacks_define_what_the_suite_uses(style: str, reference: str | None) -> None:
    tests, names = STYLES[style]
    if style == "method":
        reference = reference and f"class Solution:\n    def total(self, numbers):\n{' ' * 8}pass"
    made = attacks_on(suite_of(tests, reference))
    assert list(made) == list(Attack)
    for attack, source in made.items():
        compile(source, attack, "exec")
        if attack not in (Attack.EMPTY, Attack.EXITING_ON_LOAD):
            assert names <= load(source).keys(), attack


@pytest.mark.parametrize("reference", [None, REFERENCE])
def test_attack_does_what_it_says(reference: str | None) -> None:
    made = attacks_on(suite_of(PYTEST, reference))
    loaded = {
        attack: load(source)
        for attack, source in made.items()
        if attack not in (Attack.EMPTY, Attack.EXITING_ON_LOAD)
    }
    answers = {
        attack: space["total"]
        for attack, space in loaded.items()
        if attack not in (Attack.RAISING, Attack.EXITING)
    }
    given = [1, 2]
    assert answers[Attack.NONE](given) is None
    assert answers[Attack.ODD](given) not in (None, True, 1, "", [], object())
    assert answers[Attack.EMPTY_LIST](given) == []
    assert answers[Attack.EMPTY_TEXT](given) == ""
    assert answers[Attack.ZERO](given) == 0
    assert answers[Attack.TRUE](given) is True
    assert answers[Attack.USUAL_ANSWER](given) == 7
    assert answers[Attack.ARGUMENT](given) is given
    assert answers[Attack.ARGUMENT_WRAPPED](given) == [[1, 2]]
    assert answers[Attack.ARGUMENT_CLEARED](given) is given
    assert given == []
    assert answers[Attack.ALWAYS_EQUAL](given) == 123
    assert loaded[Attack.ALWAYS_EQUAL]["Deep"]() == 123

    anything = answers[Attack.ABSORBING](given)
    assert anything.some.attribute(1, key=2)["x"] + 1 - 2 == 5
    assert 3 in anything
    assert [*anything] == []
    assert 1 < abs(-anything) < 9
    assert f"{anything}" == ""
    assert loaded[Attack.ABSORBING]["Deep"]().push(1) == loaded[Attack.ABSORBING]["Deep"].RED

    with answers[Attack.SWALLOWING](given), loaded[Attack.SWALLOWING]["Deep"]().lock():
        raise AssertionError
    assert answers[Attack.SWALLOWING](given) != 7

    with pytest.raises(loaded[Attack.RAISING]["StackError"]):
        loaded[Attack.RAISING]["Deep"]().push(1)
    with pytest.raises(SystemExit):
        loaded[Attack.EXITING]["total"](given)


@pytest.mark.parametrize(
    ("attack", "printed", "code"),
    [
        (Attack.NONE, "", 0),
        (Attack.ZERO, "0\n", 0),
        (Attack.ARGUMENT, "1\n2\n", 0),
        (Attack.USUAL_ANSWER, "7\n", 0),
        (Attack.RAISING, "", 1),
        (Attack.EXITING_ON_LOAD, "", 0),
    ],
)
def test_programs_print_what_they_say(attack: Attack, printed: str, code: int) -> None:
    source = attacks_on(suite_of(STDIN))[attack]
    done = subprocess.run(
        [sys.executable, "-c", source], input="1\n2\n", capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == (printed, code)


def test_interactive_problems_are_attacked_by_programs() -> None:
    tests = InteractiveTests(cases=STDIN.cases, interactor=Interactor(source=""))
    assert attacks_on(suite_of(tests)).keys() == attacks_on(suite_of(STDIN)).keys()


@pytest.mark.parametrize(
    ("tests", "answer"),
    [
        (ScriptTests(cases=(ScriptCase(id="0", source="assert f(1) == -2"),)), "return -2"),
        (
            pytest_suite(
                "import solution as s\nclass T:\n def t(_): _.assertEqual(s.f(), (1, 'a'))"
            ),
            "return (1, 'a')",
        ),
        (ScriptTests(cases=(ScriptCase(id="0", source="assert f(1) == g(2)"),)), None),
        (CallTests(entry_point="f", cases=(CallCase(id="0", expected=float("nan")),)), None),
        (CallTests(entry_point="f", cases=(CallCase(id="0", expected=10**5000),)), None),
        (StdinTests(cases=(StdinCase(id="0", stdin="", expected="x" * 20_000),)), None),
    ],
)
def test_usual_answer_is_a_literal_of_a_bounded_size(tests: Tests, answer: str | None) -> None:
    source = attacks_on(suite_of(tests)).get(Attack.USUAL_ANSWER)
    assert (source is None) == (answer is None)
    assert answer is None or answer in (source or "")


@pytest.mark.parametrize(
    ("source", "raised"),
    [
        ("import pytest, solution as s\nwith pytest.raises(KeyError):\n    s.f()", KeyError),
        ("from solution import f\ntry:\n    f()\nexcept IndexError:\n    pass", IndexError),
        ("from solution import f\nself.assertRaises(TypeError, f)", TypeError),
        ("from solution import f\nf()", ValueError),
    ],
)
def test_what_is_raised_is_what_the_tests_wait_for(source: str, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        load(attacks_on(suite_of(pytest_suite(source)))[Attack.RAISING])["f"]()


def test_only_those_that_are_asked_for_are_made() -> None:
    only = (Attack.ODD, Attack.NONE)
    assert tuple(attacks_on(suite_of(CALL, REFERENCE), only=only)) == only


def test_attacks_that_come_to_the_same_are_made_once() -> None:
    made = attacks_on(suite_of(CALL, "def total(): return 7"))
    assert Attack.ARGUMENT not in made  # without one, it returns None
    assert len(set(made.values())) == len(made)


@pytest.mark.parametrize("source", ["def (", "assert True", "\0", "(" * 10_000])
def test_suite_without_a_name_is_attacked_by_what_needs_none(source: str) -> None:
    made = attacks_on(suite_of(pytest_suite(source)))
    assert list(made) == [Attack.EXITING_ON_LOAD, Attack.EMPTY]
