"""Hold an output against the expected one: strictly, in linear time, whatever the output is.

A comparator sees plain data only: bytes that a program printed, or a value of exact builtin
types, as `sandbox_images.harness.wire.values.decode` makes it. Nothing of the submission runs
here.
docs/verdicts.md says what each comparator accepts.
"""

from grader.judging.compare.result import CheckResult
from grader.judging.compare.text import compare_text
from grader.judging.compare.values import compare_value, count_values
from grader.model import Comparator, Comparison

__all__ = ["CheckResult", "compare_text", "compare_value", "count_values", "needs_checker"]


def needs_checker(comparison: Comparison) -> bool:
    """Return whether a program of the suite decides, which the functions here cannot run."""
    return comparison.comparator is Comparator.CHECKER
