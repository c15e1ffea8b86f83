"""From a label in any format to its TestSuite."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import fields
from grader.suites.deciding import checker_of, require_gradable, with_checker, with_language
from grader.suites.format import Envelope, Row
from grader.suites.overrides import override
from grader.suites.plain import plain
from grader.suites.registry import recognise

_MAX_DEPTH = 6
"""How deep labels may stand inside labels: a row, its column, JSON text in it, a short form."""

_DATA_FIELDS = frozenset(
    (
        "assert_case cases generated_tests ground_truth input_output inputs label official_tests"
        " outputs private_tests public_tests reward_model reward_spec test_cases test_input"
        " test_list test_output tests unit_tests verification_info verifier_metadata"
    ).split()
)
_OTHER_DATA_FIELDS = frozenset({"extra_info", "metadata", "solutions", "test_imports"})
"""Fields that hold lists and objects, or text of them: tables have no type for both.

If that text is damaged, so is the label; what the others hold is no test.
"""

_LOOKS_LIKE_TESTS = re.compile(r"\b(?:assert|def|class|import)\b")

ID_FIELDS = ("task_id", "question_id", "problem_id", "id", "slug", "name", "hash_id")
"""Where a problem row has its id; the first that holds one counts."""

_NESTED_ID_FIELDS = {
    "verifier_metadata": ("task_id",),
    "metadata": ("problem_id",),
    "extra_info": ("id", "index"),
}
"""Where it is else: in objects of NeMo-Gym, DS-1000 and verl."""


class Problems(Protocol):
    """Where a short label finds its problem; `ProblemIndex` is one."""

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the suite of a problem; None where there is no such problem."""


def parse_label(label: object, *, problems: Problems | None = None) -> TestSuite:
    """Return the tests that a label asks for.

    Pure and safe to call from many threads. Nothing of the label is run.

    Args:
        label: JSON text, an object, a list of cases or asserts, or test source. An object may
            hold a `suite` object that overrides what its format says; see `override`.
        problems: Where labels such as `{"problem": "HumanEval/0"}` look up their problem.

    Raises:
        LabelError: The label is in no known format or in more than one, is damaged, or names a
            problem that is not there. The message names its fields and the nearest formats.
        SuiteError: The format is known, but the tests in it are broken.
    """
    return _parse(label, problems, 0)


def parse_problem(row: Row, *, problems: Problems | None = None) -> TestSuite:
    """Return the tests of a row of a problem file, its `problem_id` set where the row has one.

    Raises:
        LabelError: As `parse_label`.
        SuiteError: As `parse_label`.
    """
    suite = _parse(row, problems, 0)
    if suite.problem_id is not None:
        return suite
    return replace(suite, problem_id=problem_id_of(row))


def problem_id_of(row: Row) -> str | None:
    """Return the id by which other rows refer to this one; None where it has none.

    That is the first of `ID_FIELDS` that holds a text or a whole number, else one of a nested
    object.
    """
    if (found := fields.identifier(row, *ID_FIELDS)) is not None:
        return found
    for column, names in _NESTED_ID_FIELDS.items():
        inner = row.get(column)
        if isinstance(inner, Mapping) and (found := fields.identifier(inner, *names)) is not None:
            return found
    return None


def _parse(label: object, problems: Problems | None, depth: int) -> TestSuite:
    if depth > _MAX_DEPTH:
        message = f"labels stand inside labels more than {_MAX_DEPTH} deep"
        raise LabelError(message)
    if depth == 0:
        label = plain(label)
    if isinstance(label, str):
        return _parse(_decoded(label), problems, depth + 1)
    if fields.is_list(label):
        is_texts = bool(label) and all(isinstance(item, str) for item in label)
        if is_texts and len(label) == 1 and fields.holds_data(label[0]):
            return _parse(label[0], problems, depth + 1)  # open-instruct has a list of labels
        kind = "assert_case" if is_texts else "test_cases"
        return _parse({kind: label}, problems, depth + 1)
    if isinstance(label, Mapping):
        return _parse_row(label, problems, depth)
    message = f"a label must be text, an object or a list, but is {type(label).__name__}"
    raise LabelError(message)


def _decoded(text: str) -> object:
    """Return what a text stands for: the data in it, else test source."""
    stripped = text.strip()
    if not stripped:
        message = "the label is empty"
        raise LabelError(message)
    if (stripped[0] == '"' and not stripped.startswith('"""')) or fields.holds_data(stripped):
        return fields.load_data(stripped, "the label")
    if not _LOOKS_LIKE_TESTS.search(text):
        message = f"the label is neither JSON nor test source; it starts with {stripped[:40]!r}"
        raise LabelError(message)
    return {"tests": text}


def _parse_row(row: Row, problems: Problems | None, depth: int) -> TestSuite:
    row = {name: _data_of(name, value) for name, value in row.items()}
    settings = row.get("suite")
    if settings is None:
        return _read(row, problems, depth)
    if not isinstance(settings, Mapping):
        message = f"suite must be an object of overrides, but is {type(settings).__name__}"
        raise LabelError(message)
    rest = {name: value for name, value in row.items() if name != "suite"}
    return override(_read(rest, problems, depth), settings)


def _data_of(name: str, value: object) -> object:
    """Return what the text in a field stands for, if it stands for data.

    Raises:
        LabelError: It does, and is damaged.
    """
    if not isinstance(value, str) or name not in _DATA_FIELDS | _OTHER_DATA_FIELDS:
        return value
    if not fields.holds_data(value):
        return value
    try:
        return fields.load_data(value, name)
    except LabelError:
        if name in _DATA_FIELDS:
            raise
        return value


def _read(row: Row, problems: Problems | None, depth: int) -> TestSuite:
    require_gradable(row)
    checker = checker_of(row)
    found = recognise(row)
    suite = found.read(row)
    if not isinstance(suite, TestSuite):
        suite = _unwrap(found.name, suite, problems, depth)
    if (language := row.get("language")) is not None:
        suite = with_language(suite, language)
    return suite if checker is None else with_checker(suite, checker)


def _unwrap(name: str, envelope: Envelope, problems: Problems | None, depth: int) -> TestSuite:
    if envelope.problem is not None:
        return _look_up(envelope.problem, problems)
    inner = _parse(envelope.label, problems, depth + 1)
    return replace(
        inner,
        format=name,
        problem_id=envelope.problem_id or inner.problem_id,
        # A prompt that answers continue is code, which no message around it replaces.
        prompt=inner.prompt if inner.continues_prompt else envelope.prompt or inner.prompt,
        reference=envelope.reference or inner.reference,
    )


def _look_up(problem: str, problems: Problems | None) -> TestSuite:
    if problems is None:
        message = (
            f"the label names the problem {problem!r}, but no file of problems is given:"
            " set --problems or GRADER_PROBLEMS"
        )
        raise LabelError(message)
    suite = problems.get(problem)
    if suite is None:
        message = f"the label names the problem {problem!r}, which the file of problems lacks"
        raise LabelError(message)
    return suite
