"""Compare two graded files: which samples flipped, and what else differs about them."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from grader.model import Conditions
from grader.model.verdict import Verdict
from grader.report.index import IndexedRow

ONLY_A_LIMIT = "nothing recorded, but one of them hit a limit"
NOTHING = "nothing recorded: flaky, or the tests or the grader changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A sample whose verdict differs."""

    new: IndexedRow
    old: IndexedRow
    reasons: tuple[str, ...]
    """The other differences; never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """The differences of one file from another."""

    other: str
    """The other file's name."""
    common: int
    only_new: int
    only_old: int
    changed: int
    """Samples whose verdicts differ."""
    gained: int
    """Samples that pass now and did not before."""
    lost: int
    reasons: tuple[tuple[str, int], ...]
    """Reasons with their counts, most frequent first; a flip may have several."""
    found: Mapping[int, Flip]
    """By the line in this file."""
    pairs: Mapping[int, IndexedRow]
    """The same sample in the other file, by the line in this file."""


def flips_of(new: Sequence[IndexedRow], old: Sequence[IndexedRow], other: str) -> Flips:
    """Compare two files.

    Samples are paired by name. Samples with the same name are paired in the order of the rows that
    they were graded from.
    """
    waiting: dict[str, deque[IndexedRow]] = defaultdict(deque)
    for entry in sorted(old, key=lambda each: each.source_line):
        waiting[entry.name].append(entry)
    pairs = [
        (entry, waiting[entry.name].popleft())
        for entry in sorted(new, key=lambda each: each.source_line)
        if waiting[entry.name]
    ]
    found = [
        Flip(new=a, old=b, reasons=_reasons(a, b)) for a, b in pairs if a.verdict is not b.verdict
    ]
    counts = Counter(reason for flip in found for reason in flip.reasons)
    return Flips(
        other=other,
        common=len(pairs),
        only_new=len(new) - len(pairs),
        only_old=len(old) - len(pairs),
        changed=len(found),
        gained=sum(flip.new.verdict is Verdict.PASSED for flip in found),
        lost=sum(flip.old.verdict is Verdict.PASSED for flip in found),
        reasons=tuple(counts.most_common()),
        found={flip.new.line: flip for flip in found},
        pairs={new.line: old for new, old in pairs},
    )


def _reasons(new: IndexedRow, old: IndexedRow) -> tuple[str, ...]:
    found = tuple(_differences(new, old))
    if found:
        return found
    return (NOTHING if new.limit_hit is old.limit_hit else ONLY_A_LIMIT,)


def _differences(new: IndexedRow, old: IndexedRow) -> Iterator[str]:
    if new.graded is not old.graded:
        yield "an internal error"
    if new.completion_crc != old.completion_crc:
        yield "the completion"
    elif new.code_crc != old.code_crc:
        yield "the extracted code"
    a, b = new.conditions, old.conditions
    if a is not None and b is not None:
        yield from _conditions(a, b)
    if new.integrity and old.integrity and new.integrity != old.integrity:
        yield f"where it was judged ({old.integrity} → {new.integrity})"
    if new.total != old.total and new.graded and old.graded:
        yield "the number of cases"


def _conditions(new: Conditions, old: Conditions) -> Iterator[str]:
    if new.extraction is not old.extraction:
        yield f"the extraction rule ({old.extraction} → {new.extraction})"
    if new.image != old.image:
        yield f"the image ({old.image} → {new.image})"
    if new.format != old.format:
        yield f"the label format ({old.format} → {new.format})"
    for limit in fields(new.limits):
        a, b = getattr(new.limits, limit.name), getattr(old.limits, limit.name)
        if a != b:
            yield f"the limit {limit.name} ({b:g} → {a:g})"
    if new.stop_early is not old.stop_early:
        yield "stopping early"
