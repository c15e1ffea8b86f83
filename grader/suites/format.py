"""A label format: how to recognise its rows, and how to turn one into a TestSuite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.model import TestSuite

Row = Mapping[str, object]
"""A label or a problem row: a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A row without tests of its own: it wraps another label or names a problem."""

    label: object = None
    """The label inside, in any format; not read if `problem` is set."""
    problem: str | None = None
    """The id of a problem in the caller's `ProblemIndex`."""
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
    """A row is of this format if it has all the fields of at least one of these sets."""
    example: Row
    """A complete row, as small as possible."""
    read: Callable[[Row], TestSuite | Envelope]
    """Turn a recognised row into its suite.

    Raises:
        LabelError: A field does not hold what the format puts there.
        SuiteError: The tests themselves are broken.
    """
    accepts: Callable[[Row], bool] = _always
    """A further condition on the row, for formats that share their field names."""
    precedes: tuple[str, ...] = ()
    """The formats that it wins over if both recognise a row, since it reads more of the row."""

    def recognises(self, row: Row, has: frozenset[str]) -> bool:
        """Return whether `row` is of this format; `has` is what `present` says of the row."""
        return any(has >= wanted for wanted in self.fields) and self.accepts(row)


def present(row: Row) -> frozenset[str]:
    """Return the fields that are not null; tables of several formats pad rows with nulls."""
    return frozenset(name for name, value in row.items() if value is not None)


def field_sets(*alternatives: str) -> tuple[frozenset[str], ...]:
    """Return a set of fields for each of `alternatives`, which are names separated by blanks."""
    return tuple(frozenset(names.split()) for names in alternatives)
