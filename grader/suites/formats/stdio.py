"""Inputs and outputs: APPS, TACO, PRIME/Eurus-2, verl, open-r1, SYNTHETIC-1, lists of cases.

Recognised by `inputs, outputs` (with `fn_name` for function calls), by the same inside
`input_output`, or by a list of {input, output} in `test_cases` or `cases`; `verification_info`
(open-r1, SYNTHETIC-1/genesys) holds the latter. Values are text, or lists of lines; for calls a
list of arguments, or text with a JSON value a line. JSON text in place of an object is decoded.

Becomes stdin tests, or call tests of `fn_name`. Where starter code shows a class `Solution`,
the entry point is its method; where nothing shows it, the runner looks in `Solution` for a
function that the submission does not define.

Comparators: stdout by tokens, numbers within 1e-6; returned values by `==`, a tuple as a list.
Harnesses of record: APPS ends a cascade of comparisons with sets of tokens, order ignored, so
that wrong answers pass; open-r1 zips lines, so that a correct beginning passes. Neither is
repeated. APPS and its heirs also run programs with a top-level `return`, which no Python does;
three of 101 reference solutions in a sample need that. Limits stay as set (APPS: 4 s a case).

Prelude: APPS and its heirs (TACO, PRIME, SYNTHETIC-1) put imports before the code, and their
references lean on them; so do call tests here, and stdin tests of `apps` and `inputs_outputs`.
Theirs has numpy too, which costs every small program its import; here a program that wants
numpy says so. open-r1 runs programs as they are.
"""

from collections.abc import Mapping, Sequence

from grader.errors import LabelError, SuiteError
from grader.model import CallTests, StdinTests, TestSuite
from grader.suites import fields, source
from grader.suites.cases import Pair, call_tests, pairs, pairs_of_items, stdin_tests
from grader.suites.format import Format, Row
from grader.suites.format import fields as field_sets

PRELUDE = """\
import sys, time, itertools, collections, math, fractions, random, heapq
from itertools import accumulate, product, permutations, combinations
from collections import Counter, OrderedDict, deque, defaultdict, ChainMap
from functools import lru_cache
from math import sqrt, sin, cos, tan, ceil, fabs, floor, gcd, exp, log, log2
from typing import *
from heapq import *
"""

_PRELUDE_FORMATS = frozenset({"apps", "inputs_outputs"})

_TYPES = {"stdin_stdout": False, "stdin": False, "function_call": True, "functional": True}


def _entry_point(fn_name: str, starter_code: str) -> str:
    """Return `fn_name` as a method of `Solution` where the starter code has that class."""
    return f"Solution.{fn_name}" if "class Solution" in starter_code else fn_name


def _tests(pairs: Sequence[Pair], fn_name: str | None, starter_code: str) -> StdinTests | CallTests:
    """Return call tests where there is a function to call, else stdin tests."""
    if fn_name is None:
        return stdin_tests(pairs)
    return call_tests(_entry_point(fn_name, starter_code), pairs, may_be_wrapped=True)


def _reference(row: Row) -> str | None:
    """Return the first of the row's solutions, out of its fence where it stands in one."""
    if solution := fields.any_text(
        row, "gold_standard_solution", "solution", "ground_truth_solution"
    ):
        return _unfenced(solution)
    try:
        solutions = fields.structure(row.get("solutions"), "solutions")
    except LabelError:
        return None
    if fields.is_list(solutions) and solutions and isinstance(solutions[0], str):
        return _unfenced(fields.clean(solutions[0]))
    return None


def read_parallel(row: Row) -> TestSuite:
    """Turn parallel lists of inputs and outputs into a suite."""
    return _suite(row, "inputs_outputs", *_parallel(row))


def read_apps(row: Row) -> TestSuite:
    """Turn a row of APPS or TACO into its suite.

    Raises:
        SuiteError: The row has no tests, as a few hundred of APPS.
    """
    if row["input_output"] == "":
        message = "the row has no tests: input_output is empty"
        raise SuiteError(message)
    return _suite(row, "apps", *_parallel(fields.mapping(row, "input_output")))


def read_items(row: Row) -> TestSuite:
    """Turn a list of {input, output} objects into a suite."""
    return _suite(row, "test_cases", *_items(row))


def read_verification(row: Row) -> TestSuite:
    """Turn a row of open-r1 or SYNTHETIC-1 into its suite."""
    return _suite(row, "verification_info", *_items(fields.mapping(row, "verification_info")))


def _parallel(row: Row) -> tuple[tuple[Pair, ...], str | None]:
    found = pairs(
        fields.structure(row.get("inputs"), "inputs"),
        fields.structure(row.get("outputs"), "outputs"),
    )
    return found, fields.optional_text(row, "fn_name")


def _items(row: Row) -> tuple[tuple[Pair, ...], str | None]:
    """Return the pairs and the function that they all call, or None for programs.

    Raises:
        LabelError: Another language, or cases of more than one kind.
    """
    fields.require_python(row.get("language"))
    name = "test_cases" if row.get("test_cases") is not None else "cases"
    items = fields.items(row, name)
    functions = {_function(index, item, row) for index, item in enumerate(items)} or {None}
    if len(functions) > 1:
        message = f"the cases call different functions, or none: {sorted(map(str, functions))}"
        raise LabelError(message)
    return pairs_of_items(items), functions.pop()


def _function(index: int, item: object, row: Row) -> str | None:
    if not isinstance(item, Mapping):
        return None
    metadata = item.get("metadata")
    func_name = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    fn_name = item.get("fn_name") or row.get("fn_name") or func_name
    declared = item.get("type") or item.get("testtype")
    calls = bool(fn_name) if declared is None else _TYPES.get(str(declared))
    if calls is None:
        message = f"test case {index}: unknown type {declared!r}; known: {', '.join(_TYPES)}"
        raise LabelError(message)
    if calls and not isinstance(fn_name, str):
        message = f"test case {index} calls a function, but fn_name says not which"
        raise LabelError(message)
    return str(fn_name) if calls else None


def _suite(row: Row, name: str, found: Sequence[Pair], fn_name: str | None) -> TestSuite:
    solution = _reference(row)
    tests = _tests(found, fn_name, fields.any_text(row, "starter_code") or solution or "")
    return TestSuite(
        tests=tests,
        format=name,
        problem_id=fields.identifier(row, "problem_id", "task_id", "id"),
        prompt=fields.any_text(row, "question", "prompt", "problem"),
        entry_point=_defined_name(tests),
        prelude=PRELUDE if name in _PRELUDE_FORMATS or isinstance(tests, CallTests) else "",
        limits=fields.limits(row),
        image=source.image_for(solution),
        reference=solution,
    )


def _defined_name(tests: StdinTests | CallTests) -> str | None:
    return tests.entry_point.partition(".")[0] if isinstance(tests, CallTests) else None


def _unfenced(code: str) -> str:
    lines = code.strip().split("\n")
    if lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1]) + "\n"
    return code


def _holds_objects(row: Row) -> bool:
    try:
        items = fields.structure(row.get("test_cases", row.get("cases")), "cases")
    except LabelError:
        return False
    return fields.is_list(items) and all(isinstance(item, Mapping) for item in items)


PARALLEL = Format(
    name="inputs_outputs",
    summary="Parallel lists of inputs and outputs (PRIME, verl, TACO); fn_name makes them calls",
    fields=field_sets("inputs outputs"),
    example={"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]},
    read=read_parallel,
)

APPS = Format(
    name="apps",
    summary="APPS and TACO rows: the lists inside input_output, as an object or JSON text",
    fields=field_sets("input_output"),
    example={
        "problem_id": 0,
        "question": "Print twice the number.",
        "input_output": '{"inputs": ["2\\n"], "outputs": ["4\\n"]}',
        "starter_code": "",
        "solutions": '["print(2 * int(input()))"]',
    },
    read=read_apps,
)

TEST_CASES = Format(
    name="test_cases",
    summary="A list of {input, output}, each perhaps with type, fn_name, points and group",
    fields=field_sets("test_cases", "cases"),
    example={"test_cases": [{"input": "2\n", "output": "4\n"}]},
    read=read_items,
    accepts=_holds_objects,
)

VERIFICATION_INFO = Format(
    name="verification_info",
    summary="open-r1 and SYNTHETIC-1: a language and test cases in one column",
    fields=field_sets("verification_info"),
    example={
        "problem_id": "p0",
        "prompt": "Write a function that doubles.",
        "verification_info": {
            "language": "python",
            "test_cases": [
                {"type": "function_call", "fn_name": "double", "input": [2], "output": [4]}
            ],
        },
        "gold_standard_solution": "```python\ndef double(n):\n    return 2 * n\n```",
    },
    read=read_verification,
)
