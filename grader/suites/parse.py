"""Turns a label of any format into its TestSuite."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.cases import check_cases
from grader.suites.deciding import checker_of, require_gradable, with_checker, with_language
from grader.suites.format import Envelope, Row
from grader.suites.overrides import override
from grader.suites.plain import plain
from grader.suites.registry import recognise, recognising

_MAX_DEPTH = 6
"""How deeply labels may be nested: a row, its column, JSON text in that, a short form."""

_DATA_FIELDS = frozenset(
    (
        "assert_case cases generated_tests ground_truth input_output inputs label official_tests"
        " outputs private_tests public_tests reward_model reward_spec test_cases test_input"
        " test_list test_output tests unit_tests verification_info verifier_metadata"
    ).split()
)
_OTHER_DATA_FIELDS = frozenset({"extra_info", "metadata", "solutions", "test_imports"})
"""Fields that hold lists and objects, or text of them, since a table's column has one type.

If the text of one of `_DATA_FIELDS` is damaged, so is the label. The other fields hold no tests.
"""

_LOOKS_LIKE_TESTS = re.compile(r"\b(?:assert|def|class|import)\b")

ID_FIELDS = ("task_id", "question_id", "problem_id", "id", "slug", "name", "hash_id")
"""The fields that may hold the id of a problem's row; the first one that does counts."""

_NESTED_ID_FIELDS = {
    "verifier_metadata": ("task_id",),
    "metadata": ("problem_id",),
    "extra_info": ("id", "index"),
}
"""Fields of inner objects that may hold it otherwise: of NeMo-Gym, DS-1000 and verl."""


class Problems(Protocol):
    """Finds the problem that a short label names; `ProblemIndex` is one."""

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the suite of a problem, or None if there is no such problem."""


def parse_label(label: object, *, problems: Problems | None = None) -> TestSuite:
    """Return the tests that a label asks for.

    Pure and safe to call from many threads. Nothing of the label is run.

    Args:
        label: JSON text, an object, a list of cases or asserts, or test source. An object may
            have a `suite` object that overrides what its format says; see `override`.
        problems: Finds the problem of a label such as `{"problem": "HumanEval/0"}`.

    Raises:
        LabelError: The label fits no known format or more than one, is damaged, has too many cases,
            or names an unknown problem. The message names its fields and the nearest formats.
        SuiteError: The format is known, but the tests are broken.
    """
    return _suite_of(label, problems)


def parse_problem(row: Row, *, problems: Problems | None = None) -> TestSuite:
    """Return the tests of a row of a problem file, with the row's id as `problem_id` if it has one.

    Raises:
        LabelError: As `parse_label`.
        SuiteError: As `parse_label`.
    """
    suite = _suite_of(row, problems)
    if suite.problem_id is not None:
        return suite
    return replace(suite, problem_id=problem_id_of(row))


def problem_id_of(row: Row) -> str | None:
    """Return the id by which other rows refer to this one, or None if it has no id.

    The id is the first of `ID_FIELDS` that holds a text or an integer, else one of an inner object.
    """
    if (found := fields.identifier(row, *ID_FIELDS)) is not None:
        return found
    for column, names in _NESTED_ID_FIELDS.items():
        inner = row.get(column)
        if isinstance(inner, Mapping) and (found := fields.identifier(inner, *names)) is not None:
            return found
    return None


def _suite_of(label: object, problems: Problems | None) -> TestSuite:
    try:
        suite = check_cases(_parse(label, problems, 0))
    except (ValueError, OverflowError) as error:
        # An integer that is too large to be read or shown; the message says why.
        message = f"a value of the label cannot be read: {error}"
        raise LabelError(message) from error
    if suite.language == "python" and suite.prelude:
        source.parse(suite.prelude, "the prelude")
    return suite


def _parse(label: object, problems: Problems | None, depth: int) -> TestSuite:
    if depth > _MAX_DEPTH:
        message = f"labels are nested more than {_MAX_DEPTH} deep"
        raise LabelError(message)
    if depth == 0:
        label = plain(label)
    if isinstance(label, str):
        return _parse(_decoded(label), problems, depth + 1)
    if fields.is_list(label):
        is_texts = bool(label) and all(isinstance(item, str) for item in label)
        if is_texts and len(label) == 1 and fields.holds_data(label[0]):
            return _parse(label[0], problems, depth + 1)  # open-instruct wraps the label in a list
        row = {"assert_case" if is_texts else "test_cases": label}
        if not recognising(row):
            message = (
                "the label is a list, but not of asserts, nor of objects with input and output; "
                f"its first item is {label[0]!r:.80}"
            )
            raise LabelError(message)
        return _parse(row, problems, depth + 1)
    if isinstance(label, Mapping):
        return _parse_row(label, problems, depth)
    message = f"a label must be text, an object or a list, but is {type(label).__name__}"
    raise LabelError(message)


def _decoded(text: str) -> object:
    """Return the data in a text, or else a row with the text as test source."""
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
        raise fields.wrong(settings, "suite", "an object of overrides")
    rest = {name: value for name, value in row.items() if name != "suite"}
    return override(_read(rest, problems, depth), settings)


def _data_of(name: str, value: object) -> object:
    """Return a field's value, decoded if it is text of data.

    Raises:
        LabelError: The text is damaged, and the field is one of `_DATA_FIELDS`.
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
        # If completions continue the inner prompt, it is code, and the envelope's is a message.
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
