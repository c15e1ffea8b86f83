"""Tests as plain source: assert lines, `check(candidate)`, a pytest or unittest module.

Recognised by `tests` (where a bare text given as a label ends up too) or `test` next to a
`solution`, by `functional` (rLLM's LeetCode labels), or by a list of assert texts: `assert_case`
(verl), `test_cases` (AceCode), `test_list`. `entry_point` may say what is tested.

Becomes, by what the source is:

- `check(candidate)`: one script case. The call is added unless the source has it; its argument
  is `entry_point`, else the last function that the submission defines.
- test functions or test classes: a pytest suite. The solution's module is the one that the
  tests import and no image brings; without such an import, the tests see every public name of
  `solution`.
- else a script, a case for each top-level statement that asserts, in order in one namespace,
  the submission's own; `from solution import ...` is left out.

No limits, prelude or extraction rule of its own; but `functional` has the imports of APPS before
the code, since LeetCode's answers name `List` without importing it, and rLLM grades them so.
"""

import ast
from dataclasses import replace

from grader.errors import SuiteError
from grader.model import TestSuite
from grader.suites import fields, source
from grader.suites.cases import script_tests
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row
from grader.suites.format import fields as field_sets
from grader.suites.formats.humaneval import check_tests
from grader.suites.formats.stdio import PRELUDE
from grader.suites.source import SourceKind

_TEST_PATH = "test_solution.py"

_FIND_CANDIDATE = """\
_candidates = [
    name for name, value in globals().items() if callable(value) and not name.startswith("_")
]
"""

_ID_FIELDS = ("task_id", "problem_id", "question_id", "id")


def suite_of(text: str, entry_point: str | None = None, reference: str | None = None) -> TestSuite:
    """Return the suite of a test source of any kind.

    Raises:
        SuiteError: It does not parse, or asserts nothing.
    """
    tree = source.parse(text)
    match source.kind_of(tree):
        case SourceKind.CHECK:
            return _check_suite(text, tree, entry_point, reference)
        case SourceKind.PYTEST:
            return pytest_suite(text, entry_point=entry_point, reference=reference)
        case SourceKind.SCRIPT:
            cases = source.split_cases(source.without_solution_imports(text))
            return TestSuite(
                tests=script_tests(cases),
                format="asserts",
                entry_point=entry_point or source.called_name([text]),
                image=source.image_for(text, reference),
                reference=reference,
            )
        case SourceKind.NONE:
            message = "the tests assert nothing and define no test"
            raise SuiteError(message)


def pytest_suite(
    text: str, *, entry_point: str | None = None, reference: str | None = None
) -> TestSuite:
    """Return the suite of a pytest or unittest module.

    Raises:
        SuiteError: It does not parse, or imports several modules that nobody provides.
    """
    tree = source.parse(text)
    module = _solution_module(tree)
    if module is None:
        module, text = "solution", source.with_star_import(text, "solution")
    names = source.imported_names(tree, module)
    return TestSuite(
        tests=pytest_tests(
            {_TEST_PATH: text},
            test_paths=(_TEST_PATH,),
            solution_path=f"{module.replace('.', '/')}.py",
        ),
        format="pytest",
        entry_point=entry_point or (names[0] if len(names) == 1 else None),
        image=source.image_for(text, reference),
        reference=reference,
    )


def _solution_module(tree: ast.Module) -> str | None:
    modules = source.foreign_modules(tree)
    if "solution" in modules or not modules:
        return "solution" if modules else None
    if len(modules) > 1:
        message = f"the tests import modules that nobody provides: {', '.join(modules)}"
        raise SuiteError(message)
    return modules[0]


def _check_suite(
    text: str, tree: ast.Module, entry_point: str | None, reference: str | None
) -> TestSuite:
    name = entry_point or _argument(tree)
    if name is None:
        text = _FIND_CANDIDATE + text
    return TestSuite(
        tests=check_tests(text, name or "globals()[_candidates[-1]]"),
        format="check",
        entry_point=name.partition("(")[0] if name else None,
        image=source.image_for(text, reference),
        reference=reference,
    )


def _argument(tree: ast.Module) -> str | None:
    """Return what the top-level call of `check` is given, as source."""
    for node in ast.walk(ast.Module(body=tree.body[-1:], type_ignores=[])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            return ast.unparse(node.args[0]) if node.func.id == "check" else None
    return None


def read_source(row: Row) -> TestSuite:
    """Turn a row with a test source into its suite."""
    name = next(name for name in ("tests", "functional", "test") if row.get(name) is not None)
    suite = suite_of(
        fields.text(row, name),
        fields.optional_text(row, "entry_point"),
        fields.any_text(row, "solution", "reference", "canonical_solution") or None,
    )
    if name == "functional":
        suite = replace(suite, prelude=PRELUDE)
    return _with_origin(suite, row)


def read_asserts(row: Row) -> TestSuite:
    """Turn a list of assert texts into a suite, a case each."""
    name = next(name for name in ("assert_case", "test_list", "test_cases") if row.get(name))
    asserts = fields.texts(row, name)
    for text in asserts:
        source.parse(text, "an assert")
    suite = TestSuite(
        tests=script_tests(asserts),
        format="assert_list",
        entry_point=fields.optional_text(row, "entry_point") or source.called_name(asserts),
        image=source.image_for(*asserts),
        reference=fields.any_text(row, "solution", "reference") or None,
    )
    return _with_origin(suite, row)


def _with_origin(suite: TestSuite, row: Row) -> TestSuite:
    return replace(
        suite,
        problem_id=fields.identifier(row, *_ID_FIELDS),
        prompt=fields.any_text(row, "prompt", "question", "problem"),
    )


def _is_text(row: Row) -> bool:
    return any(isinstance(row.get(name), str) for name in ("tests", "functional", "test"))


def _holds_texts(row: Row) -> bool:
    names = ("assert_case", "test_list", "test_cases")
    value = next((row[name] for name in names if row.get(name)), None)
    return fields.is_list(value) and all(isinstance(item, str) for item in value)


SOURCE = Format(
    name="source",
    summary="Test source: assert lines, check(candidate), or a pytest or unittest module",
    fields=field_sets("tests", "functional", "solution test"),
    example={
        "tests": "from solution import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
    },
    read=read_source,
    accepts=_is_text,
)

ASSERTS = Format(
    name="assert_list",
    summary="A list of assert statements (verl's assert_case, AceCode's test_cases)",
    fields=field_sets("assert_case", "test_list", "test_cases"),
    example={"assert_case": ["assert double(2) == 4", "assert double(0) == 0"]},
    read=read_asserts,
    accepts=_holds_texts,
)
