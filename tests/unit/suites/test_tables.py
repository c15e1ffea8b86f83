"""Test programs that are tables become calls, and only these do."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import CallTests, Comparator, ScriptTests
from grader.suites import parse_label
from grader.suites.tables import calls_of
from tests.unit.suites.running import run_suite

HELPERS = """\
import numpy as np

def is_floats(x) -> bool:
    # a comment makes no difference
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64 or x.dtype == np.float32
    return False


def assertion(out, exp, atol):
    exact_match = out == exp

    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact_match and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert exact_match

"""
LOOP = "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"


def checking(inputs: str, results: str, compare: str = "assertion(candidate(*inp), exp, 0)") -> str:
    lists = f"    inputs = {inputs}\n    results = {results}\n"
    return f"{HELPERS}def check(candidate):\n{lists}{LOOP}        {compare}\n"


def test_table_becomes_calls_in_one_run() -> None:
    found = calls_of(checking("[[2], [(1, 'a')]]", "[4, None]"), "double")
    assert found is not None
    assert found.in_one_run
    assert found.entry_point == "double"
    assert [(case.args, case.expected) for case in found.cases] == [
        ((2,), 4),
        (((1, "a"),), None),
    ]
    comparison = found.comparison
    assert (comparison.comparator, comparison.abs_tol) == (Comparator.ALLCLOSE, 0.0)
    assert comparison.rel_tol == 1e-7


def test_tolerance_of_the_table_is_kept() -> None:
    program = checking("[[2]]", "[4.0]", "assertion(candidate(*inp), exp, 1e-06)")
    found = calls_of(program, "double")
    assert found is not None
    assert found.comparison.abs_tol == 1e-6


def test_plain_equality_is_exact() -> None:
    found = calls_of(checking("[[2]]", "[4.0]", "assert candidate(*inp) == exp"), "double")
    assert found is not None
    assert found.comparison.comparator is Comparator.EXACT


def test_table_at_the_top_of_a_program_calls_the_function_itself() -> None:
    program = (
        f"{HELPERS}from math import inf\n"
        "inputs = [[1], [2]]\nresults = [inf, -inf]\n"
        "for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        "    assertion(double(*inp), exp, 0)\n"
    )
    found = calls_of(program, "double")
    assert found is not None
    assert [case.expected for case in found.cases] == [float("inf"), float("-inf")]
    assert calls_of(program, "triple") is None


PROGRAM = checking("[[2], [3]]", "[4, 6]")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(PROGRAM.replace("[4, 6]", "[4]"), id="more inputs than results"),
        pytest.param(PROGRAM.replace("[[2], [3]]", "[2, 3]"), id="inputs are not lists"),
        pytest.param(PROGRAM.replace("[[2], [3]]", "[]").replace("[4, 6]", "[]"), id="no case"),
        pytest.param(PROGRAM.replace("[4, 6]", "[4, two()]"), id="result is not a literal"),
        pytest.param(
            PROGRAM.replace("exp, 0)", "exp, tolerance)"), id="tolerance is not a literal"
        ),
        pytest.param(PROGRAM.replace("candidate(*inp)", "candidate(inp)"), id="other call"),
        pytest.param(PROGRAM.replace("candidate(*inp)", "f(candidate(*inp))"), id="more of a call"),
        pytest.param(PROGRAM.replace("1e-07", "1e-03"), id="other helper"),
        pytest.param(PROGRAM.replace("assert exact_match", "pass"), id="helper that passes"),
        pytest.param(PROGRAM + "\nassert double(1) == 2\n", id="more asserts"),
        pytest.param(PROGRAM + "\nprint('done')\n", id="more statements"),
        pytest.param("import random\n" + PROGRAM, id="other imports"),
        pytest.param(PROGRAM.replace("def check", "@cache\ndef check"), id="decorated"),
        pytest.param(PROGRAM + "        break\n", id="loop that ends early"),
        pytest.param(PROGRAM + "    else:\n        pass\n", id="loop with else"),
        pytest.param(PROGRAM + PROGRAM, id="two tables"),
        pytest.param(PROGRAM.replace("def check(candidate)", "def check(f, candidate)"), id="args"),
        pytest.param(PROGRAM.replace("    inputs", "    if True:\n        inputs"), id="branch"),
        pytest.param("def check(candidate:", id="no Python"),
    ],
)
def test_program_that_may_do_more_than_a_table_stays_a_program(program: str) -> None:
    assert calls_of(program, "double") is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        | st.frozensets(st.integers(), min_size=1, max_size=3).map(set)
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.lists(VALUES, max_size=3), VALUES), min_size=1, max_size=4))
def test_values_of_a_table_arrive_as_they_were_written(
    rows: list[tuple[list[object], object]],
) -> None:
    inputs, results = [arguments for arguments, _ in rows], [result for _, result in rows]
    found = calls_of(checking(repr(inputs), repr(results)), "f")
    assert found is not None
    assert [list(case.args) for case in found.cases] == inputs
    assert [case.expected for case in found.cases] == results


def test_evalplus_rows_are_calls_if_they_are_tables_and_else_scripts() -> None:
    row = {"prompt": "def double(n):\n", "entry_point": "double", "canonical_solution": "    ..."}
    assert isinstance(parse_label({**row, "test": PROGRAM}).tests, CallTests)
    more = PROGRAM.replace("import numpy as np", "import numpy as np\nimport math")
    assert isinstance(parse_label({**row, "test": more}).tests, ScriptTests)
    plus = {"code": "def double(n): ...", "test_list": ["assert double(2) == 4"]}
    body = "inputs = [[2]]\nresults = [4]\nfor inp, exp in zip(inputs, results):\n"
    program = f"{HELPERS}{body}    assertion(double(*inp), exp, 0)\n"
    assert isinstance(parse_label({**plus, "test": program}).tests, CallTests)


def test_reference_in_a_program_is_called_before_the_submission(tmp_path: Path) -> None:
    program = (
        "def assertion(out, exp, atol):\n    assert out == exp\n\n"
        "def ref_func(items):\n    return dict.fromkeys(items)\n\n"
        "inputs = [[[1, 2]]]\n"
        "for i, inp in enumerate(inputs):\n"
        "    assertion(unique(*inp), ref_func(*inp), 0)\n"
    )
    row = {"code": "def unique(items): ...", "test_list": ["assert unique([1]) == {1: None}"]}
    suite = parse_label({**row, "test": program})
    honest = "def unique(items):\n    return dict.fromkeys(items)\n"
    emptying = "def unique(items):\n    items.clear()\n    return {}\n"
    assert run_suite(suite, honest, tmp_path) == [True]
    assert run_suite(suite, emptying, tmp_path) == [False]


def test_helpers_are_known_by_what_they_do_and_not_by_their_layout() -> None:
    tidy = ast.unparse(ast.parse(PROGRAM))
    assert calls_of(tidy, "double") == calls_of(PROGRAM, "double") is not None
