"""Finds what a pytest suite skips itself, or expects to fail, whatever the submission does."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.source.constants import UnknownError, holds
from grader.source.names import Function, last_name
from grader.source.syntax import UNPARSABLE, parse

_ALWAYS_WAIVED = frozenset({"skip", "expectedFailure"})
_CONDITIONAL = frozenset({"skipif", "skipIf", "skipUnless", "xfail"})
_SKIPS = frozenset({"skip", "skipTest", "SkipTest"})
_NO_REASON = "unconditional skip"
"""What pytest reports for a mark without a reason."""

Row = Mapping[str, ast.expr]
"""The parameters of a test, each with the expression of its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSkips:
    """The rows of a test that are skipped or expected to fail, while its other rows run."""

    reasons: frozenset[str] = frozenset()
    """That skips may give."""
    most: int | None = 0
    """How many rows are skipped at most; None if the source does not show that."""
    xfails: int = 0
    """How many rows are expected to fail."""

    def __bool__(self) -> bool:
        """Tell whether there may be such rows."""
        return bool(self.reasons or self.xfails)


def is_waiver(decorator: ast.expr) -> bool:
    """Tell whether a decorator or mark is sure to skip its test or to expect it to fail."""
    last = last_name(decorator)
    given = decorator.args if isinstance(decorator, ast.Call) else []
    if last not in _CONDITIONAL or (last == "xfail" and not given):
        return last in _ALWAYS_WAIVED or last == "xfail"
    try:
        return bool(given) and holds(_condition(given[0]), {}) is not (last == "skipUnless")
    except UnknownError:
        return False


def _condition(given: ast.expr) -> ast.expr:
    """Return the condition of a mark, which may be written as text."""
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        return given
    try:
        statements = parse(given.value).body
    except UNPARSABLE:
        statements = []
    match statements:
        case [ast.Expr(value=condition)]:
            return condition
        case _:
            raise UnknownError


def find_row_skips(
    test: Function, parameters: Iterable[str], rows: Sequence[ast.expr] | None
) -> RowSkips:
    """Return what a test skips itself.

    Args:
        test: The test.
        parameters: Those that its decorators name.
        rows: Their values, if the source shows all of them.
    """
    names = tuple(parameters)
    skips = list(_skips(test, sys.stdlib_module_names.union(names, ["len"])))
    marks = [mark for row in rows or () for mark in _marks(row) if is_waiver(mark)]
    reasons = {skip.reason for skip in skips}
    reasons.update(_reason(mark) for mark in marks if last_name(mark) == "skip")
    most = None
    if rows is not None:
        most = _count(skips, [dict(zip(names, _values(row, names), strict=False)) for row in rows])
    marked = sum(last_name(mark) != "xfail" for mark in marks)
    return RowSkips(
        reasons=frozenset(reasons),
        most=None if most is None else most + marked,
        xfails=len(marks) - marked,
    )


# ---------------------------------------------------------------- skips in the code of a test


@dataclass(frozen=True, slots=True)
class _Skip:
    reason: str
    conditions: tuple[ast.expr, ...] | None
    """All that must hold; None if something else decides."""


def _skips(test: Function, known: frozenset[str]) -> Iterator[_Skip]:
    """Yield the skips that the submission cannot influence.

    Their conditions, if any, are only about parameters and the standard library.
    """
    pending: list[tuple[ast.AST, tuple[ast.expr, ...] | None]] = [(n, ()) for n in test.body]
    while pending:
        node, conditions = pending.pop()
        match node:
            case ast.If(test=condition) if not _names_read(condition) <= known:
                pass
            case ast.If(test=condition, body=body, orelse=orelse):
                within = None if conditions is None else (*conditions, condition)
                pending += [(each, within) for each in body]
                pending += [(each, None) for each in orelse]
            case ast.Try() | ast.While() | ast.IfExp() | ast.BoolOp():
                pass
            case ast.Call() if last_name(node) in _SKIPS:
                if (reason := _reason(node)) != _NO_REASON:
                    yield _Skip(reason, conditions)
            case ast.For() | ast.With():
                pending += [(each, None) for each in ast.iter_child_nodes(node)]
            case _:
                pending += [(each, conditions) for each in ast.iter_child_nodes(node)]


def _count(skips: Sequence[_Skip], rows: Sequence[Row]) -> int | None:
    """Return how many rows are skipped; None if the source does not show it."""
    try:
        return sum(any(_applies(skip, row) for skip in skips) for row in rows)
    except UnknownError:
        return None


def _applies(skip: _Skip, row: Row) -> bool:
    if skip.conditions is None:
        raise UnknownError
    values: dict[str, Any] = {}
    for name, expression in row.items():
        try:
            values[name] = ast.literal_eval(expression)
        except (TypeError, ValueError, RecursionError):
            continue
    return all(holds(condition, values) for condition in skip.conditions)


# ---------------------------------------------------------------- pieces of syntax


def _reason(skip: ast.expr) -> str:
    if isinstance(skip, ast.Call):
        for value in [*skip.args[:1], *(k.value for k in skip.keywords if k.arg == "reason")]:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    return _NO_REASON


def _marks(row: ast.expr) -> Iterator[ast.expr]:
    """Yield the marks of a `pytest.param`."""
    if isinstance(row, ast.Call) and last_name(row) == "param":
        for keyword in row.keywords:
            if keyword.arg == "marks":
                marks = keyword.value
                yield from marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks]


def _values(row: ast.expr, names: Sequence[str]) -> Sequence[ast.expr]:
    if isinstance(row, ast.Call) and last_name(row) == "param":
        return row.args
    if len(names) == 1:
        return [row]
    return row.elts if isinstance(row, ast.List | ast.Tuple) else []


def _names_read(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
