"""Which verdicts may stand for the same submission later.

A cached verdict has to be the one that a new run would give. So nothing that went wrong on our
side is kept, and nothing that came near a limit: there a busier machine could decide otherwise.
The store itself is in Redis (`grader.queueing`).
"""

from grader.model import GradeReport, Limits, Usage
from grader.model.verdict import LIMIT_VERDICTS, Verdict

NEAR = 0.5
"""The share of a time or memory limit beyond which a run counts as near it."""


def is_cacheable(report: GradeReport, limits: Limits) -> bool:
    """Return whether the report may be given for an equal submission without running it.

    Args:
        report: Of a run.
        limits: Those that were in force for each case of it.
    """
    if not report.graded or report.limit_hit is not None:
        return False
    verdicts = {report.verdict, *(case.verdict for case in report.cases)}
    if verdicts & LIMIT_VERDICTS or Verdict.INTERNAL_ERROR in verdicts:
        return False
    # Where cases have processes of their own, the report's times are those of all together.
    usages = [case.usage for case in report.cases if case.usage is not None]
    return not any(_is_near(usage, limits) for usage in usages or [report.usage])


def _is_near(usage: Usage, limits: Limits) -> bool:
    pairs = (
        (usage.cpu_time_s, limits.cpu_time_s),
        (usage.wall_time_s, limits.wall_time_s),
        (usage.peak_memory_bytes, limits.memory_bytes),
    )
    return any(value is not None and value > NEAR * limit for value, limit in pairs)
