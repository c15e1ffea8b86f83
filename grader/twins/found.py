"""The expectations that were found in a suite, with their cases."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.source.names import Function
from grader.twins.cases import CaseKey
from grader.twins.equality import tests_equality
from grader.twins.expectations import Expectation, ExpectationReader
from grader.twins.names import Names
from grader.twins.source import Edit, SuiteSource


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A constant or a function of a module that only tests use."""

    node: ast.expr | Function
    """The constant's value, or the function."""
    uses: Mapping[tuple[CaseKey, ...], Sequence[ast.Name]]
    """Where it is read, by the cases that depend on this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An expectation with the cases in which it was found."""

    cases: tuple[CaseKey, ...]
    expectation: Expectation
    names: Names
    reader: ExpectationReader
    own: tuple[tuple[str, int, int], ...]
    """The parts of sources, by name and span, on which no other case depends."""
    row_span: tuple[int, int] | None = None
    """The span of the parameters of this case."""
    all_rows: tuple[CaseKey, ...] = ()
    """The cases that depend on what is outside these parameters."""
    shared: "tuple[Shared, ...]" = ()
    """What its module has for several tests."""

    @property
    def tests_equality(self) -> bool:
        """Whether the expectation is about nothing but the equality of objects that it makes."""
        asked, expected = self.expectation.asked, self.expectation.expected
        if asked is None or expected is None:
            return False
        return tests_equality(asked, expected, self.expectation.reached.source.tree)

    def owns(self, source: SuiteSource, change: Iterable[Edit]) -> bool:
        """Tell whether no other case depends on the text that edits replace."""
        return all(
            any(
                name == source.name and start <= edit.start and edit.end <= end
                for name, start, end in self.own
            )
            for edit in change
        )
