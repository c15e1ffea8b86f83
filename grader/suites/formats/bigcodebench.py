"""BigCodeBench, complete and instruct, full and hard; also NeMo-Gym's labels of it.

Recognised by `test, entry_point` with `complete_prompt` or `code_prompt`.

Becomes a pytest suite: the test class, in a module that first imports every public name of the
solution, since the tests use names that the solution defines or imports. Constants and functions
of the prompt come from the prompt itself. The prelude is `code_prompt` with an empty body, as the
original harness puts it before a "calibrated" solution: the tests need its imports. A completion
may continue `complete_prompt`. The reference is that prompt with `canonical_solution`.

Original harness: code and tests in one module, 240 s a task, 30 GiB. Here 60 s and 1 GiB, and two
modules, so a test that patches a global of its own module does not change the solution.
"""

from dataclasses import replace

from grader.model import MiB, TestSuite
from grader.suites import fields, source
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.unittests import star_suite
from grader.suites.helpers import helpers_of
from grader.suites.images import image_for

LIMITS = fields.time_limits(60.0, memory_bytes=1024 * MiB)


def suite_of(
    *,
    test: str,
    entry_point: str,
    complete_prompt: str = "",
    code_prompt: str = "",
    canonical_solution: str | None = None,
) -> TestSuite:
    """Return a suite under BigCodeBench's rules.

    Raises:
        SuiteError: The tests do not parse, or there are none.
    """
    source.parse(test)
    prelude = f"{code_prompt.rstrip()}\n    pass\n\n" if code_prompt else ""
    reference = None
    if canonical_solution is not None:
        reference = (complete_prompt or code_prompt) + canonical_solution
    return star_suite(
        test,
        format_name="bigcodebench",
        helpers=helpers_of(complete_prompt or prelude, entry_point, test),
        prompt=complete_prompt,
        continues_prompt=bool(complete_prompt),
        entry_point=entry_point,
        prelude=prelude,
        limits=LIMITS,
        image=image_for(test, complete_prompt, code_prompt, canonical_solution),
        reference=reference,
    )


def read(row: Row) -> TestSuite:
    """Turn a row of BigCodeBench into its suite."""
    suite = suite_of(
        test=fields.text(row, "test"),
        entry_point=fields.text(row, "entry_point"),
        complete_prompt=fields.any_text(row, "complete_prompt"),
        code_prompt=fields.any_text(row, "code_prompt"),
        canonical_solution=fields.optional_text(row, "canonical_solution"),
    )
    return replace(suite, problem_id=fields.identifier(row, "task_id"))


BIGCODEBENCH = Format(
    name="bigcodebench",
    summary="BigCodeBench: a unittest class over a function of the solution, with its imports",
    fields=field_sets("test entry_point complete_prompt", "test entry_point code_prompt"),
    example={
        "task_id": "BigCodeBench/0",
        "complete_prompt": 'def task_func(n):\n    """Return twice n."""\n',
        "code_prompt": "def task_func(n):\n",
        "canonical_solution": "    return 2 * n",
        "entry_point": "task_func",
        "test": "import unittest\n\n\nclass TestCases(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(task_func(2), 4)\n",
    },
    read=read,
)
