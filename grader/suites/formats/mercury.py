"""Mercury: methods of `Solution`, with code of the row that makes arguments and compares results.

Recognised by `convert_offline, evaluate_offline, entry_point, test_cases`. Each test case becomes a
script case, which converts the input and the expected value, calls a new `Solution` and passes the
result to `evaluate_offline`. LeetCode's imports and node classes are defined before the submission
and before the row's functions, as in the original harness. The reference is the first of
`solutions`.

Original harness: one `Solution` and 10 s for all cases. It also measures time, which is not part
of the verdict. Functions that need its module `lctk` cannot be run here.
"""

from collections.abc import Mapping
from typing import Any

from grader.model import ScriptCase, ScriptTests, TestSuite
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.format import Format, Row, field_sets
from grader.suites.helpers import helpers_of
from grader.suites.preludes import IMPORTS, LEETCODE, NODES

LIMITS = fields.time_limits(10.0)

_EVALUATE = """\
def _evaluate(case, function):
    inputs, expected = convert_offline(case)
    outputs = function(*inputs)
    assert evaluate_offline(inputs, outputs, expected), f"returned {outputs!r:.200}"
"""


def read(row: Row) -> TestSuite:
    """Turn a row of Mercury into its suite.

    Raises:
        LabelError: Its functions need a module that only Mercury's harness has.
    """
    functions = [fields.text(row, "convert_offline"), fields.text(row, "evaluate_offline")]
    for text in functions:
        source.parse(text, "convert_offline and evaluate_offline")
        if "lctk" in text:
            message = "convert_offline and evaluate_offline need the module lctk, which is unknown"
            raise LabelError(message)
    helpers = helpers_of(NODES, "", "\n".join(functions))
    name = fields.text(row, "entry_point")
    cases = tuple(
        ScriptCase(id=str(index), source=f"_evaluate({_pair(index, item)!r}, Solution().{name})")
        for index, item in enumerate(fields.items(row, "test_cases"))
    )
    return TestSuite(
        tests=ScriptTests(
            cases=cases, setup="\n\n".join([IMPORTS, helpers, *functions, _EVALUATE])
        ),
        format="mercury",
        problem_id=fields.identifier(row, "slug_name", "id"),
        prompt=fields.any_text(row, "prompt"),
        entry_point="Solution",
        prelude=LEETCODE,
        limits=LIMITS,
        image="science" if "sortedcontainers" in "".join(functions) else "python",
        reference=_reference(row),
    )


def _pair(index: int, item: object) -> tuple[Any, Any]:
    if isinstance(item, Mapping) and "input" in item and "expected" in item:
        return item["input"], item["expected"]
    message = f"test case {index} must be an object with input and expected"
    raise LabelError(message)


def _reference(row: Row) -> str | None:
    solutions = row.get("solutions")
    first = solutions[0] if fields.is_list(solutions) and solutions else None
    return fields.optional_text(first, "solution") if isinstance(first, Mapping) else None


MERCURY = Format(
    name="mercury",
    summary="Mercury: a method of Solution, with the row's own converter and comparison",
    fields=field_sets("convert_offline evaluate_offline entry_point test_cases"),
    example={
        "slug_name": "double",
        "entry_point": "double",
        "convert_offline": "def convert_offline(case):\n    inputs, expected = case\n"
        "    return inputs, expected\n",
        "evaluate_offline": "def evaluate_offline(inputs, outputs, expected):\n"
        "    return outputs == expected\n",
        "test_cases": '[{"input": [2], "expected": 4}, {"input": [0], "expected": 0}]',
        "solutions": [
            {"solution": "class Solution:\n    def double(self, n):\n        return 2 * n\n"}
        ],
    },
    read=read,
    precedes=("test_cases",),
)
