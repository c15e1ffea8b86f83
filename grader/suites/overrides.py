"""Overrides what a format says about a suite: by a label's `suite` object, or by `--set`."""

from dataclasses import fields as record_fields
from dataclasses import replace
from typing import Any

from grader.model import (
    CallTests,
    Comparator,
    Comparison,
    InteractiveTests,
    LimitOverrides,
    StdinTests,
    TestSuite,
)
from grader.model.errors import LabelError
from grader.model.overrides import ExtractionRule
from grader.suites.deciding import with_language
from grader.suites.fields import choice, limit_overrides, mapping, require_known, wrong
from grader.suites.format import Row
from grader.suites.programs import read_checker, read_interactor

_TEXTS = ("entry_point", "image", "prelude", "prompt", "reference")
KEYS = ("limits", "comparison", "interactor", "extraction", "language", *_TEXTS)
"""The properties that can be overridden."""


def override(suite: TestSuite, given: Row) -> TestSuite:
    """Return `suite` with the properties that `given` names replaced.

    Args:
        suite: What the format made of its row.
        given: Values for any of `KEYS`. `limits` and `comparison` are objects that replace only
            the fields that they have; `comparison.comparator` and `extraction` are names. With an
            `interactor`, stdin tests become interactive tests.

    Raises:
        LabelError: A name is unknown, or a value has the wrong type.
    """
    require_known(given, KEYS, "suite")
    changes: dict[str, Any] = {}
    for name in _TEXTS:
        if name in given:
            changes[name] = _text(given[name], name)
    if "extraction" in given:
        changes["extraction"] = choice(ExtractionRule, given["extraction"], "extraction")
    if "limits" in given:
        changes["limits"] = _limits(suite.limits, mapping(given, "limits"))
    if "comparison" in given:
        changes["tests"] = _compared(suite, mapping(given, "comparison"))
    if "interactor" in given:
        changes["tests"] = _interactive(suite, given)
    changed = replace(suite, **changes)
    return with_language(changed, given["language"]) if "language" in given else changed


def _interactive(suite: TestSuite, given: Row) -> InteractiveTests:
    if not isinstance(suite.tests, StdinTests | InteractiveTests) or "comparison" in given:
        message = "interactor: only for programs that read and print, and without a comparison"
        raise LabelError(message)
    interactor = read_interactor(given["interactor"])
    return InteractiveTests(cases=suite.tests.cases, interactor=interactor)


def _limits(limits: LimitOverrides, given: Row) -> LimitOverrides:
    names = tuple(field.name for field in record_fields(LimitOverrides))
    require_known(given, names, "limits")
    for name, value in given.items():
        whole = not name.endswith("_s")
        kinds = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kinds):
            unit = "a whole number" if whole else "a number of seconds"
            raise wrong(value, f"limits.{name}", unit)
    return limits.override(limit_overrides(**given))


def _compared(suite: TestSuite, given: Row) -> StdinTests | CallTests:
    if not isinstance(suite.tests, StdinTests | CallTests):
        message = f"comparison: tests of the format {suite.format!r} do their own comparing"
        raise LabelError(message)
    names = tuple(field.name for field in record_fields(Comparison))
    require_known(given, names, "comparison")
    changes: dict[str, Any] = {}
    for name, value in given.items():
        if name == "comparator":
            changes[name] = choice(Comparator, value, "comparison.comparator")
        elif name == "checker":
            changes[name] = read_checker(value, "comparison.checker")
            changes.setdefault("comparator", Comparator.CHECKER)
        else:
            kind = bool if isinstance(getattr(suite.tests.comparison, name), bool) else float
            changes[name] = _number(kind, value, f"comparison.{name}")
            if name == "abs_tol":  # a tolerance that the label sets applies in full
                changes.setdefault("abs_tol_share", None)
    comparison = replace(suite.tests.comparison, **changes)
    if (comparison.comparator is Comparator.CHECKER) != (comparison.checker is not None):
        message = "comparison: a checker, and only a checker, needs the comparator 'checker'"
        raise LabelError(message)
    return replace(suite.tests, comparison=comparison)


def _number(kind: type, value: object, name: str) -> bool | float:
    if kind is bool and isinstance(value, bool):
        return value
    if (
        kind is float
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < float("inf")
    ):
        return float(value)
    raise wrong(value, name, "true or false" if kind is bool else "a number from 0")


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    raise wrong(value, name, "text")
