"""Test modules that share a namespace with the solution: ClassEval, KodCode.

Both become pytest suites whose module first imports every public name of `solution`.

ClassEval. Recognised by `solution_code, test, test_classes`. Tests use the class without importing
it, because the original harness puts code and tests into one file. `import_statement`, which the
skeletons contain, is the prelude. The reference is `solution_code`.

KodCode. Recognised by `solution` with `test_code`, or with `test` if that is a test module
(KodCode's verification trials). In a sample, 85 of 232 tests use the solution without importing it;
with the star import 228 references pass, without it 145.

They have no limits of their own. KodCode's original harness gives pytest a minute.
"""

from dataclasses import replace
from typing import Any

from grader.model import TestSuite
from grader.model.errors import SuiteError
from grader.suites import fields, source
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for
from grader.suites.source import SourceKind

_TEST_PATH = "test_solution.py"


def star_suite(test: str, *, format_name: str, helpers: str = "", **properties: Any) -> TestSuite:
    """Return the suite of a test module that sees every public name of the solution.

    Args:
        test: The module's source.
        format_name: For `TestSuite.format`.
        helpers: Source whose definitions replace names of the solution in the module.
        properties: Further fields of `TestSuite`.

    Raises:
        SuiteError: The module does not parse, or there is no test in it.
    """
    if not source.has_tests(test):
        message = "the tests define no test"
        raise SuiteError(message)
    text = source.with_star_import(test, helpers)
    tests = pytest_tests({_TEST_PATH: text}, test_paths=(_TEST_PATH,))
    return TestSuite(tests=tests, format=format_name, **properties)


def read_classeval(row: Row) -> TestSuite:
    """Turn a row of ClassEval into its suite."""
    test, solution = fields.text(row, "test"), fields.text(row, "solution_code")
    imports = "".join(f"{line}\n" for line in fields.texts(row, "import_statement"))
    return star_suite(
        test,
        format_name="classeval",
        problem_id=fields.identifier(row, "task_id"),
        prompt=fields.any_text(row, "skeleton"),
        entry_point=fields.optional_text(row, "class_name"),
        prelude=imports,
        image=image_for(test, solution, imports),
        reference=solution,
    )


def read_kodcode(row: Row) -> TestSuite:
    """Turn a row of KodCode into its suite."""
    name = "test_code" if row.get("test_code") is not None else "test"
    test, solution = fields.text(row, name), fields.text(row, "solution")
    suite = star_suite(
        test,
        format_name="kodcode",
        problem_id=fields.identifier(row, "question_id", "task"),
        prompt=fields.any_text(row, "question"),
        image=image_for(test, solution),
        reference=solution,
    )
    return replace(suite, entry_point=_function(row, test))


def _function(row: Row, test: str) -> str | None:
    info = row.get("test_info")
    if fields.is_list(info) and len(info) == 1 and isinstance(info[0], dict):
        return fields.optional_text(info[0], "function_name")
    names = source.imported_names(source.parse(test), "solution")
    return names[0] if len(names) == 1 else None


def _is_test_module(row: Row) -> bool:
    if row.get("test_code") is not None:
        return True
    try:
        tree = source.parse(fields.text(row, "test"))
    except SuiteError:
        return True  # `read_kodcode` raises it again, for the caller
    return source.kind_of(tree) is SourceKind.PYTEST


CLASSEVAL = Format(
    name="classeval",
    summary="ClassEval: unittest classes over a class of the solution",
    fields=field_sets("solution_code test test_classes"),
    example={
        "task_id": "ClassEval_0",
        "class_name": "Doubler",
        "skeleton": "class Doubler:\n    def double(self, n):\n        ...\n",
        "import_statement": ["import math"],
        "solution_code": "class Doubler:\n    def double(self, n):\n        return 2 * n\n",
        "test_classes": ["DoublerTest"],
        "test": "import unittest\n\n\nclass DoublerTest(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(Doubler().double(2), 4)\n",
    },
    read=read_classeval,
)

KODCODE = Format(
    name="kodcode",
    summary="KodCode: a pytest module over a solution, whether it imports it or not",
    fields=field_sets("solution test_code", "solution test"),
    example={
        "question_id": "Algorithm_0",
        "question": "Write a function that doubles.",
        "solution": "def double(n):\n    return 2 * n\n",
        "test_code": "def test_two():\n    assert double(2) == 4\n",
    },
    read=read_kodcode,
    accepts=_is_test_module,
    precedes=("source",),
)
