"""LiveCodeBench, releases 1 to 6, and rows like its own.

Recognised by `public_test_cases` or `private_test_cases`: JSON text of [{input, output,
testtype}], the private ones also as base64(zlib(pickle(JSON text))), which is decoded without
unpickling. If a row has both, both count, public first.

Becomes stdin tests, or call tests of `Solution.<func_name>`; the name is in `metadata`, else in the
starter code. The input of a call has one JSON value per line.

As in the original harness: 6 s a test; a prelude of wildcard imports before the code; the code is
the text between the last two lines with three backticks. Returned values are compared by `==`
without a float tolerance; a tuple equals a list, here at any depth, there only at the top. Stdout
is compared line by line, each stripped. Lines that differ are equal if all their tokens are decimal
numbers of equal value, so "1.0" equals "1", and "0011" equals "11".
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grader.model import CallTests, Comparator, Comparison, StdinTests, TestSuite
from grader.model.errors import LabelError
from grader.model.overrides import ExtractionRule
from grader.suites import fields
from grader.suites.cases import Pair, call_tests, pairs_of_items, stdin_tests
from grader.suites.format import Format, Row, field_sets

LIMITS = fields.time_limits(6.0)

LINES_OF_DECIMALS = Comparison(comparator=Comparator.DECIMALS)

_STAR_MODULES = (
    "string re datetime collections heapq bisect copy math random statistics itertools"
    " functools operator io sys json builtins typing"
).split()
_PLAIN_MODULES = (
    "string re datetime collections heapq bisect copy math random statistics itertools"
    " functools operator io sys json"
).split()
PRELUDE = "".join(
    [
        *(f"from {name} import *\n" for name in _STAR_MODULES),
        *(f"import {name}\n" for name in _PLAIN_MODULES),
        "sys.setrecursionlimit(50000)\n",
    ]
)

_METHOD = re.compile(r"^[ \t]+def[ \t]+(\w+)[ \t]*\(", re.MULTILINE)


def read(row: Row) -> TestSuite:
    """Turn a LiveCodeBench row into its suite."""
    items = [*_cases(row, "public_test_cases"), *_cases(row, "private_test_cases")]
    name = _function(row)
    calls = {_is_call(item) for item in items}
    if len(calls) > 1:
        message = "the test cases are of more than one testtype"
        raise LabelError(message)
    return suite_of(
        pairs_of_items(items),
        name if True in calls else None,
        problem_id=fields.identifier(row, "question_id"),
        prompt=fields.any_text(row, "question_content"),
        must_call=True in calls,
    )


def suite_of(
    found: Sequence[Pair],
    fn_name: str | None,
    *,
    problem_id: str | None = None,
    prompt: str = "",
    must_call: bool = False,
) -> TestSuite:
    """Return a suite under LiveCodeBench's rules.

    Raises:
        LabelError: The cases call a function, but `fn_name` is None.
    """
    tests: StdinTests | CallTests
    if fn_name is not None:
        tests = call_tests(f"Solution.{fn_name}", found)
    elif must_call:
        message = "the test cases call a function that neither metadata nor starter_code names"
        raise LabelError(message)
    else:
        tests = stdin_tests(found, LINES_OF_DECIMALS)
    return TestSuite(
        tests=tests,
        format="livecodebench",
        problem_id=problem_id,
        prompt=prompt,
        entry_point="Solution" if fn_name else None,
        prelude=PRELUDE,
        extraction=ExtractionRule.LIVECODEBENCH,
        limits=LIMITS,
    )


def _cases(row: Row, name: str) -> Sequence[Any]:
    value = row.get(name)
    found = fields.structure(value, name) if value else []
    if not fields.is_list(found):
        raise fields.wrong(found, name, "a list")
    return found


def _is_call(item: Any) -> bool:
    testtype = item.get("testtype") if isinstance(item, Mapping) else None
    if testtype not in ("stdin", "functional"):
        raise fields.wrong(testtype, "testtype", "stdin or functional")
    return bool(testtype == "functional")


def _function(row: Row) -> str | None:
    metadata = fields.structure(row.get("metadata") or {}, "metadata")
    if isinstance(metadata, Mapping) and isinstance(name := metadata.get("func_name"), str):
        return name
    methods = _METHOD.findall(fields.any_text(row, "starter_code"))
    return methods[-1] if methods else None


LIVECODEBENCH = Format(
    name="livecodebench",
    summary="LiveCodeBench rows: public test cases as JSON text, private ones packed",
    fields=field_sets("public_test_cases", "private_test_cases"),
    example={
        "question_id": "q0",
        "question_content": "Double the number.",
        "starter_code": "class Solution:\n    def double(self, n: int) -> int:\n        ",
        "public_test_cases": json.dumps([{"input": "2", "output": "4", "testtype": "functional"}]),
        "metadata": '{"func_name": "double"}',
    },
    read=read,
)
