"""What a label format is: how its rows are recognised, and how one becomes a TestSuite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.model import TestSuite

Row = Mapping[str, object]
"""A label or a problem row: a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A row that says nothing about tests itself: it wraps another label or names a problem."""

    label: object = None
    """The label inside, in any format."""
    problem: str | None = None
    """Else the id of a problem of the caller's `ProblemIndex`."""
    problem_id: str | None = None
    prompt: str = ""
    reference: str | None = None


def _always(_row: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One label format, as `grader formats` lists it."""

    name: str
    summary: str
    fields: tuple[frozenset[str], ...]
    """A row is of this format when it has all the fields of at least one of these sets."""
    example: Row
    """A whole row, as small as it gets."""
    read: Callable[[Row], TestSuite | Envelope]
    """Turn a recognised row into its suite.

    Raises:
        LabelError: A field does not hold what the format puts there.
        SuiteError: The tests themselves are broken.
    """
    accepts: Callable[[Row], bool] = _always
    """What must hold of the row besides; for formats that share their field names."""
    precedes: tuple[str, ...] = ()
    """The formats that it wins over where a row is recognised by both: its row says more."""

    def recognises(self, row: Row, has: frozenset[str]) -> bool:
        """Return whether `row` is of this format; `has` are the fields `present` in it."""
        return any(has >= wanted for wanted in self.fields) and self.accepts(row)


def present(row: Row) -> frozenset[str]:
    """Return the fields that hold something; tables with a column per format pad with nulls."""
    return frozenset(name for name, value in row.items() if value is not None)


def fields(*alternatives: str) -> tuple[frozenset[str], ...]:
    """Return the field sets that blank-separated `alternatives` name."""
    return tuple(frozenset(names.split()) for names in alternatives)
