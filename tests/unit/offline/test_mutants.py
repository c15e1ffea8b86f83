"""Mutants: what is changed, what is not, and that they always parse."""

import ast
import bisect
import difflib
import fractions
import heapq
import inspect
import string
import textwrap
from types import ModuleType

import pytest

from grader.offline.mutants import mutants_of

ALL = 10_000


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants_of(source, ALL)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b <= c", {("a < b <= c", "a <= b <= c"), ("a < b <= c", "a < b < c")}),
        ("x = a + b", {("a + b", "a - b")}),
        ("x -= y", {("x -= y", "x += y")}),
        ("x = a and b", {("a and b", "a or b")}),
        ("x = not a", {("not a", "a")}),
        ("x = 3", {("3", "4")}),
        ("x = 1e400", {("1e309", "0")}),
        ("x = True", {("True", "False")}),
        ("x = 'word', ''", {("'word'", "''"), ("''", "'x'")}),
        ("x = b'word'", {("b'word'", "b''")}),
        ("if a:\n    pass", {("if a: pass", "if not a: pass")}),
        (
            "while f(a):\n    break",
            {("while f(a): break", "while not f(a): break"), ("break", "pass")},
        ),
        ("def f(x):\n    return x", {("return x", "return None")}),
        ("items.append(x)", {("items.append(x)", "pass")}),
        ("raise KeyError", {("raise KeyError", "pass")}),
        ("x = max(a, b)", {("max(a, b)", "min(a, b)")}),
    ],
)
def test_what_is_changed(source: str, expected: set[tuple[str, str]]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Says what it is."""',
        'def f(x: "int" = None) -> "list[int]":\n    """Say 1 < 2."""',
        "import os\nfrom math import pi",
        "x: Annotated[int, 3]",
        "x = f'{a!r} and'",
        "@cache(maxsize=3)\ndef f():\n    pass",
        "def f(:",
        "\0",
        "(" * 10_000,
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert mutants_of(source, ALL) == []


def test_program_is_changed_under_its_guard_but_the_guard_is_not() -> None:
    source = "if __name__ == '__main__':\n    x = 1\n"
    assert changes(source) == {("1", "2")}


@pytest.mark.parametrize("module", [bisect, difflib, fractions, heapq, string, textwrap])
def test_every_mutant_of_real_code_is_a_program_with_one_change(module: ModuleType) -> None:
    source = inspect.getsource(module)
    original = ast.unparse(ast.parse(source)) + "\n"
    lines = source.splitlines()
    made = mutants_of(source, 40)
    assert len(made) >= 10
    for mutant in made:
        compile(mutant.source, "mutant", "exec")
        assert mutant.source != original
        assert 1 <= mutant.line <= len(lines)
        before, after = original.splitlines(), mutant.source.splitlines()
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        assert len([code for code in matcher.get_opcodes() if code[0] != "equal"]) == 1


def test_mutants_are_the_same_each_time_and_spread_over_the_source() -> None:
    source = inspect.getsource(textwrap)
    few = mutants_of(source, 5)
    assert few == mutants_of(source, 5)
    assert len(few) == 5
    lines = [mutant.line for mutant in few]
    assert lines == sorted(lines)
    assert lines[-1] - lines[0] > len(source.splitlines()) / 2


def test_none_is_made_where_none_is_wanted() -> None:
    assert mutants_of("x = 1", 0) == []
