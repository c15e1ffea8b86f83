"""A client of a real `grader serve`: equal reports, its own settings, and every failure."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    GradeReport,
    PytestTests,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
    TestSuite,
    Usage,
    wire,
)
from grader.model.errors import GraderError, ServiceUnavailableError
from grader.model.verdict import Integrity, Verdict
from grader.remote.grader import RemoteGrader
from grader.rewards.core import RewardCore
from grader.rewards.sample import Sample
from tests.commands import Run, read_rows, write_rows
from tests.deployment import free_port
from tests.factories import make_submission, make_suite, make_tests
from tests.serving import ASSERTS, BAD, GOOD, Service, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(90)]

TOKEN = "s3cret"  # noqa: S105 - of a service that lives as long as a test
Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with other settings than its clients."""
    folder = tmp_path_factory.mktemp("service")
    with serving(
        folder,
        token=TOKEN,
        policy="binary",
        extraction="first_block",
        server__body_bytes=200_000,
    ) as running:
        yield running


@pytest.fixture
def settings(service: Service) -> Settings:
    return Settings(url=f"http://any:{TOKEN}@127.0.0.1:{service.port}")


@pytest.fixture
def grader(settings: Settings) -> Iterator[RemoteGrader]:
    with RemoteGrader(settings) as grader:
        yield grader


def test_client_of_another_wire_version_is_refused_at_once_in_words(
    grader: RemoteGrader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "WIRE_VERSION", wire.WIRE_VERSION - 1)
    report = grader.grade(make_submission(GOOD))
    assert report.verdict is Verdict.INTERNAL_ERROR
    version = wire.WIRE_VERSION
    assert f"version {version}; expected version {version + 1}" in report.feedback


def submissions() -> list[Submission]:
    """Return submissions to suites of every style, right and wrong."""
    call = CallTests(
        entry_point="f",
        cases=(
            CallCase(id="0", args=((1, 2), {3}), expected=(1, 2, 3)),
            CallCase(id="1", kwargs={"a": (), "b": {b"x"}}, expected=(b"x",)),
        ),
    )
    stdin = StdinTests(cases=(StdinCase(id="0", stdin="2\n", expected="4\n"),))
    module = b"from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    pytests = PytestTests(
        files=(SuiteFile(path="test_add.py", content=module),), test_paths=("test_add.py",)
    )
    suites: list[tuple[TestSuite, str]] = [
        (make_suite(), "def add(a, b): return a + b"),
        (make_suite(make_tests("assert add(1, 2) == 3", "assert add(1, 1) == 3")), GOOD),
        (make_suite(call, entry_point="f"), "def f(a, b):\n    return (*a, *b)"),
        (make_suite(stdin, entry_point=None), "print(int(input()) ** 2)"),
        (make_suite(stdin, entry_point=None), "print(int(input()) * 3)"),
        (make_suite(pytests), GOOD),
        (make_suite(), "def add(a, b) return"),
        (make_suite(), "I would rather not."),
        (make_suite(), "def add(a, b): return a + b  # \udc80"),
    ]
    return [
        make_submission(completion, suite=suite, id=str(number))
        for number, (suite, completion) in enumerate(suites)
    ]


def essence(report: GradeReport) -> GradeReport:
    """Return a report without the values that differ from run to run."""
    cases = tuple(replace(case, usage=None) for case in report.cases)
    return replace(report, cases=cases, usage=Usage())


def test_reports_are_those_of_a_grader_of_this_process(grader: RemoteGrader) -> None:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=2)) as local:
        here = local.grade_batch(submissions())
    there = grader.grade_batch(submissions())
    assert [essence(report) for report in there] == [essence(report) for report in here]
    verdicts = {report.verdict for report in there}
    assert {Verdict.PASSED, Verdict.FAILED, Verdict.COMPILE_ERROR, Verdict.NO_CODE} <= verdicts


def test_client_decides_by_which_rules_it_is_graded(settings: Settings) -> None:
    suite = make_suite(make_tests("assert add(1, 2) == 0", "assert add(0, 0) == 0"))
    submission = make_submission(suite=suite)
    with RemoteGrader(replace(settings, policy="fraction")) as grader:
        report = grader.grade(submission)
    assert (report.policy, report.passed, report.reward) == ("fraction", 1, 0.0)
    with RemoteGrader(replace(settings, require_integrity=Integrity.ISOLATED)) as grader:
        report = grader.grade(submission)
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "require_integrity is isolated" in report.feedback


def test_many_calls_at_once_each_get_their_own_report(grader: RemoteGrader) -> None:
    def one(number: int) -> GradeReport:
        suite = make_suite(make_tests(f"assert f() == {number}"))
        code = f"def f(): return {number if number % 2 else -1}"
        return grader.grade(make_submission(code, suite=suite))

    with ThreadPoolExecutor(32) as threads:
        reports = list(threads.map(one, range(60)))
    assert [report.verdict is Verdict.PASSED for report in reports] == [False, True] * 30


def test_cancelling_stops_the_grading_there(
    grader: RemoteGrader, service: Service, eventually: Eventually
) -> None:
    before = service.metric("grader_cancelled_submissions_total")
    future = grader.submit(make_submission(sleeper(18)))
    eventually(lambda: service.metric('grader_slots{state="busy",where="here"}') >= 1, 20)
    assert future.cancel()
    eventually(lambda: service.metric("grader_cancelled_submissions_total") > before, 30)


def test_deadline_is_kept_and_the_report_says_so(grader: RemoteGrader) -> None:
    report = grader.grade(make_submission(sleeper(18)), timeout_s=0.5)
    assert (report.graded, report.verdict) == (False, Verdict.INTERNAL_ERROR)
    assert "no report within 0.5 s" in report.feedback


# ---------------------------------------------------------------- failures


def reason(settings: Settings, submission: Submission | None = None, timeout_s: float = 30) -> str:
    """Return why a submission is not graded."""
    with RemoteGrader(settings) as grader:
        report = grader.grade(submission or make_submission(), timeout_s=timeout_s)
    assert not report.graded
    assert TOKEN not in report.feedback
    return report.feedback


def test_wrong_token_is_refused_at_once(service: Service) -> None:
    url = f"http://any:wrong@127.0.0.1:{service.port}"
    assert "refuses: status 401: a token is needed" in reason(Settings(url=url), timeout_s=600)


def test_submission_that_is_too_large_is_refused_at_once(settings: Settings) -> None:
    large = make_submission("def add(a, b): return a + b  # " + "x" * 300_000)
    assert "refuses: status 413" in reason(settings, large, timeout_s=600)


def test_something_else_at_the_address_is_told(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            said = reason(Settings(url=f"http://127.0.0.1:{port}"))
        finally:
            process.kill()
    assert "is this the address of grader serve?" in said


def test_nobody_at_the_address_costs_the_deadline_and_no_more() -> None:
    said = reason(Settings(url=f"http://127.0.0.1:{free_port()}"), timeout_s=1)
    assert "no report within 1 s" in said
    assert "ConnectionRefusedError" in said


def test_look_tells_a_service_from_a_wrong_token_and_from_nobody(
    grader: RemoteGrader, service: Service
) -> None:
    assert grader.look() == ""
    wrong = Settings(url=f"http://any:wrong@127.0.0.1:{service.port}")
    with RemoteGrader(wrong) as refused, pytest.raises(ServiceUnavailableError, match="401"):
        refused.look()
    nowhere = Settings(url=f"http://127.0.0.1:{free_port()}")
    with RemoteGrader(nowhere) as lost, pytest.raises(ServiceUnavailableError, match=r"not answer"):
        lost.look()


def test_file_is_not_begun_where_nobody_answers(tmp_path: Path, run: Run) -> None:
    write_rows(tmp_path / "in.jsonl", [{"completion": GOOD, "label": ASSERTS}])
    url = f"http://127.0.0.1:{free_port()}"
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--url", url)
    assert done.returncode == 3
    assert f"error: {url} does not answer: ConnectionRefusedError" in done.stderr


def test_service_that_dies_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(url=f"http://127.0.0.1:{port}")
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    with RemoteGrader(settings) as grader:
        with serving(tmp_path / "1", server__port=port) as service:
            assert grader.grade(make_submission()).verdict is Verdict.PASSED
            futures = [grader.submit(make_submission(sleeper(2))) for _ in range(4)]
            while service.metric('grader_slots{state="busy",where="here"}') < 2:
                time.sleep(0.02)
            service.process.kill()
            service.process.wait()
        with serving(tmp_path / "2", server__port=port):
            reports = [future.result() for future in futures]
    assert [report.verdict for report in reports] == [Verdict.PASSED] * 4


def test_closed_grader_answers_everybody(settings: Settings) -> None:
    grader = RemoteGrader(settings)
    futures = [grader.submit(make_submission(sleeper(18))) for _ in range(3)]
    grader.close()
    assert all(not future.result().graded for future in futures)
    assert not grader.grade(make_submission()).graded


# ---------------------------------------------------------------- rewards and the command


def test_rewards_are_graded_at_the_address(settings: Settings) -> None:
    core = RewardCore(settings)
    core.check()
    label = json.dumps(ASSERTS)
    ratings = core.rate([Sample(query=query, label=label) for query in (GOOD, BAD, "no code")])
    core.close()
    assert [rating.reward for rating in ratings] == [1.0, 0.3, -1.0]
    assert all(rating.graded for rating in ratings)


def test_check_of_rewards_says_who_does_not_answer() -> None:
    settings = Settings(url=f"http://127.0.0.1:{free_port()}")
    core = RewardCore(replace(settings, reward=replace(settings.reward, deadline_s=0.5)))
    with pytest.raises(GraderError, match=r"no report within .* from http://127\.0\.0\.1"):
        core.check()
    core.close()


def test_file_is_graded_at_the_address_whatever_broker_is_set(
    tmp_path: Path, run: Run, environment: dict[str, str], settings: Settings
) -> None:
    environment |= {"GRADER_BROKER": "redis://127.0.0.1:1/0"}
    rows: list[Any] = [
        {"id": str(n), "completion": GOOD if n % 2 else BAD, "label": ASSERTS} for n in range(20)
    ]
    write_rows(tmp_path / "in.jsonl", rows)
    assert settings.url is not None
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--url", settings.url)
    assert done.returncode == 0, done.stderr
    rewards = {row["id"]: row["report"]["reward"] for row in read_rows(tmp_path / "out.jsonl")}
    assert rewards == {str(n): 1.0 if n % 2 else 0.3 for n in range(20)}
