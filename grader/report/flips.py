"""Compare two graded files: which samples flipped, and what else differs about them."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice

from grader.model import Conditions
from grader.model.verdict import Verdict
from grader.report.index import IndexedRow

SHOWN = 100
"""Most flips in the table of the overview; the filter of the samples finds all."""

ONLY_A_LIMIT = "nothing recorded, but one of them hit a limit"
NOTHING = "nothing recorded: flaky, or the tests or the grader changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A sample whose verdict differs."""

    here: IndexedRow
    there: IndexedRow
    reasons: tuple[str, ...]
    """The other differences; never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """The differences of one file from another."""

    other: str
    """The other file's name."""
    common: int
    only_here: int
    only_there: int
    changed: int
    """Samples whose verdicts differ."""
    gained: int
    """Samples that pass here and did not there."""
    lost: int
    reasons: tuple[tuple[str, int], ...]
    """Reasons with their counts, most frequent first; a flip may have several."""
    found: Mapping[int, Flip]
    """By the line in this file."""
    pairs: Mapping[int, IndexedRow]
    """The same sample in the other file, by the line in this file."""

    @property
    def shown(self) -> list[Flip]:
        """The first flips, at most `SHOWN`."""
        return list(islice(self.found.values(), SHOWN))


def flips_of(here: Sequence[IndexedRow], there: Sequence[IndexedRow], other: str) -> Flips:
    """Compare two files.

    Samples are paired by name. Samples with the same name are paired in the order of the rows that
    they were graded from.
    """
    waiting: dict[str, deque[IndexedRow]] = defaultdict(deque)
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
        pairs={here.line: there for here, there in pairs},
    )


def _reasons(here: IndexedRow, there: IndexedRow) -> tuple[str, ...]:
    found = tuple(_differences(here, there))
    if found:
        return found
    return (NOTHING if here.limit_hit is there.limit_hit else ONLY_A_LIMIT,)


def _differences(here: IndexedRow, there: IndexedRow) -> Iterator[str]:
    if here.graded is not there.graded:
        yield "an internal error"
    if here.completion_crc != there.completion_crc:
        yield "the completion"
    elif here.code_crc != there.code_crc:
        yield "the extracted code"
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
