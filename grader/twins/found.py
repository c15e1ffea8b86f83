"""What was found in a suite: its cases, and what they expect."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.twins.expectations import Expectation, ExpectationReader
from grader.twins.names import Names
from grader.twins.source import Edit, SuiteSource


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """A case, or all cases that the parameters of one test make."""

    base: str
    """The id of a script's case, or a pytest node id without parameters."""
    row: int | None = None
    """Of the parameters, from 0; None: all of them."""
    rows: int | None = None
    """How many there are; other fixtures with parameters would make more cases of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An expectation with the cases of the test that it was found in."""

    where: tuple[Where, ...]
    expectation: Expectation
    names: Names
    reader: ExpectationReader
    own: tuple[tuple[str, int, int], ...]
    """The parts of sources, by name and span, on which no other case depends."""
    row_span: tuple[int, int] | None = None
    """Where the parameters of this case stand."""
    all_rows: tuple[Where, ...] = ()
    """The cases that share what is not among these parameters."""

    def owns(self, source: SuiteSource, change: Iterable[Edit]) -> bool:
        """Tell whether no other case depends on what edits of a source replace."""
        return all(
            any(
                name == source.name and start <= edit.start and edit.end <= end
                for name, start, end in self.own
            )
            for edit in change
        )
