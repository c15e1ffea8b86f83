"""Rows of SandboxFusion's datasets, which all have `content`, `labels` and `test` or `test_list`.

Recognised by `content, labels, test` or `content, labels, test_list`. Their contents tell which
dataset it is:

- JSON text of [{input: {stdin}, output: {stdout}}]: CodeContests and CommonOJ; stdin tests,
  compared by tokens with numbers within 1e-6.
- base64(zlib(pickle({"input_output": JSON text}))): LiveCodeBench, under its rules; decoded
  without unpickling. Its `canonical_solution` is a placeholder, so there is no reference.
- An object {code, asset}: AutoEval; the code is a test source.
- Python source: BigCodeBench, under its rules, if `labels` has an entry point and the source a
  unittest class; else (MHPP) a test source of any kind.
- `test_list`: MBPP; a list of asserts, with `test_setup_code` in `labels`.
"""

from collections.abc import Mapping
from dataclasses import replace

from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.cases import pairs, pairs_of_items, stdin_tests
from grader.suites.deciding import with_language
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats import bigcodebench, livecodebench, plain

_INSERT = "#<INSERT>"


def read(row: Row) -> TestSuite:
    """Turn a row of one of SandboxFusion's datasets into its suite.

    Raises:
        LabelError: Its language is not supported with such tests, or the tests need files or a
            place for the code that only SandboxFusion provides.
    """
    labels = fields.mapping(row, "labels")
    suite = replace(
        _suite(row, labels),
        format="sandboxfusion",
        problem_id=fields.identifier(row, "id"),
        prompt=fields.text(row, "content"),
    )
    return with_language(suite, labels.get("programming_language"))


def _suite(row: Row, labels: Row) -> TestSuite:
    if row.get("test") is None:
        asserts = fields.items(row, "test_list")
        return plain.read_asserts({**labels, "test_list": asserts})
    test = row["test"]
    if isinstance(test, str) and fields.holds_data(test):
        test = fields.load_data(test, "test")
    if fields.is_list(test):
        return TestSuite(tests=stdin_tests(pairs_of_items(test)), format="sandboxfusion")
    if isinstance(test, Mapping):
        return _packed(test) if "input_output" in test else _code(test)
    text = fields.text({"test": test}, "test")
    entry_point = fields.optional_text(labels, "entry_point")
    reference = fields.optional_text(row, "canonical_solution")
    if entry_point is not None and source.has_tests(text):
        return bigcodebench.suite_of(
            test=text,
            entry_point=entry_point,
            complete_prompt=fields.text(row, "content"),
            canonical_solution=reference,
        )
    return plain.suite_of(text, entry_point, reference)


def _packed(data: Row) -> TestSuite:
    tests = fields.mapping(data, "input_output")
    fn_name = fields.optional_text(tests, "fn_name")
    return livecodebench.suite_of(pairs(tests.get("inputs"), tests.get("outputs")), fn_name)


def _code(test: Row) -> TestSuite:
    code = fields.text(test, "code")
    if _INSERT in code or test.get("asset") not in (None, "", "{}", {}):
        message = "test: files beside the code, and a place in it for the submission, are unknown"
        raise LabelError(message)
    return plain.suite_of(code)


SANDBOXFUSION = Format(
    name="sandboxfusion",
    summary="SandboxFusion's datasets: CodeContests, LiveCodeBench, BigCodeBench, MBPP, MHPP",
    fields=field_sets("content labels test", "content labels test_list"),
    example={
        "id": 0,
        "content": "Print twice the number.",
        "labels": "{}",
        "test": '[{"input": {"stdin": "2\\n"}, "output": {"stdout": "4\\n"}}]',
    },
    read=read,
    precedes=("assert_list",),
)
