"""A site: an expectation of a suite, with the ways to change it."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.twins.cases import CaseKey
from grader.twins.found import Found
from grader.twins.source import Edit, SuiteSource


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
    blind: bool = False
    """Whether an object that equals everything may fail it, like a right program."""
    has_blind: bool = False
    """Whether its cases have expectations that can only be changed blindly."""
    computed: bool = False
    """Whether it replaces what a test certainly computes. Then the right value may still be found
    elsewhere, but the change itself tells nothing."""
    shared: bool = False
    """Whether it is a change of what the tests share, and not of one test."""
    elsewhere: bool = False
    """Whether a right program may fail at another place if it is changed: by its own exception,
    where another is expected, or because it catches the failure itself."""

    @property
    def flaws(self) -> tuple[bool, bool]:
        """What is wrong with it; of several sites of a case, those with the least are used."""
        return self.blind, self.telling and not self.computed


def least_flawed(sites: Sequence[Site]) -> list[Site]:
    """Return the sites with the fewest flaws."""
    least = min((site.flaws for site in sites), default=None)
    return [site for site in sites if site.flaws == least]


def statements_between(
    found: Found, source: SuiteSource, changes: Iterable[Iterable[Edit]]
) -> Statement:
    """Return the lines from the first edit to an expectation, at any of which it may fail.

    A test may expect a variable several times, so that it ends before the expectation if the
    variable is changed.
    """
    statement = statement_of(found)
    if source is not found.expectation.reached.source:
        return statement
    lines = [source.line_at(edit.start) for change in changes for edit in change]
    return replace(
        statement,
        first_line=min(statement.first_line, *lines),
        last_line=max(statement.last_line, *lines),
    )


def statement_of(found: Found) -> Statement:
    """Return the statement that has an expectation."""
    reached = found.expectation.reached
    return statement_at(reached.source, reached.node)


def statement_at(source: SuiteSource, node: ast.AST) -> Statement:
    """Return the innermost statement around a node."""
    statement = source.statement(node)
    return Statement(source.name, statement.lineno, statement.end_lineno or statement.lineno)
