import json
import math
from dataclasses import replace

import pytest

from grader.model import (
    CallCase,
    CallTests,
    CaseResult,
    CheckerKind,
    InteractiveTests,
    Interactor,
    PytestTests,
    StdinCase,
    StdinTests,
    SuiteFile,
    Tests,
    Usage,
)
from grader.model.errors import WireError
from grader.model.verdict import LimitKind, Verdict
from grader.model.wire import (
    decode_report,
    decode_submission,
    decode_suite,
    encode_report,
    encode_submission,
    encode_suite,
    report_json,
    report_of,
)
from grader.suites import parse_label
from tests.factories import make_report, make_submission, make_suite, make_tests
from tests.language_rows import ROWS

STDIN = StdinTests(cases=(StdinCase(id="0", stdin="1\n", expected="2\n"),))
INTERACTIVE = InteractiveTests(
    cases=STDIN.cases, interactor=Interactor(source="", kind=CheckerKind.TESTLIB)
)
CALL = CallTests(
    entry_point="f",
    cases=(
        CallCase(
            id="0", args=((1, 2), {3}, b"\xff", 10**30), kwargs={"k": {1: (2,)}}, expected=[1.5]
        ),
    ),
)
PYTEST = PytestTests(
    files=(SuiteFile(path="test_a.py", content=b"\xff\x00"),), test_paths=("test_a.py",)
)


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(STDIN, id="stdin"),
        pytest.param(INTERACTIVE, id="interactive"),
        pytest.param(CALL, id="call"),
        pytest.param(make_tests(), id="script"),
        pytest.param(PYTEST, id="pytest"),
        pytest.param(parse_label(ROWS["cpp"].label).tests, id="expressions"),
        pytest.param(StdinTests(cases=()), id="stdin without a case"),
        pytest.param(replace(make_tests(), cases=()), id="script without a case"),
    ],
)
def test_submission_arrives_as_it_was_sent(tests: Tests) -> None:
    submission = make_submission(suite=make_suite(tests))
    assert decode_submission(encode_submission(submission)) == submission
    assert decode_suite(encode_suite(submission.suite)) == submission.suite


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(
            StdinTests(cases=(StdinCase(id="0", stdin="\ud800", expected=""),)), id="surrogate"
        ),
        pytest.param(
            CallTests(entry_point="f", cases=(CallCase(id="0", args=(object(),)),)), id="object"
        ),
    ],
)
def test_suite_that_would_not_arrive_unchanged_is_refused(tests: Tests) -> None:
    with pytest.raises(WireError, match="cannot be encoded"):
        encode_suite(make_suite(tests))


def test_not_a_number_arrives_in_a_call() -> None:
    tests = CallTests(entry_point="f", cases=(CallCase(id="0", args=(math.nan, -math.inf)),))
    arrived = decode_submission(encode_submission(make_submission(suite=make_suite(tests))))
    assert isinstance(arrived.suite.tests, CallTests)
    nan, inf = arrived.suite.tests.cases[0].args
    assert math.isnan(nan)
    assert inf == -math.inf


def test_value_that_is_not_plain_is_refused() -> None:
    tests = CallTests(entry_point="f", cases=(CallCase(id="0", args=(object(),)),))
    with pytest.raises(WireError, match="add/0"):
        encode_submission(make_submission(suite=make_suite(tests)))


def test_lone_surrogate_becomes_the_replacement_character() -> None:
    arrived = decode_submission(encode_submission(make_submission("a\ud800b")))
    assert arrived.completion == "a\N{REPLACEMENT CHARACTER}b"


def test_surrogates_that_belong_together_become_their_character() -> None:
    arrived = decode_submission(encode_submission(make_submission("\ud83d\ude00\udfff")))
    assert arrived.completion == "\N{GRINNING FACE}\N{REPLACEMENT CHARACTER}"


def test_files_survive_beside_a_lone_surrogate() -> None:
    submission = make_submission("\ud800", suite=make_suite(PYTEST))
    assert decode_submission(encode_submission(submission)).suite.tests == PYTEST


def test_report_arrives_as_it_was_sent() -> None:
    report = make_report(
        Verdict.TIME_LIMIT,
        cases=(CaseResult(id="0", verdict=Verdict.PASSED, usage=Usage(cpu_time_s=0.1)),),
        limit_hit=LimitKind.CPU_TIME,
    )
    assert decode_report(encode_report(report)) == report
    assert report_of(json.loads(report_json(report))) == report


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        pytest.param(b"", "message: Invalid JSON", id="empty"),
        pytest.param(b"[]", "message: ", id="no object"),
        pytest.param(b'{"v":10,"novel":1}', "has version 10; expected version 9", id="newer"),
        pytest.param(b'{"v":9}', "report: ", id="nothing in it"),
        pytest.param(
            encode_report(make_report()).replace(b'"score":1.0', b'"score":NaN'),
            "report.score: ",
            id="not a number",
        ),
        pytest.param(
            encode_report(make_report()).replace(b'"passed":1', b'"passed":"x"'),
            "report.passed: ",
            id="text for a number",
        ),
        pytest.param(
            encode_report(make_report()).replace(b'"policy"', b'"pollicy"'),
            "report.pollicy: ",
            id="unknown field",
        ),
        pytest.param(
            encode_report(make_report()).replace(b'"v":9', b'"v":10'),
            "has version 10",
            id="right but for the version",
        ),
    ],
)
def test_bad_report_names_its_field(message: bytes, problem: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_report(message)
    assert problem in str(caught.value)


def test_bad_field_in_a_kind_of_tests_is_named() -> None:
    message = encode_submission(make_submission(suite=make_suite(PYTEST)))
    with pytest.raises(WireError, match=r"PytestTests\.files\.0\.content: .*base64"):
        decode_submission(message.replace(b'"content":"', b'"content":"*'))


def test_bad_value_in_a_call_is_refused() -> None:
    message = encode_submission(make_submission(suite=make_suite(CALL)))
    with pytest.raises(WireError, match=r"submission\.suite\.tests\.cases"):
        decode_submission(message.replace(b'{"t":[1,2]}', b'{"nonsense":[1,2]}'))
