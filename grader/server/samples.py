"""The graded samples that the live page shows, bounded by number, memory and time.

They are only in this process's memory, with a queue as well as without: this process has both
the completion and its report, and completions are not stored anywhere that would have to be
cleaned up. See docs/adr/0070-samples-in-memory.md.
"""

import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from grader.config.server import KeepSamples, KeepSettings
from grader.model import CaseResult, Evidence, GradeReport
from grader.model.verdict import LIMIT_VERDICTS, Verdict

_CASES = 200
"""Most cases of a kept report; cases that did not pass take precedence."""
_CASE_BYTES = 1024
"""Memory of the records of a case besides their texts, rounded up."""
_SAMPLE_BYTES = 2048


class SampleKind(StrEnum):
    """Why a sample deserves a look; if there are several reasons, the most serious."""

    ATTACK = "attack"
    """It has a sign of an attack on the grader, whatever its verdict."""
    UNGRADED = "ungraded"
    """Not graded, through our fault or that of the tests."""
    LIMIT = "limit"
    FAILED = "failed"
    PASSED = "passed"


def kind_of(report: GradeReport) -> SampleKind:
    """Return the kind of a report's sample."""
    if report.suspicion or report.verdict is Verdict.TAMPERED:
        return SampleKind.ATTACK
    if not report.graded:
        return SampleKind.UNGRADED
    if report.verdict in LIMIT_VERDICTS:
        return SampleKind.LIMIT
    return SampleKind.PASSED if report.verdict is Verdict.PASSED else SampleKind.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSample:
    """A graded sample. All texts in it were written by a model or a client."""

    id: str
    """The client's id, which need not be unique."""
    problem_id: str | None
    prompt: str
    completion: str
    report: GradeReport
    endpoint: str
    """The path of its request; empty if not known."""
    at: float
    """When its report was finished, in seconds since 1970."""
    took_s: float
    reference: str = ""
    """A right answer; empty if the label has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A sample in the store."""

    key: str
    """Unique, also among the samples of earlier processes."""
    kind: SampleKind
    sample: GradedSample
    size: int
    """Estimated bytes of memory."""
    expires: float
    """By the store's clock."""

    @property
    def number(self) -> int:
        """Its number among the samples of this process."""
        return int(self.key.rpartition("-")[2])

    @property
    def name(self) -> str:
        """A name for people, since many clients send no ids."""
        return self.sample.id or self.sample.problem_id or f"sample {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """How many samples a store keeps, and their size."""

    by_kind: dict[SampleKind, int]
    size: int
    """Estimated bytes."""


class SampleStore:
    """Keeps the newest samples of each kind. Safe for many threads."""

    def __init__(self, settings: KeepSettings, clock: Callable[[], float] = time.monotonic) -> None:
        """Start empty."""
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._shelves: dict[SampleKind, OrderedDict[str, Kept]] = {
            kind: OrderedDict() for kind in SampleKind
        }
        self._sizes = dict.fromkeys(SampleKind, 0)
        self._boot = secrets.token_hex(4)
        self._count = 0

    @property
    def settings(self) -> KeepSettings:
        """Which samples it keeps, how many and for how long."""
        return self._settings

    def wants(self, kind: SampleKind) -> bool:
        """Tell whether samples of a kind are kept."""
        match self._settings.samples:
            case KeepSamples.NONE:
                return False
            case KeepSamples.FAILED:
                return kind is not SampleKind.PASSED
            case KeepSamples.ALL:
                return True

    def add(self, sample: GradedSample) -> Kept | None:
        """Keep a sample, and drop old ones if needed; None if its kind is not kept."""
        kind = kind_of(sample.report)
        if not self.wants(kind):
            return None
        sample = _fitted(sample, self._settings.sample_bytes)
        size = _size(sample)
        with self._lock:
            now = self._clock()
            self._count += 1
            kept = Kept(
                key=f"{self._boot}-{self._count}",
                kind=kind,
                sample=sample,
                size=size,
                expires=now + self._settings.lifetime_s,
            )
            self._expire(now)
            self._shelves[kind][kept.key] = kept
            self._sizes[kind] += size
            if len(self._shelves[kind]) > self._settings.count:
                self._drop_oldest(kind)
            while sum(self._sizes.values()) > self._settings.total_bytes:
                # From the largest kind, so that a flood of one kind does not displace the others.
                self._drop_oldest(max(SampleKind, key=self._sizes.__getitem__))
        return kept

    def get(self, key: str) -> Kept | None:
        """Return a sample; None if it is not kept, or no longer."""
        with self._lock:
            self._expire(self._clock())
            return next((shelf[key] for shelf in self._shelves.values() if key in shelf), None)

    def newest(self, kinds: Iterable[SampleKind], most: int) -> list[Kept]:
        """Return the newest samples of some kinds, the newest first."""
        with self._lock:
            self._expire(self._clock())
            tails = [_last(self._shelves[kind], most) for kind in set(kinds)]
        found = sorted(
            (kept for tail in tails for kept in tail), key=lambda kept: kept.number, reverse=True
        )
        return found[:most]

    def counts(self) -> StoreCounts:
        """Return the counts at this moment."""
        with self._lock:
            self._expire(self._clock())
            return StoreCounts(
                by_kind={kind: len(shelf) for kind, shelf in self._shelves.items()},
                size=sum(self._sizes.values()),
            )

    def _expire(self, now: float) -> None:
        for kind, shelf in self._shelves.items():
            while shelf and next(iter(shelf.values())).expires <= now:
                self._drop_oldest(kind)

    def _drop_oldest(self, kind: SampleKind) -> None:
        _, oldest = self._shelves[kind].popitem(last=False)
        self._sizes[kind] -= oldest.size


def _last(shelf: OrderedDict[str, Kept], most: int) -> list[Kept]:
    newest_first = reversed(shelf.values())
    return [kept for _, kept in zip(range(most), newest_first, strict=False)]


# ---------------------------------------------------------------- sizes


def _size(sample: GradedSample) -> int:
    """Return an estimate of the memory that a sample takes, in bytes."""
    report = sample.report
    texts = (
        sample.id,
        sample.problem_id,
        sample.prompt,
        sample.reference,
        sample.completion,
    )
    return (
        _SAMPLE_BYTES
        + _bytes(*texts, report.feedback, report.code)
        + sum(map(_case_size, report.cases))
        + _evidence_size(report.output)
    )


def _case_size(case: CaseResult) -> int:
    return _CASE_BYTES + _bytes(case.id, case.feedback) + _evidence_size(case.evidence)


def _evidence_size(found: Evidence | None) -> int:
    if found is None:
        return 0
    return _bytes(found.input, found.expected, found.got, found.stdout, found.stderr)


def _bytes(*texts: str | None) -> int:
    return sum(sys.getsizeof(text) for text in texts if text is not None)


def _fitted(sample: GradedSample, room: int) -> GradedSample:
    """Return a sample that takes at most about `room` bytes.

    If needed, long texts lose their middle first, then cases their evidence, then cases are
    dropped.
    """
    report = sample.report
    if len(report.cases) <= _CASES and _size(sample) <= room:
        return sample
    # Python may take four bytes for a character, and four texts may be long.
    most = room // 20
    sample = replace(
        sample,
        id=_cut(sample.id, most // 16),
        problem_id=None if sample.problem_id is None else _cut(sample.problem_id, most // 16),
        prompt=_cut(sample.prompt, most),
        reference=_cut(sample.reference, most),
        completion=_cut(sample.completion, most),
        report=replace(
            report, cases=(), code=None if report.code is None else _cut(report.code, most)
        ),
    )
    if _size(sample) > room:
        sample = replace(sample, report=replace(sample.report, output=None))
    cases = _those_that_fit(report.cases, room - _size(sample))
    return replace(sample, report=replace(sample.report, cases=cases))


def _those_that_fit(cases: tuple[CaseResult, ...], room: int) -> tuple[CaseResult, ...]:
    """Return the cases that fit, in their order; cases that did not pass take precedence."""
    order = sorted(range(len(cases)), key=lambda i: cases[i].verdict is Verdict.PASSED)
    fitting: dict[int, CaseResult] = {}
    for index in order[:_CASES]:
        for case in (cases[index], replace(cases[index], evidence=None)):
            if (size := _case_size(case)) <= room:
                fitting[index] = case
                room -= size
                break
    return tuple(fitting[index] for index in sorted(fitting))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    left_out = f"\n⋯ {len(text) - most:,} characters left out ⋯\n"
    return f"{text[: most - most // 3]}{left_out}{text[len(text) - most // 3 :]}"
