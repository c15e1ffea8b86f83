"""Tests as plain source: assert lines, `check(candidate)`, a pytest or unittest module.

Recognised by `tests` (a bare text given as a label counts as such, too), `unit_tests`, or `test`
next to a `solution`, by `functional` (rLLM's LeetCode labels), by `import_prefix, test_code`
(Skywork-OR1), or by a list of assert texts or of objects with `assert_code` (ROLL): `assert_case`
(verl), `test_cases` (AceCode), `test_list`, `tests`, `unit_tests` (OpenCodeInstruct).
`entry_point` may name what is tested; `test_imports` and `test_setup_code` run before asserts.

The kind of source decides what it becomes:

- `check(candidate)`: one script case. If the source does not call it, a call is added. Its argument
  is `entry_point`, else the last function that the submission defines.
- test functions or test classes: a pytest suite. The solution's module is the one that the
  tests import and no image has; without such an import, the tests see every public name of
  `solution`.
- else a script with a case for each top-level statement that asserts, in order, all in the
  submission's namespace; imports of the submission are left out.

There are no limits and no extraction rule of its own. But answers to LeetCode's problems use
`List`, `inf` or `TreeNode` without defining them. So `functional` has the prelude of rLLM's
harness, without numpy and pandas, and Skywork's rows have their `import_prefix`. Tests that use
functions of the prelude get them from there.
"""

import ast
import textwrap
from collections.abc import Mapping
from dataclasses import replace

from grader.model import ScriptTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import fields, source
from grader.suites.cases import script_tests
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.humaneval import check_tests
from grader.suites.formats.stdio import CASE_FIELDS
from grader.suites.helpers import helpers_of
from grader.suites.images import image_for
from grader.suites.preludes import LEETCODE
from grader.suites.source import SourceKind

_TEST_PATH = "test_solution.py"

_FIND_CANDIDATE = """\
_candidates = [
    name
    for name, value in globals().items()
    if callable(value) and name.isidentifier() and not name.startswith("_")
]
"""

_ID_FIELDS = ("task_id", "problem_id", "question_id", "id")


def suite_of(text: str, entry_point: str | None = None, reference: str | None = None) -> TestSuite:
    """Return the suite of a test source of any kind.

    Raises:
        SuiteError: It does not parse, or asserts nothing.
    """
    text = source.without_own_run(textwrap.dedent(text))
    tree = source.parse(text)
    match source.kind_of(tree):
        case SourceKind.CHECK:
            return _check_suite(text, tree, entry_point, reference)
        case SourceKind.PYTEST:
            return pytest_suite(text, entry_point=entry_point, reference=reference)
        case SourceKind.SCRIPT:
            module = source.solution_module(tree, {entry_point} if entry_point else set())
            cases = source.split_cases(source.without_solution_imports(text, module or "solution"))
            return TestSuite(
                tests=script_tests(cases),
                format="asserts",
                entry_point=entry_point or source.called_name([text]),
                image=image_for(text, reference),
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
        SuiteError: It does not parse, or several modules that it imports could be the submission.
    """
    text = source.without_own_run(text)
    tree = source.parse(text)
    known = source.top_names(reference) if reference else set()
    module = source.solution_module(tree, known | ({entry_point} if entry_point else set()))
    if module is None:
        module, text = "solution", source.with_star_import(text)
    names = source.imported_names(tree, module)
    return TestSuite(
        tests=pytest_tests(
            {_TEST_PATH: text},
            test_paths=(_TEST_PATH,),
            solution_path=f"{module.replace('.', '/')}.py",
        ),
        format="pytest",
        entry_point=entry_point or (names[0] if len(names) == 1 else None),
        image=image_for(text, reference),
        reference=reference,
    )


def _check_suite(
    text: str, tree: ast.Module, entry_point: str | None, reference: str | None
) -> TestSuite:
    name = entry_point or source.argument_of_check(tree)
    if name is None:
        text = _FIND_CANDIDATE + text
    return TestSuite(
        tests=check_tests(text, name or "globals()[_candidates[-1]]"),
        format="check",
        entry_point=name.partition("(")[0] if name else None,
        image=image_for(text, reference),
        reference=reference,
    )


def read_source(row: Row) -> TestSuite:
    """Turn a row with a test source into its suite."""
    name = next(name for name in _SOURCE_FIELDS if isinstance(row.get(name), str))
    suite = suite_of(
        fields.text(row, name),
        fields.optional_text(row, "entry_point"),
        fields.any_text(row, "solution", "reference", "canonical_solution") or None,
    )
    prelude = LEETCODE if name == "functional" else fields.any_text(row, "import_prefix")
    return _with_origin(_with_prelude(suite, prelude), row)


def _with_prelude(suite: TestSuite, prelude: str) -> TestSuite:
    """Return the suite with a prelude; tests that use functions of the prelude get them, too."""
    if not prelude:
        return suite
    tests = suite.tests
    if isinstance(tests, ScriptTests):
        program = "\n".join([tests.setup, *(case.source for case in tests.cases)])
        helpers = helpers_of(prelude, suite.entry_point or "", program)
        setup = "\n\n".join(filter(None, (helpers, tests.setup)))
        suite = replace(suite, tests=replace(tests, setup=setup))
    return replace(suite, prelude=f"{prelude.rstrip()}\n\n")


def read_asserts(row: Row) -> TestSuite:
    """Turn a list of assert texts into a suite with one case for each.

    Raises:
        LabelError: ROLL's `case_type` says that they test the answer's text, not its code.
    """
    asserts = tuple(textwrap.dedent(fields.clean(text)) for text in _asserts(row) or ())
    if (kind := row.get("case_type")) == "text":
        message = "case_type is 'text': the tests are about the words of an answer, not its code"
        raise LabelError(message)
    if kind == "check_based":
        more = {"test_code": asserts[0], **_first_case(row)}
        return replace(read_source({**row, **_NO_CASES, **more}), format="assert_list")
    if kind == "pytest":
        return _with_origin(pytest_suite("\n\n".join(asserts)), row)
    for text in asserts:
        source.parse(text, "an assert")
    setup = [*fields.texts(row, "test_imports"), fields.any_text(row, "test_setup_code")]
    suite = TestSuite(
        tests=script_tests(asserts, "\n".join(setup).strip()),
        format="assert_list",
        entry_point=fields.optional_text(row, "entry_point") or source.called_name(asserts),
        image=image_for(*asserts, *setup),
        reference=fields.any_text(row, "solution", "reference") or None,
    )
    return _with_origin(suite, row)


def _with_origin(suite: TestSuite, row: Row) -> TestSuite:
    return replace(
        suite,
        problem_id=fields.identifier(row, *_ID_FIELDS),
        prompt=fields.any_text(row, "prompt", "question", "problem"),
    )


_SOURCE_FIELDS = ("tests", "functional", "unit_tests", "test_code", "test")


def _is_text(row: Row) -> bool:
    return any(isinstance(row.get(name), str) for name in _SOURCE_FIELDS)


_ASSERT_FIELDS = ("assert_case", "test_list", *CASE_FIELDS)
_NO_CASES = dict.fromkeys(_ASSERT_FIELDS)


def _asserts(row: Row) -> list[str] | None:
    """Return the row's list of assert texts; None if it has none, or one with other items."""
    value = next((row[name] for name in _ASSERT_FIELDS if row.get(name)), None)
    if not fields.is_list(value):
        return None
    texts: list[object] = [
        item.get("assert_code") if isinstance(item, Mapping) else item for item in value
    ]
    found = [text for text in texts if isinstance(text, str)]
    return found if len(found) == len(texts) else None


def _first_case(row: Row) -> Row:
    """Return the further fields of ROLL's one case, such as an entry point and an import prefix."""
    items = next(row[name] for name in _ASSERT_FIELDS if row.get(name))
    first = items[0] if fields.is_list(items) else None
    return first if isinstance(first, Mapping) else {}


def _holds_asserts(row: Row) -> bool:
    return _asserts(row) is not None


SOURCE = Format(
    name="source",
    summary="Test source: assert lines, check(candidate), or a pytest or unittest module",
    fields=field_sets(
        "tests", "functional", "unit_tests", "import_prefix test_code", "solution test"
    ),
    example={
        "tests": "from solution import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
    },
    read=read_source,
    accepts=_is_text,
)

ASSERTS = Format(
    name="assert_list",
    summary="A list of assert statements (verl's assert_case, AceCode's test_cases)",
    fields=field_sets(*_ASSERT_FIELDS),
    example={"assert_case": ["assert double(2) == 4", "assert double(0) == 0"]},
    read=read_asserts,
    accepts=_holds_asserts,
)
