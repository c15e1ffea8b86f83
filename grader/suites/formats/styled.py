"""Rows that name one of four styles of `tests`; the red-team corpus has them.

Recognised by `style, tests`. `pytest` and `assert`: test source. `stdin_stdout`: a list of
{input, output}. `function_call`: {entry_point, cases: [{args, expected}], float_tol?}.

Stdout is compared by lines, as the corpus says; blanks at line ends and a missing last newline do
not matter. Returned values are compared by `==` or, if `float_tol` is given, within that relative
or absolute tolerance.
"""

from collections.abc import Mapping
from dataclasses import replace

from grader.model import CallCase, CallTests, Comparator, Comparison, TestSuite
from grader.model.errors import LabelError
from grader.suites import fields
from grader.suites.cases import pairs_of_items, require_cases, stdin_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.plain import pytest_suite, suite_of


def read(row: Row) -> TestSuite:
    """Turn a row with a style into its suite.

    Raises:
        LabelError: The style is unknown.
    """
    style = fields.text(row, "style")
    match style:
        case "pytest":
            suite = pytest_suite(fields.text(row, "tests"))
        case "assert":
            suite = suite_of(fields.text(row, "tests"))
        case "stdin_stdout":
            found = pairs_of_items(fields.items(row, "tests"))
            lines = Comparison(comparator=Comparator.LINES)
            suite = TestSuite(tests=stdin_tests(found, lines), format="styled")
        case "function_call":
            suite = _call_suite(fields.mapping(row, "tests"))
        case _:
            message = f"unknown style {style!r}; known: pytest, assert, stdin_stdout, function_call"
            raise LabelError(message)
    return replace(
        suite,
        format="styled",
        problem_id=fields.identifier(row, "id"),
        prompt=fields.any_text(row, "problem"),
    )


def _call_suite(tests: Row) -> TestSuite:
    entry_point = fields.text(tests, "entry_point")
    cases = tuple(_case(index, item) for index, item in enumerate(fields.items(tests, "cases")))
    require_cases(cases)
    return TestSuite(
        tests=CallTests(entry_point=entry_point, cases=cases, comparison=_comparison(tests)),
        format="styled",
        entry_point=entry_point.partition(".")[0],
    )


def _comparison(tests: Row) -> Comparison:
    tolerance = tests.get("float_tol")
    if tolerance is None:
        return Comparison()
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise fields.wrong(tolerance, "float_tol", "a number")
    return Comparison(
        comparator=Comparator.FLOATS, abs_tol=float(tolerance), rel_tol=float(tolerance)
    )


def _case(index: int, item: object) -> CallCase:
    if not isinstance(item, Mapping) or "expected" not in item:
        message = f"case {index} must be an object with args or kwargs, and expected"
        raise LabelError(message)
    args, kwargs = item.get("args", []), item.get("kwargs", {})
    if not fields.is_list(args) or not isinstance(kwargs, Mapping):
        message = f"case {index}: args must be a list and kwargs an object"
        raise LabelError(message)
    return CallCase(id=str(index), args=tuple(args), kwargs=dict(kwargs), expected=item["expected"])


STYLED = Format(
    name="styled",
    summary="Tests with their style: pytest, assert, stdin_stdout or function_call",
    fields=field_sets("style tests"),
    example={
        "id": "p0",
        "style": "function_call",
        "problem": "Write double(n).",
        "tests": {"entry_point": "double", "cases": [{"args": [2], "expected": 4}]},
    },
    read=read,
    precedes=("source", "test_cases", "assert_list"),
)
