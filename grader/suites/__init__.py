"""Reads labels of every known format into a `TestSuite`.

`parse_label` takes what a dataset's label column holds, `parse_problem` a row of a file of
problems. `FORMATS` lists the formats, and docs/formats.md describes them. To add a format, write a
module in `grader.suites.formats` and name its `Format` in `grader.suites.registry`.
"""

from grader.suites.format import Format
from grader.suites.overrides import override
from grader.suites.parse import parse_label, parse_problem, problem_id_of
from grader.suites.problems import ProblemIndex
from grader.suites.registry import FORMATS

__all__ = [
    "FORMATS",
    "Format",
    "ProblemIndex",
    "override",
    "parse_label",
    "parse_problem",
    "problem_id_of",
]
