"""Compare both sides of pairs, and print the differences."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agreement.mutants import MARK
from agreement.ours import Graded
from agreement.pairs import Difference, Found, Outcome, Pair, differences
from grader.model.verdict import Verdict

SECTION = "## Where plain Python says otherwise"
"""The documentation's heading over the table of known differences."""

_SHOWN_CASES = 5
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A pair as both sides judged it."""

    graded: Graded
    plain: Outcome
    differences: tuple[Difference, ...]
    note: str = ""
    """What a second run on both sides showed about a difference."""
    unsteady: bool = False
    """Plain Python itself gives different results in two runs."""

    @property
    def differs(self) -> bool:
        """Whether the two sides differ, and not by chance."""
        return bool(self.differences) and not self.unsteady

    @property
    def pair(self) -> Pair:
        """The pair."""
        return self.graded.pair

    def as_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "id": self.pair.id,
            "mutation": self.pair.mutation,
            "way": self.graded.way,
            "integrity": self.graded.integrity,
            "plain": self.plain.passed,
            "ours": self.graded.outcome.verdict,
            "note": self.note,
            "unsteady": self.unsteady,
            "differences": [asdict(each) for each in self.differences],
        }


def compare(plain: Outcome, graded: Graded) -> Judged:
    """Return a pair with the differences between its two outcomes."""
    ours = graded.outcome
    if not plain.passed and not graded.pair.mutation:
        # If its own program fails a suite, the suite is broken; then it only must not pass.
        plain, ours = replace(plain, cases={}), replace(ours, cases={})
    found = differences(plain, ours)
    if plain.passed != ours.passed or ours.verdict != Verdict.INTERNAL_ERROR or not plain.cases:
        return Judged(graded=graded, plain=plain, differences=tuple(found))
    feedback = f"{ours.verdict}: {ours.details.get('', '')}"
    fault = Difference(case="", plain=plain.verdict, ours=feedback)
    return Judged(graded=graded, plain=plain, differences=(fault, *found))


def confirm(first: Judged, plain: Outcome, again: Graded) -> Judged:
    """Return a difference with what a second run on both sides shows."""
    if plain.passed != first.plain.passed or (
        first.plain.cases and plain.cases != first.plain.cases
    ):
        return replace(first, unsteady=True, note="plain Python says otherwise in another run")
    second = compare(plain, again)
    if second.differences:
        return first
    return replace(first, note="agrees when it is graded alone")


# ---------------------------------------------------------------- what is printed

_COLUMNS = (
    "source",
    "pairs",
    "mutants",
    "gradings",
    "agree",
    "differ",
    "unsteady",
    "broken",
    "left out",
    "missing",
)


def row(name: str, found: Found, judged: Sequence[Judged]) -> tuple[object, ...]:
    """Return a source's line of the table."""
    ids = {each.pair.id: each for each in judged}
    mutants = sum(bool(each.pair.mutation) for each in ids.values())
    return (
        name,
        len(ids) - mutants,
        mutants,
        len(judged),
        sum(not each.differences for each in judged),
        sum(each.differs for each in judged),
        sum(each.unsteady for each in judged),
        sum(not each.pair.mutation and not each.plain.passed for each in ids.values()),
        len(found.left_out),
        len(found.missing),
    )


def show_table(rows: Sequence[tuple[object, ...]]) -> None:
    """Print the table, with a line for all sources together."""
    total = ("all", *(sum(int(str(each[i])) for each in rows) for i in range(1, len(_COLUMNS))))
    for each in (_COLUMNS, *rows, total):
        name, *numbers = (str(cell) for cell in each)
        print(f"{name:<42}" + "".join(f"{number:>10}" for number in numbers))


def show_differences(judged: Judged) -> None:
    """Print the differences, with the result of each side."""
    if not judged.differences:
        return
    word = "unsteady" if judged.unsteady else "differs"
    notes = [judged.graded.way, judged.graded.integrity, judged.pair.mutation, judged.note]
    print(f"{word}: {judged.pair.id} ({'; '.join(filter(None, notes))})")
    for difference in judged.differences[:_SHOWN_CASES]:
        print(f"  {difference.case or 'as a whole'}")
        print(f"    plain: {difference.plain[:_SHOWN_CHARS]}")
        print(f"    ours:  {difference.ours[:_SHOWN_CHARS]}")
    if len(judged.differences) > _SHOWN_CASES:
        print(f"  and {len(judged.differences) - _SHOWN_CASES} more")
    sys.stdout.flush()  # a run is long, and is read as it goes


def unlisted(judged: Sequence[Judged], documentation: str) -> list[str]:
    """Return the pairs that differ and are not in the documentation's table of them.

    A program that is listed is listed with its mutants.
    """
    section = documentation.partition(SECTION)[2].partition("\n## ")[0]
    listed = set(re.findall(r"`([^`]+)`", section))
    differing = dict.fromkeys(each.pair.id for each in judged if each.differs)
    return [id for id in differing if id.partition(MARK)[0] not in listed]
