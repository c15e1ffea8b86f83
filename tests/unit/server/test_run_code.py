import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from grader.judging.report import Trouble
from grader.model import Limits, SuiteFile, Usage
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Program, RunBatch, RunOutcome
from grader.server.endpoints.run_code_answer import describe
from grader.server.endpoints.run_code_request import RunCodeRequest
from grader.server.endpoints.run_jupyter import RunJupyterRequest
from grader.server.programs.fetching import FetchedRun, FetchingRun


def outcome(**values: Any) -> RunOutcome:
    whole: dict[str, Any] = {
        "index": 0,
        "exit_code": 0,
        "exit_signal": None,
        "stdout": b"out",
        "stderr": b"",
        "dropped_bytes": 0,
        "report": b"",
        "usage": Usage(wall_time_s=0.5),
    }
    return RunOutcome(**{**whole, **values})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, ("Success", "Finished", 0), id="success"),
        pytest.param({"exit_code": 3}, ("Failed", "Finished", 3), id="exit code"),
        pytest.param(
            {"exit_code": None, "exit_signal": 11}, ("Failed", "Finished", -11), id="signal"
        ),
        pytest.param(
            {"exit_code": None, "limit_hit": LimitKind.CPU_TIME},
            ("Failed", "TimeLimitExceeded", None),
            id="cpu time",
        ),
        pytest.param(
            {"exit_code": 0, "limit_hit": LimitKind.WALL_TIME},
            ("Failed", "TimeLimitExceeded", None),
            id="wall time",
        ),
        pytest.param(
            {"exit_code": None, "limit_hit": LimitKind.MEMORY},
            ("Failed", "Finished", -9),
            id="memory",
        ),
        pytest.param(
            {"exit_code": 0, "oom_killed": True}, ("Failed", "Finished", -9), id="killed child"
        ),
        pytest.param(
            {"exit_code": None, "limit_hit": LimitKind.OUTPUT},
            ("Failed", "Finished", -9),
            id="flood",
        ),
        pytest.param({"dropped_bytes": 7}, ("Success", "Finished", 0), id="cut output"),
        pytest.param({"exit_code": None}, ("Failed", "Error", None), id="no end"),
    ],
)
def test_ending_in_sandboxfusions_words(
    values: dict[str, Any], expected: tuple[str, str, int | None]
) -> None:
    answer = describe(FetchedRun(outcome=outcome(**values)))
    assert answer.run_result is not None
    step = answer.run_result
    assert (answer.status, step.status, step.return_code) == expected
    assert (step.stdout, step.execution_time) == ("out", 0.5)
    assert answer.compile_result is None


def test_bytes_that_are_no_text_are_replaced() -> None:
    answer = describe(FetchedRun(outcome=outcome(stdout=b"a\xff")))
    assert answer.run_result is not None
    assert answer.run_result.stdout == "a\N{REPLACEMENT CHARACTER}"


def test_compile_error_is_the_compilers_result() -> None:
    trouble = Trouble(type="SyntaxError", message="invalid syntax", line=3)
    answer = describe(FetchedRun(outcome=outcome(exit_code=1), compile_error=trouble))
    assert (answer.status, answer.run_result) == ("Failed", None)
    assert answer.compile_result is not None
    assert (answer.compile_result.status, answer.compile_result.return_code) == ("Finished", 1)
    assert answer.compile_result.stderr == '  File "main.py", line 3\nSyntaxError: invalid syntax\n'


# ---------------------------------------------------------------- files that are fetched


@pytest.fixture
def fetching() -> FetchingRun:
    batch = RunBatch(
        program=Program.STDIN,
        source="print(1)",
        source_path="main.py",
        runs=(b"",),
        limits=Limits(output_bytes=10),
        files=(SuiteFile(path="given", content=b"x"),),
    )
    return FetchingRun(batch, ["out"], 100)


def mark_of(fetching: FetchingRun) -> bytes:
    order = next(file for file in fetching.batch.files if file.path.endswith(".json"))
    mark: str = json.loads(order.content)["mark"]
    return mark.encode()


def test_program_is_put_beside_its_files(fetching: FetchingRun) -> None:
    files = {file.path: file.content for file in fetching.batch.files}
    assert (files["main.py"], files["given"]) == (b"print(1)", b"x")
    assert fetching.batch.source_path not in ("main.py", "given")
    assert fetching.batch.limits.output_bytes > 100


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param({"return_code": 4, "files": {"out": "eA=="}}, (4, None, 1), id="told"),
        pytest.param({"return_code": -11, "files": {}}, (None, 11, 0), id="signal"),
        pytest.param({"return_code": True, "files": {}}, (0, None, 0), id="truth"),
        pytest.param({"return_code": 10**9, "files": {}}, (0, None, 0), id="large"),
        pytest.param({"return_code": 4, "files": {"out": 3}}, (4, None, 0), id="no text"),
        pytest.param({"return_code": 4, "files": []}, (4, None, 0), id="no files"),
        pytest.param([], (0, None, 0), id="no object"),
    ],
)
def test_forged_output_of_the_program_is_parsed_defensively(
    fetching: FetchingRun, told: object, expected: tuple[int | None, int | None, int]
) -> None:
    text = b"printed" + mark_of(fetching) + json.dumps(told).encode() + b" and more"
    shown = fetching.parse(outcome(stdout=text))
    found = shown.outcome
    assert (found.exit_code, found.exit_signal, len(shown.files)) == expected
    assert (found.stdout, found.dropped_bytes) == (b"printed", 0)


@pytest.mark.parametrize("rest", [b"", b"{", b"\xff", b"[" * 5000])
def test_damaged_end_tells_nothing(fetching: FetchingRun, rest: bytes) -> None:
    shown = fetching.parse(outcome(stdout=b"a" + mark_of(fetching) + rest, exit_code=5))
    assert (shown.outcome.stdout, shown.outcome.exit_code, shown.files) == (b"a", 5, {})


def test_output_is_cut_at_the_programs_own_limit(fetching: FetchingRun) -> None:
    for end in (mark_of(fetching) + b"{}", b""):
        shown = fetching.parse(outcome(stdout=b"x" * 15 + end, dropped_bytes=2))
        assert (shown.outcome.stdout, shown.outcome.dropped_bytes) == (b"x" * 10, 7)


def test_limit_that_was_hit_stands_whatever_the_program_tells(fetching: FetchingRun) -> None:
    text = mark_of(fetching) + b'{"return_code": 0, "files": {}}'
    ended = outcome(stdout=text, exit_code=None, limit_hit=LimitKind.WALL_TIME)
    assert fetching.parse(ended).outcome == replace(ended, stdout=b"")


@pytest.mark.parametrize(
    ("request_type", "name"),
    [
        (RunCodeRequest, "compile_timeout"),
        (RunCodeRequest, "run_timeout"),
        (RunCodeRequest, "memory_limit_MB"),
        (RunJupyterRequest, "cell_timeout"),
        (RunJupyterRequest, "total_timeout"),
    ],
)
@pytest.mark.parametrize("boolean", [False, True])
def test_a_number_may_be_text_but_no_boolean(
    request_type: type[RunCodeRequest | RunJupyterRequest], name: str, boolean: bool
) -> None:
    body = {"code": "", "language": "python", "cells": []}
    assert getattr(request_type.model_validate({**body, name: "10"}), name) == 10
    with pytest.raises(ValidationError, match=f"expected a number, found the boolean {boolean}"):
        request_type.model_validate({**body, name: boolean})
