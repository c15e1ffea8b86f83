"""Which reports may be cached.

A cached report must be the one that a new run would give. So internal errors are not cached, nor
are runs that came near a limit, because they might exceed it on a busier machine. The cache itself
is in Redis (`grader.queueing`).
"""

from grader.model import GradeReport, Limits, Usage
from grader.model.verdict import LIMIT_VERDICTS, Verdict

NEAR = 0.5
"""The share of a time or memory limit beyond which a run counts as near it."""


def is_cacheable(report: GradeReport, limits: Limits) -> bool:
    """Return whether a report may be the answer to an equal submission later.

    Args:
        report: The report.
        limits: The limits that were in force for each case.
    """
    if not report.graded or report.limit_hit is not None:
        return False
    verdicts = {report.verdict, *(case.verdict for case in report.cases)}
    if verdicts & LIMIT_VERDICTS or Verdict.INTERNAL_ERROR in verdicts:
        return False
    # If each case has its own process, the report's times are sums over all cases.
    usages = [case.usage for case in report.cases if case.usage is not None]
    return not any(_is_near(usage, limits) for usage in usages or [report.usage])


def _is_near(usage: Usage, limits: Limits) -> bool:
    pairs = (
        (usage.cpu_time_s, limits.cpu_time_s),
        (usage.wall_time_s, limits.wall_time_s),
        (usage.peak_memory_bytes, limits.memory_bytes),
    )
    return any(value is not None and value > NEAR * limit for value, limit in pairs)
