"""The tables of samples and problems, as data for the page's script."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from grader.model.verdict import Verdict
from grader.report.batch import Batch, ProblemSummary
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
    "limit",
    "suspicion",
    "ungraded",
    "flipped",
    "feedback",
    "step",
    "dataset",
    "format",
    "language",
    "block",
)


def tables(
    entries: Sequence[IndexedRow],
    batch: Batch,
    *,
    blocks: Mapping[int, Block] | None = None,
    flipped: frozenset[int] = frozenset(),
    trends: Trends | None = None,
) -> dict[str, Any]:
    """Return the tables. Their texts are made visible here; the script inserts them as text.

    Args:
        entries: The rows of the file, in its order.
        batch: Their summary.
        blocks: By line, the place of a sample's page; None: the server makes each page.
        flipped: Lines of the samples whose verdict differs in another file.
        trends: How the figures move; None if they do not.
    """
    blocks = blocks or {}
    return {
        "samples": {
            "columns": _SAMPLE_COLUMNS,
            "rows": [
                _sample_row(entry, blocks.get(entry.line), entry.line in flipped)
                for entry in entries
            ],
        },
        "problems": _problem_table(batch, trends),
    }


def _sample_row(entry: IndexedRow, block: Block | None, flipped: bool) -> tuple[Any, ...]:
    usage = entry.usage
    limits = entry.conditions.limits if entry.conditions else None
    cpu = usage.cpu_time_s
    return (
        entry.line,
        visible_line(entry.name),
        visible_line(entry.problem),
        entry.verdict,
        round(entry.reward, 4) if entry.graded else None,
        round(entry.score, 4) if entry.graded else None,
        entry.passed,
        entry.total,
        None if cpu is None else round(cpu, 6),
        None if cpu is None or limits is None else round(cpu / limits.cpu_time_s, 3),
        usage.peak_memory_bytes,
        (entry.limit_hit or "").replace("_", " "),
        ", ".join(sign.replace("_", " ") for sign in entry.suspicion),
        not entry.graded,
        flipped,
        visible_line(entry.feedback),
        entry.step,
        visible_line(entry.dataset),
        entry.conditions.format if entry.conditions else "",
        entry.conditions.language if entry.conditions else "",
        block,
    )


def _problem_table(batch: Batch, trends: Trends | None) -> dict[str, Any]:
    ks = [point.k for point in batch.pass_at if point.k > 1]
    columns = (
        "id samples passed rate reward verdicts marks hacks paid_hacks early late change".split()
    )
    early, late = ({}, {}) if trends is None else map(_rates, trends.halves())
    return {
        "columns": (*columns, *(f"pass_at_{k}" for k in ks)),
        "rows": [
            _problem_row(problem, early.get(problem.id), late.get(problem.id))
            for problem in batch.problems
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
    problem: ProblemSummary, early: float | None, late: float | None
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
        *problem.pass_at[1:],
    )
