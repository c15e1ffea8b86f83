"""The tables of samples and problems, as data for the page's script."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from grader.model.verdict import Verdict
from grader.report.batch import VALUE_DIGITS, Batch, ProblemSummary, cpu_share, memory_share
from grader.report.comparison import Delta, RunComparison
from grader.report.flips import Flips
from grader.report.index import IndexedRow
from grader.report.trends import Trends
from grader.text.visible import visible_line

Block = tuple[int, int]
"""The place of a sample's page in a single file: the number of a block, and the index in it."""

_SAMPLE_COLUMNS = (
    "line",
    "name",
    "problem",
    "verdict",
    "reward",
    "score",
    "passed",
    "total",
    "cpu",
    "cpu_share",
    "memory",
    "memory_share",
    "limit",
    "suspicion",
    "family",
    "ungraded",
    "hack",
    "flipped",
    "before",
    "reward_before",
    "change",
    "differs",
    "feedback",
    "step",
    "dataset",
    "format",
    "language",
    "policy",
    "image",
    "integrity",
    "characters",
    "block",
)

SEARCH_NUMBERS = (
    "reward score change reward_before passed total cpu cpu_share memory memory_share characters"
    " step"
).split()
SEARCH_TEXTS = (
    "name problem verdict before suspicion family limit differs feedback dataset format language"
    " policy image integrity"
).split()
SEARCH_FLAGS = ("ungraded", "hack", "flipped")
"""The columns that the search of the page takes, by what they hold."""


def tables(
    entries: Sequence[IndexedRow],
    batch: Batch,
    *,
    blocks: Mapping[int, Block] | None = None,
    flips: Flips | None = None,
    comparison: RunComparison | None = None,
    trends: Trends | None = None,
) -> dict[str, Any]:
    """Return the tables. Their texts are made visible here; the script inserts them as text.

    Args:
        entries: The rows of the file, in its order.
        batch: Their summary.
        blocks: By line, the place of a sample's page; None: the server makes each page.
        flips: The same samples in another file; None if there is none.
        comparison: The figures of both files; None if there is no other.
        trends: How the figures move; None if they do not.
    """
    blocks = blocks or {}
    return {
        "samples": {
            "columns": _SAMPLE_COLUMNS,
            "rows": [(*_sample_row(entry, flips), blocks.get(entry.line)) for entry in entries],
        },
        "problems": _problem_table(batch, trends, comparison),
    }


def _sample_row(entry: IndexedRow, flips: Flips | None) -> tuple[Any, ...]:
    usage = entry.usage
    conditions = entry.conditions
    before = flips.pairs.get(entry.line) if flips else None
    flip = flips.found.get(entry.line) if flips else None
    reward, old_reward = _reward(entry), _reward(before) if before else None
    return (
        entry.line,
        visible_line(entry.name),
        visible_line(entry.problem),
        entry.verdict,
        reward,
        round(entry.score, VALUE_DIGITS) if entry.graded else None,
        entry.passed,
        entry.total,
        None if usage.cpu_time_s is None else round(usage.cpu_time_s, 6),
        cpu_share(entry),
        usage.peak_memory_bytes,
        memory_share(entry),
        (entry.limit_hit or "").replace("_", " "),
        ", ".join(sign.replace("_", " ") for sign in entry.suspicion),
        ", ".join(entry.families),
        not entry.graded,
        entry.is_hack,
        flip is not None,
        before.verdict if before else "",
        old_reward,
        None if reward is None or old_reward is None else round(reward - old_reward, VALUE_DIGITS),
        visible_line(", ".join(flip.reasons)) if flip else "",
        visible_line(entry.feedback),
        entry.step,
        visible_line(entry.dataset),
        conditions.format if conditions else "",
        conditions.language if conditions else "",
        visible_line(entry.policy),
        visible_line(conditions.image) if conditions else "",
        entry.integrity,
        entry.completion_chars,
    )


def _reward(entry: IndexedRow) -> float | None:
    return round(entry.reward, VALUE_DIGITS) if entry.graded else None


def _problem_table(
    batch: Batch, trends: Trends | None, comparison: RunComparison | None
) -> dict[str, Any]:
    ks = [point.k for point in batch.pass_at if point.k > 1]
    columns = (
        "id samples passed rate reward verdicts marks hacks paid_hacks early late change"
        " reward_before gain effect"
    ).split()
    early, late = ({}, {}) if trends is None else map(_rates, trends.halves())
    deltas = {delta.name: delta for delta in comparison.problems} if comparison else {}
    return {
        "columns": (*columns, *(f"pass_at_{k}" for k in ks)),
        "rows": [
            _problem_row(p, early.get(p.id), late.get(p.id), deltas.get(p.id))
            for p in batch.problems
        ],
    }


def _rates(entries: Sequence[IndexedRow]) -> dict[str, float]:
    """Return the pass rate of each problem with graded samples."""
    graded: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for entry in entries:
        graded[entry.problem] += entry.graded
        passed[entry.problem] += entry.verdict is Verdict.PASSED
    return {id: passed[id] / count for id, count in graded.items() if count}


def _problem_row(
    problem: ProblemSummary, early: float | None, late: float | None, delta: Delta | None
) -> tuple[Any, ...]:
    marks = [
        mark for mark, holds in (("flaky", problem.flaky), ("broken", problem.broken)) if holds
    ]
    rate = problem.passed / problem.samples if problem.samples else None
    return (
        visible_line(problem.id),
        problem.samples,
        problem.passed,
        rate,
        problem.mean_reward,
        problem.verdicts,
        marks,
        problem.hacks,
        problem.paid_hacks,
        early,
        late,
        None if early is None or late is None else late - early,
        delta and delta.old.value,
        delta and delta.difference,
        delta.effect if delta else "",
        *problem.pass_at[1:],
    )
