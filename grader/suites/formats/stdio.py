"""Inputs and outputs: APPS, TACO, PRIME/Eurus-2, verl, open-r1, SYNTHETIC-1, DeepCoder, CURE, ROLL.

Recognised by two parallel lists (`inputs, outputs`, or `input, output`, or `test_input,
test_output`), by the same inside `input_output`, or by cases: a list of objects with an input and
an output, or an object of two lists, in `test_cases`, `cases`, `tests`, `official_tests` or
`unit_tests`, also inside `verification_info`. `grader.suites.cases` lists the names that the two
parts of a case may have. Values are text, or lists of lines; for calls a list of arguments, an
object of arguments by name, or text with one JSON value per line. JSON text in place of an object
is decoded.

Becomes stdin tests, or call tests of the function that `fn_name`, `func_name`, ROLL's
`test_case_function` or an `entry_point` names, in a case, its `metadata`, or the row. If starter
code has a class `Solution`, the entry point is a method of it. Otherwise, the runner looks into
`Solution` if the submission does not define the function.

Comparators: stdout by tokens, numbers within 1e-6; returned values by `==`, a tuple as a list, and
integer keys as numbers or as the text that JSON made of them. A Python literal in place of JSON
may be its value, or its own text.
Original harnesses: APPS compares in several ways, the last of which is sets of tokens in any
order, so wrong answers pass; open-r1 zips lines, so a correct beginning passes. Neither is repeated
here. APPS and its successors also run programs with a top-level `return`, which Python refuses;
three of 101 reference solutions in a sample need that. The settings' limits apply (APPS: 4 s a
case).

Prelude: APPS and its successors (TACO, PRIME, SYNTHETIC-1) put imports before the code, and their
references need them. So there is a prelude for call tests, and for stdin tests of `apps` and
`inputs_outputs`. Theirs also imports numpy, which would take time in every small program; here a
program that needs numpy must import it. open-r1 runs programs as they are.
"""

from collections.abc import Mapping, Sequence

from grader.model import CallTests, StdinTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import fields
from grader.suites.cases import Pair, call_tests, pairs, pairs_of_items, stdin_tests
from grader.suites.deciding import with_language
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for

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

CASE_FIELDS = ("test_cases", "cases", "tests", "official_tests", "unit_tests")
"""The fields that may have a row's cases; the first that is not null counts."""
_PARALLEL_FIELDS = (("inputs", "outputs"), ("input", "output"), ("test_input", "test_output"))

_TYPES = {
    **dict.fromkeys(("stdin_stdout", "stdin", "stdio", "standard_input"), False),
    **dict.fromkeys(("function_call", "functional", "call_based", "func"), True),
}
_NO_FUNCTION = frozenset({"", "none", "null"})
"""What some rows have as a function's name if there is none."""


def _entry_point(fn_name: str, starter_code: str) -> str:
    """Return `fn_name`, as a method of `Solution` if the starter code has that class."""
    return f"Solution.{fn_name}" if "class Solution" in starter_code else fn_name


def _tests(pairs: Sequence[Pair], fn_name: str | None, starter_code: str) -> StdinTests | CallTests:
    """Return call tests if there is a function to call, else stdin tests."""
    if fn_name is None:
        return stdin_tests(pairs)
    return call_tests(_entry_point(fn_name, starter_code), pairs, may_be_wrapped=True)


def _reference(row: Row) -> str | None:
    """Return the first of the row's solutions, without a fence around it."""
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
        SuiteError: The row has no tests, like a few hundred rows of APPS.
    """
    if row["input_output"] == "":
        message = "the row has no tests: input_output is empty"
        raise SuiteError(message)
    return _suite(row, "apps", *_parallel(fields.mapping(row, "input_output")))


def read_items(row: Row) -> TestSuite:
    """Turn cases into a suite: a list of objects, or an object of two lists."""
    return _suite(row, "test_cases", *_cases(row))


def read_verification(row: Row) -> TestSuite:
    """Turn a row of open-r1 or SYNTHETIC-1 into its suite."""
    info = fields.mapping(row, "verification_info")
    suite = _suite(row, "verification_info", *_cases(info))
    return with_language(suite, info.get("language"))


def case_field(row: Row) -> str | None:
    """Return the field that has a row's cases, or None."""
    return next((name for name in CASE_FIELDS if row.get(name) is not None), None)


def holds_cases(value: object) -> bool:
    """Return whether a value has the form of cases that this module reads."""
    if isinstance(value, Mapping):
        return _parallel_names(value) is not None
    return fields.is_list(value) and all(
        isinstance(item, Mapping) and "assert_code" not in item for item in value
    )


def _cases(row: Row) -> tuple[tuple[Pair, ...], str | None]:
    name = case_field(row) or CASE_FIELDS[0]
    found = fields.structure(row.get(name), name)
    if isinstance(found, Mapping):
        return _parallel({**row, **found})
    return _items(row, fields.items({name: found}, name))


def _parallel(row: Row) -> tuple[tuple[Pair, ...], str | None]:
    names = _parallel_names(row) or _PARALLEL_FIELDS[0]
    inputs, outputs = (fields.structure(row.get(name), name) for name in names)
    return pairs(inputs, outputs), _function("the row", {}, row, inputs)


def _parallel_names(row: Row) -> tuple[str, str] | None:
    """Return the names of the two lists; `input` must be a list, since it may be a prompt."""
    for names in _PARALLEL_FIELDS:
        values = [row.get(name) for name in names]
        if all(value is not None for value in values) and (
            names[0] != "input" or all(fields.is_list(value) for value in values)
        ):
            return names
    return None


def _items(row: Row, items: Sequence[object]) -> tuple[tuple[Pair, ...], str | None]:
    """Return the pairs, and the function that they all call, or None if they are for a program.

    Raises:
        LabelError: The cases call different functions, or only some of them call one.
    """
    found = pairs_of_items(items)
    inputs = [pair.input for pair in found]
    functions = {
        _function(f"test case {index}", item, row, inputs)
        for index, item in enumerate(items)
        if isinstance(item, Mapping)
    } or {None}
    if len(functions) > 1:
        message = f"the cases call different functions, or none: {sorted(map(str, functions))}"
        raise LabelError(message)
    return found, functions.pop()


def _function(case: str, item: Row, row: Row, inputs: object) -> str | None:
    """Return the function that a case calls, or None if it is the input of a program.

    If an input is text, an `entry_point` is not enough: it may be the input of a program.
    """
    name = next((name for holder in (item, row) for name in _names(holder)), None)
    if name is None and fields.is_list(inputs) and not any(isinstance(i, str) for i in inputs):
        name = fields.any_text(row, "entry_point") or None
    declared = next(
        (
            value
            for value in (item.get("type"), item.get("testtype"), row.get("test_method"))
            if value is not None
        ),
        None,
    )
    if declared is None:
        return name
    calls = _TYPES.get(str(declared))
    if calls is None:
        message = f"{case}: unknown type {declared!r}; known: {', '.join(_TYPES)}"
        raise LabelError(message)
    if calls and name is None:
        message = f"{case} calls a function, but has no fn_name"
        raise LabelError(message)
    return name if calls else None


def _names(holder: Row) -> list[str]:
    """Return the names of functions in an object, the one that counts first.

    Raises:
        LabelError: A name is not text.
    """
    metadata = holder.get("metadata")
    inner = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    said = (holder.get("fn_name"), holder.get("func_name"), holder.get("test_case_function"), inner)
    for name in said:
        if name is not None and not isinstance(name, str):
            raise fields.wrong(name, "fn_name", "text")
    return [name for name in said if isinstance(name, str) and name.lower() not in _NO_FUNCTION]


def _suite(row: Row, name: str, found: Sequence[Pair], fn_name: str | None) -> TestSuite:
    solution = _reference(row)
    tests = _tests(found, fn_name, fields.any_text(row, "starter_code") or solution or "")
    return TestSuite(
        tests=tests,
        format=name,
        problem_id=fields.identifier(row, "problem_id", "task_id", "id"),
        prompt=fields.any_text(row, "question", "prompt", "problem", "description"),
        entry_point=_defined_name(tests),
        prelude=PRELUDE if name in _PRELUDE_FORMATS or isinstance(tests, CallTests) else "",
        limits=fields.limits(row),
        image=image_for(solution),
        reference=solution,
    )


def _defined_name(tests: StdinTests | CallTests) -> str | None:
    return tests.entry_point.partition(".")[0] if isinstance(tests, CallTests) else None


def _unfenced(code: str) -> str:
    lines = code.strip().split("\n")
    if lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1]) + "\n"
    return code


def _holds_cases(row: Row) -> bool:
    name = case_field(row)
    return name is not None and holds_cases(row[name])


def _says_something(row: Row) -> bool:
    """Return whether the lists count: verl has them beside `assert_case`, but with empty items."""
    names = _parallel_names(row)
    return names is not None and (
        row.get("assert_case") is None
        or any(value not in (None, "") for name in names for value in fields.items(row, name))
    )


PARALLEL = Format(
    name="inputs_outputs",
    summary="Parallel lists of inputs and outputs (PRIME, verl, TACO); fn_name makes them calls",
    fields=field_sets(*map(" ".join, _PARALLEL_FIELDS)),
    example={"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]},
    read=read_parallel,
    accepts=_says_something,
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
    fields=field_sets(*CASE_FIELDS),
    example={"test_cases": [{"input": "2\n", "output": "4\n"}]},
    read=read_items,
    accepts=_holds_cases,
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
