"""Compares outputs with expected ones, in linear time for any output.

A comparator gets plain data only: bytes that a program printed, or a value of exact builtin types
from `sandbox_images.harness.wire.values.decode`. Nothing of the submission runs here.
docs/verdicts.md says what each comparator accepts.
"""

from grader.judging.compare.result import CheckResult
from grader.judging.compare.text import compare_text
from grader.judging.compare.values import compare_value, count_values
from grader.model import Comparator, Comparison

__all__ = ["CheckResult", "compare_text", "compare_value", "count_values", "needs_checker"]


def needs_checker(comparison: Comparison) -> bool:
    """Return whether a checker of the suite decides, which the functions here cannot run."""
    return comparison.comparator is Comparator.CHECKER
