"""LeetCodeDataset: `check` over a method of `Solution`, called with keyword arguments.

Recognised by `prompt, completion, entry_point, test` with an entry point `Solution().name`.

Becomes one script case. The row's `prompt` is code (imports, node classes and functions that make
and compare lists and trees). It is the prelude. If the tests use any of it, they get it from the
prompt and not from the completion. `completion` is the reference; `response`, a model's answer, is
not used. Of 228 references, two take 10 and 21 s, and 18 need sortedcontainers. So the limit is
60 s, and the image is "science" if the program imports it.

Original harness: prompt + completion + test + `check(Solution().name)` in one process.
"""

from dataclasses import replace

from grader.model import TestSuite
from grader.suites import fields, source
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.humaneval import check_tests
from grader.suites.helpers import helpers_of
from grader.suites.images import image_for

LIMITS = fields.time_limits(60.0)


def read(row: Row) -> TestSuite:
    """Turn a row of LeetCodeDataset into its suite."""
    program, entry_point = fields.text(row, "test"), fields.text(row, "entry_point")
    prelude, completion = fields.text(row, "prompt"), fields.text(row, "completion")
    source.outline(prelude, "the prompt")
    tests = check_tests(program, entry_point)
    return TestSuite(
        tests=replace(tests, setup=helpers_of(prelude, entry_point, program)),
        format="leetcode",
        problem_id=fields.identifier(row, "task_id"),
        prompt=fields.any_text(row, "query", "problem_description"),
        entry_point=entry_point.partition("(")[0],
        prelude=f"{prelude.rstrip()}\n\n",
        limits=LIMITS,
        image=image_for(prelude, completion, program),
        reference=completion,
    )


def _is_method(row: Row) -> bool:
    return isinstance(row["entry_point"], str) and "()." in row["entry_point"]


LEETCODE = Format(
    name="leetcode",
    summary="LeetCodeDataset: check(Solution().method) after a prompt of imports",
    fields=field_sets("prompt completion entry_point test"),
    example={
        "task_id": "double-the-number",
        "prompt": "from typing import *\n\n",
        "completion": "class Solution:\n    def double(self, n: int) -> int:\n"
        "        return 2 * n\n",
        "entry_point": "Solution().double",
        "test": "def check(candidate):\n    assert candidate(n = 2) == 4\n",
    },
    read=read,
    accepts=_is_method,
    precedes=("humaneval", "apps"),
)
