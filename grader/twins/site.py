"""A site: an expectation of a suite, with the ways to change it."""

from dataclasses import dataclass

from grader.twins.cases import CaseKey
from grader.twins.found import Found
from grader.twins.source import Edit


@dataclass(frozen=True, slots=True, order=True)
class Statement:
    """The place of a statement in a suite."""

    source: str
    """The path of the file, or the id of the script's case."""
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An expectation of a suite, with the ways to change it."""

    cases: tuple[CaseKey, ...]
    """The cases that it belongs to."""
    source: str
    """The path of the file, or the id of the script's case, to which the edits apply."""
    statements: tuple[Statement, ...]
    """The statements that may fail for a right program if the expectation is changed."""
    changes: tuple[tuple[Edit, ...], ...]
    """The possible changes; only one of them is made."""
    certain: bool
    """Whether a right program certainly fails after a change, by the form of the expectation."""
    telling: bool
    """Whether a reader of the changed source may guess that it was changed."""
    shared: bool = False
    """Whether it is a change of what the tests share, and not of one test."""
    raises: bool = False
    """Whether an exception is expected. Then a right program fails by its own exception."""


def statement_of(found: Found) -> Statement:
    """Return the statement that has an expectation."""
    reached = found.expectation.reached
    node = reached.source.statement(reached.node)
    return Statement(reached.source.name, node.lineno, node.end_lineno or node.lineno)
