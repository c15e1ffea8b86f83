"""Rows of SandboxFusion's datasets: `content`, `labels` and one `test` column for everything.

Recognised by `content, labels, test`. What `test` holds says which dataset it is:

- JSON text of [{input: {stdin}, output: {stdout}}]: CodeContests; stdin tests, compared by
  tokens with numbers within 1e-6.
- base64(zlib(pickle({"input_output": JSON text}))): LiveCodeBench, under its rules; decoded
  without unpickling. `canonical_solution` is a placeholder there and is no reference.
- Python source: BigCodeBench, under its rules.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.errors import LabelError
from grader.model import TestSuite
from grader.suites import fields
from grader.suites.cases import Pair, pairs, stdin_tests
from grader.suites.format import Format, Row
from grader.suites.format import fields as field_sets
from grader.suites.formats import bigcodebench, livecodebench

_SOURCE_STARTS = ("import ", "from ", "def ", "class ", "#", "@", '"""')


def read(row: Row) -> TestSuite:
    """Turn a row of one of SandboxFusion's datasets into its suite."""
    test = fields.text(row, "test").lstrip()
    if test.startswith(_SOURCE_STARTS):
        suite = _unit_tests(row)
    elif test.startswith("["):
        suite = _streams(fields.items(row, "test"))
    else:
        suite = _packed(livecodebench.unpack(test))
    return replace(
        suite,
        format="sandboxfusion",
        problem_id=fields.identifier(row, "id"),
        prompt=fields.text(row, "content"),
    )


def _streams(items: Any) -> TestSuite:
    found = tuple(_stream_pair(index, item) for index, item in enumerate(items))
    return TestSuite(tests=stdin_tests(found), format="sandboxfusion")


def _stream_pair(index: int, item: object) -> Pair:
    if isinstance(item, Mapping):
        given, wanted = item.get("input"), item.get("output")
        if isinstance(given, Mapping) and isinstance(wanted, Mapping):
            return Pair(id=str(index), input=given.get("stdin", ""), output=wanted.get("stdout"))
    message = f"test {index} must be {{input: {{stdin}}, output: {{stdout}}}}"
    raise LabelError(message)


def _packed(data: object) -> TestSuite:
    if not isinstance(data, Mapping):
        message = f"the packed tests must be an object, but are {type(data).__name__}"
        raise LabelError(message)
    tests = fields.mapping(data, "input_output")
    fn_name = fields.optional_text(tests, "fn_name")
    return livecodebench.suite_of(pairs(tests.get("inputs"), tests.get("outputs")), fn_name)


def _unit_tests(row: Row) -> TestSuite:
    prompt = fields.text(row, "content")
    labels = fields.mapping(row, "labels")
    return bigcodebench.suite_of(
        test=fields.text(row, "test"),
        entry_point=fields.text(labels, "entry_point"),
        complete_prompt=prompt,
        canonical_solution=fields.optional_text(row, "canonical_solution"),
    )


SANDBOXFUSION = Format(
    name="sandboxfusion",
    summary="SandboxFusion's datasets: CodeContests, LiveCodeBench, BigCodeBench in one layout",
    fields=field_sets("content labels test"),
    example={
        "id": 0,
        "content": "Print twice the number.",
        "labels": "{}",
        "test": '[{"input": {"stdin": "2\\n"}, "output": {"stdout": "4\\n"}}]',
    },
    read=read,
)
