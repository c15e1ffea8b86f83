"""The expectations that were found in a suite, with their cases."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.twins.expectations import Expectation, ExpectationReader
from grader.twins.names import Names
from grader.twins.source import Edit, SuiteSource


@dataclass(frozen=True, slots=True, order=True)
class CaseKey:
    """A case, or all cases of one test with parameters."""

    base: str
    """The id of a script's case, or a pytest node id without parameters."""
    row: int | None = None
    """The row of the parameters, from 0; None: all rows."""
    rows: int | None = None
    """The number of rows. If fixtures have parameters, too, the test has more cases than that."""


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

    def owns(self, source: SuiteSource, change: Iterable[Edit]) -> bool:
        """Tell whether no other case depends on the text that edits replace."""
        return all(
            any(
                name == source.name and start <= edit.start and edit.end <= end
                for name, start, end in self.own
            )
            for edit in change
        )
