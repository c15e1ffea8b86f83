"""Two graded files side by side: which samples flipped, and what else differs about them."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice

from grader.model import Conditions
from grader.model.verdict import Verdict
from grader.report.index import Entry

SHOWN = 100
"""Flips in the table of the overview; the filter of the samples finds all of them."""

ONLY_A_LIMIT = "nothing that is recorded, but one of them hit a limit"
NOTHING = "nothing that is recorded: flaky, or the tests or the grader changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A sample whose verdict differs."""

    here: Entry
    there: Entry
    reasons: tuple[str, ...]
    """What else differs; never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """How one file differs from another."""

    other: str
    """The other file's name."""
    common: int
    only_here: int
    only_there: int
    changed: int
    """Samples with another verdict."""
    gained: int
    """Samples that pass here and did not there."""
    lost: int
    reasons: tuple[tuple[str, int], ...]
    """Most frequent first; a flip may have several."""
    found: Mapping[int, Flip]
    """By the line in this file."""

    @property
    def shown(self) -> list[Flip]:
        """The first of them."""
        return list(islice(self.found.values(), SHOWN))


def flips_of(here: Sequence[Entry], there: Sequence[Entry], other: str) -> Flips:
    """Compare two files.

    Samples are told apart by their names; those that share one are paired in the order of the rows
    that they were graded from.
    """
    waiting: dict[str, deque[Entry]] = defaultdict(deque)
    for entry in sorted(there, key=lambda each: each.source_line):
        waiting[entry.name].append(entry)
    pairs = [
        (entry, waiting[entry.name].popleft())
        for entry in sorted(here, key=lambda each: each.source_line)
        if waiting[entry.name]
    ]
    found = [
        Flip(here=a, there=b, reasons=_reasons(a, b))
        for a, b in pairs
        if a.verdict is not b.verdict
    ]
    counts = Counter(reason for flip in found for reason in flip.reasons)
    return Flips(
        other=other,
        common=len(pairs),
        only_here=len(here) - len(pairs),
        only_there=len(there) - len(pairs),
        changed=len(found),
        gained=sum(flip.here.verdict is Verdict.PASSED for flip in found),
        lost=sum(flip.there.verdict is Verdict.PASSED for flip in found),
        reasons=tuple(counts.most_common()),
        found={flip.here.line: flip for flip in found},
    )


def _reasons(here: Entry, there: Entry) -> tuple[str, ...]:
    found = tuple(_differences(here, there))
    if found:
        return found
    return (NOTHING if here.limit_hit is there.limit_hit else ONLY_A_LIMIT,)


def _differences(here: Entry, there: Entry) -> Iterator[str]:
    if here.graded is not there.graded:
        yield "an internal error"
    if here.completion_crc != there.completion_crc:
        yield "the completion"
    elif here.code_crc != there.code_crc:
        yield "what was extracted"
    a, b = here.conditions, there.conditions
    if a is not None and b is not None:
        yield from _conditions(a, b)
    if here.integrity and there.integrity and here.integrity != there.integrity:
        yield f"where it was judged ({there.integrity} → {here.integrity})"
    if here.total != there.total and here.graded and there.graded:
        yield "the number of cases"


def _conditions(here: Conditions, there: Conditions) -> Iterator[str]:
    if here.extraction is not there.extraction:
        yield f"the extraction rule ({there.extraction} → {here.extraction})"
    if here.image != there.image:
        yield f"the image ({there.image} → {here.image})"
    if here.format != there.format:
        yield f"the label format ({there.format} → {here.format})"
    for limit in fields(here.limits):
        a, b = getattr(here.limits, limit.name), getattr(there.limits, limit.name)
        if a != b:
            yield f"the limit {limit.name} ({b:g} → {a:g})"
    if here.stop_early is not there.stop_early:
        yield "stopping early"
