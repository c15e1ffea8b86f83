"""Summarise a graded file: counts, distributions, problems, and what deserves a look."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grader.model import Conditions
from grader.model.verdict import Suspicion, Verdict
from grader.report.index import IndexedRow
from grader.scoring.statistics import PASS_AT, PassAt, pass_at_k

SHOWN = 8
"""Most rows in each list of what deserves a look."""
SHARE_BINS = 10
"""Bins of the share of a limit; one more bin has the samples that hit it."""
VALUE_DIGITS = 4
"""Decimals of rewards, scores and shares in the tables and in searches."""
_MOST_VALUES = 12
_VALUE_BINS = 20
_DIGITS = re.compile(r"\d+|0x[0-9a-f]+|'[^']{0,200}'|\"[^\"]{0,200}\"")
_BROKEN = "SuiteError: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A bar of a histogram."""

    label: str
    count: int
    search: str = ""
    """What finds its samples on the page of the report, such as `reward=1`; "": nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSummary:
    """The samples of one problem."""

    id: str
    samples: int
    """Graded samples."""
    passed: int
    mean_reward: float | None
    verdicts: tuple[tuple[Verdict, int], ...]
    pass_at: tuple[float | None, ...]
    """For each k of `Batch.pass_at`; None: the problem has fewer than k samples."""
    flaky: bool
    """Whether equal code got different verdicts."""
    broken: bool
    """Whether its suite is broken; then none of its samples was graded."""
    hacks: int
    """Samples with a sign of an attack."""
    paid_hacks: int
    """Those of them that passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Internal errors with the same cause."""

    words: str
    count: int
    first: IndexedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The summary of a graded file."""

    samples: int
    graded: int
    passed: int
    mean_reward: float | None
    mean_score: float | None
    verdicts: tuple[tuple[Verdict, int], ...]
    rewards: tuple[Bin, ...]
    scores: tuple[Bin, ...]
    cpu_shares: tuple[Bin, ...]
    """Samples by the share of the CPU time limit that their longest run used."""
    memory_shares: tuple[Bin, ...]
    pass_at: tuple[PassAt, ...]
    problems: tuple[ProblemSummary, ...]
    """The worst first."""
    flaky: tuple[ProblemSummary, ...]
    broken: tuple[ProblemSummary, ...]
    slowest: tuple[IndexedRow, ...]
    largest: tuple[IndexedRow, ...]
    """By memory."""
    longest: tuple[IndexedRow, ...]
    """By the length of the completion."""
    suspicion: tuple[tuple[Suspicion, int, IndexedRow], ...]
    """Each sign, the number of samples with it, and the first of them."""
    causes: tuple[Cause, ...]
    policies: tuple[str, ...]
    conditions: tuple[Conditions, ...]
    cpu_time_s: float


def batch_of(entries: Sequence[IndexedRow]) -> Batch:
    """Return the summary of indexed rows."""
    graded = [entry for entry in entries if entry.graded]
    counts = Counter(entry.verdict for entry in entries)
    problems, pass_at = _problems(entries)
    return Batch(
        samples=len(entries),
        graded=len(graded),
        passed=counts[Verdict.PASSED],
        mean_reward=_mean(entry.reward for entry in graded),
        mean_score=_mean(entry.score for entry in graded),
        verdicts=tuple((verdict, counts[verdict]) for verdict in Verdict if counts[verdict]),
        rewards=_values("reward", [entry.reward for entry in graded], -1, 1),
        scores=_values("score", [entry.score for entry in graded], 0, 1),
        cpu_shares=_shares("cpu_share", entries, cpu_share),
        memory_shares=_shares("memory_share", entries, memory_share),
        pass_at=pass_at,
        problems=problems,
        flaky=tuple(problem for problem in problems if problem.flaky),
        broken=tuple(problem for problem in problems if problem.broken),
        slowest=_top(entries, lambda entry: entry.usage.cpu_time_s),
        largest=_top(entries, lambda entry: entry.usage.peak_memory_bytes),
        longest=_top(entries, lambda entry: entry.completion_chars or None),
        suspicion=_suspicion(entries),
        causes=_causes(entries),
        policies=tuple(sorted({entry.policy for entry in entries})),
        conditions=tuple({entry.conditions for entry in entries if entry.conditions}),
        cpu_time_s=sum(entry.cpu_in_all_s for entry in entries),
    )


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def _top(
    entries: Sequence[IndexedRow], key: Callable[[IndexedRow], float | None]
) -> tuple[IndexedRow, ...]:
    measured = [(value, entry) for entry in entries if (value := key(entry)) is not None]
    measured.sort(key=lambda pair: -pair[0])
    return tuple(entry for _, entry in measured[:SHOWN])


# ---------------------------------------------------------------- distributions


def _values(column: str, values: Sequence[float], low: float, high: float) -> tuple[Bin, ...]:
    """Return a bar per value if there are few values, as with most policies; else equal bins."""
    counts = Counter(round(value, VALUE_DIGITS) for value in values)
    if len(counts) <= _MOST_VALUES:
        return tuple(
            Bin(label=f"{value:.3g}", count=counts[value], search=f"{column}={value:.10g}")
            for value in sorted(counts)
        )
    # The first and the last bin also have what lies outside of the bounds.
    width = (high - low) / _VALUE_BINS
    edges = [round(low + number * width, VALUE_DIGITS) for number in range(_VALUE_BINS)]
    binned: Counter[int] = Counter()
    for value, count in counts.items():
        binned[max(0, bisect_right(edges, value) - 1)] += count
    return tuple(
        Bin(label=f"{low:.2g}", count=binned[number], search=_between(column, edges, number))
        for number, low in enumerate(edges)
    )


def _between(column: str, edges: Sequence[float], number: int) -> str:
    """Return the search for the bin from the edge of a number to the next edge."""
    from_here = [f"{column}>={edges[number]:.10g}"] if number else []
    to_next = [f"{column}<{edge:.10g}" for edge in edges[number + 1 : number + 2]]
    return " ".join(from_here + to_next)


def _shares(
    column: str, entries: Sequence[IndexedRow], share: Callable[[IndexedRow], float | None]
) -> tuple[Bin, ...]:
    found = [value for entry in entries if (value := share(entry)) is not None]
    if not found:
        return ()
    edges = [number / SHARE_BINS for number in range(SHARE_BINS + 1)]
    binned = Counter(bisect_right(edges, value) - 1 for value in found)
    labels = [f"{100 * number // SHARE_BINS}" for number in range(SHARE_BINS)]
    return tuple(
        Bin(label=label, count=binned[number], search=_between(column, edges, number))
        for number, label in enumerate([*labels, "hit"])
    )


def cpu_share(entry: IndexedRow) -> float | None:
    """Return the share of the CPU time limit that a sample's longest run used, if known."""
    limits = entry.conditions.limits if entry.conditions else None
    return _share(entry.usage.cpu_time_s, limits.cpu_time_s if limits else None)


def memory_share(entry: IndexedRow) -> float | None:
    """Return the share of the memory limit that a sample's largest run used, if known."""
    limits = entry.conditions.limits if entry.conditions else None
    return _share(entry.usage.peak_memory_bytes, limits.memory_bytes if limits else None)


def _share(used: float | None, limit: float | None) -> float | None:
    return None if used is None or limit is None else round(used / limit, VALUE_DIGITS)


# ---------------------------------------------------------------- problems


def _problems(
    entries: Sequence[IndexedRow],
) -> tuple[tuple[ProblemSummary, ...], tuple[PassAt, ...]]:
    samples: dict[str, list[IndexedRow]] = defaultdict(list)
    for entry in entries:
        samples[entry.problem].append(entry)
    graded = {id: [e for e in found if e.graded] for id, found in samples.items()}
    most = max((len(found) for found in graded.values()), default=0)
    ks = [k for k in PASS_AT if k <= most]
    problems = [_problem(id, samples[id], graded[id], ks) for id in samples]
    pass_at = []
    for index, k in enumerate(ks):
        values = [v for problem in problems if (v := problem.pass_at[index]) is not None]
        pass_at.append(PassAt(k=k, value=sum(values) / len(values), problems=len(values)))
    problems.sort(key=lambda p: (p.passed / p.samples if p.samples else -1, p.id))
    return tuple(problems), tuple(pass_at)


def _problem(
    id: str, entries: list[IndexedRow], graded: list[IndexedRow], ks: Sequence[int]
) -> ProblemSummary:
    counts = Counter(entry.verdict for entry in entries)
    passed = counts[Verdict.PASSED]
    verdicts_of: dict[int, set[Verdict]] = defaultdict(set)
    for entry in graded:
        if entry.code_crc is not None:
            verdicts_of[entry.code_crc].add(entry.verdict)
    return ProblemSummary(
        id=id,
        samples=len(graded),
        passed=passed,
        mean_reward=_mean(entry.reward for entry in graded),
        verdicts=tuple((verdict, counts[verdict]) for verdict in Verdict if counts[verdict]),
        pass_at=tuple(pass_at_k(len(graded), passed, k) if k <= len(graded) else None for k in ks),
        flaky=any(len(verdicts) > 1 for verdicts in verdicts_of.values()),
        hacks=sum(entry.is_hack for entry in entries),
        paid_hacks=sum(entry.is_hack and entry.verdict is Verdict.PASSED for entry in entries),
        broken=any(entry.feedback.startswith(_BROKEN) for entry in entries if not entry.graded),
    )


# ---------------------------------------------------------------- what deserves a look


def _suspicion(entries: Sequence[IndexedRow]) -> tuple[tuple[Suspicion, int, IndexedRow], ...]:
    showing: dict[Suspicion, list[IndexedRow]] = defaultdict(list)
    for entry in entries:
        for sign in entry.suspicion:
            showing[sign].append(entry)
    return tuple(
        (sign, len(showing[sign]), showing[sign][0]) for sign in Suspicion if sign in showing
    )


def _causes(entries: Sequence[IndexedRow]) -> tuple[Cause, ...]:
    """Group internal errors by their feedback, without the numbers and names in it."""
    groups: dict[str, list[IndexedRow]] = defaultdict(list)
    for entry in entries:
        if not entry.graded:
            groups[_DIGITS.sub("…", entry.feedback)].append(entry)
    causes = [Cause(words=words, count=len(g), first=g[0]) for words, g in groups.items()]
    causes.sort(key=lambda cause: -cause.count)
    return tuple(causes[:SHOWN])
