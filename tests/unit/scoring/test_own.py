"""Policies of the user's own: loaded from settings only, and applied wherever grading happens."""

from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model.errors import ConfigurationError
from grader.model.verdict import Verdict
from grader.model.wire import encode_report
from grader.queueing.jobs import JobMaker, SubmissionJob
from grader.report.reasons import next_better
from grader.scoring.own import load_policy, policy_to_send
from grader.scoring.policies import POLICIES, find_policy, score_report
from tests.factories import make_report, make_submission
from tests.fake.backend import FakeSandbox

SOURCE = """
from dataclasses import dataclass


@dataclass
class Weights:
    right: float = 0.75


def reward(report):
    return Weights().right if report.verdict == "passed" else report.reward / 2


def broken(report):
    return 1 / 0


def leaving(report):
    raise SystemExit("enough")


def text(report):
    return "1.0"


def nothing(report):
    return None


def endless(report):
    return float("inf")


count = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_policy.py"
    path.write_text(SOURCE)
    return path


def test_function_of_a_file_gives_the_reward_and_the_fraction_the_score(file: Path) -> None:
    name = f"{file}:reward"
    assert load_policy(name).needs_every_case
    report = score_report(verdict=Verdict.FAILED, cases=(), policy=name, total=2)
    assert (report.reward, report.score, report.policy) == (-0.5, 0.0, name)
    assert next_better(report) is None
    ungraded = score_report(verdict=Verdict.INTERNAL_ERROR, cases=(), policy=name, total=2)
    assert (ungraded.reward, ungraded.policy) == (0.0, name)
    assert name not in POLICIES


def test_function_of_a_module_is_loaded(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    assert load_policy("my_policy:reward").name == "my_policy:reward"


def test_entry_point_of_a_package_is_loaded(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path
) -> None:
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[grader.policies]\nspeedy = my_policy:reward\n")
    monkeypatch.syspath_prepend(str(file.parent))
    assert load_policy("speedy").summary == "a function of the user's own"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("bianry", "no reward policy 'bianry'; expected one of: graded", id="misspelt"),
        pytest.param("{file}:rewards", "does not load: AttributeError", id="no such function"),
        pytest.param("{file}:count", "is int; expected a function", id="no function"),
        pytest.param("no/such.py:reward", "does not load: FileNotFoundError", id="no such file"),
        pytest.param("no_such_module:reward", "does not load: ModuleNotFoundError", id="module"),
        pytest.param(":reward", "does not load: ValueError", id="nothing"),
        pytest.param("{leaving}:reward", "does not load: SystemExit: 9", id="leaving"),
    ],
)
def test_policy_that_does_not_load_is_refused_at_once(file: Path, name: str, problem: str) -> None:
    leaving = file.with_name("leaving.py")
    leaving.write_text("raise SystemExit(9)\n")
    with pytest.raises(ConfigurationError, match=problem):
        Grader(Settings(policy=name.format(file=file, leaving=leaving)))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("broken", "raised ZeroDivisionError: division by zero"),
        ("leaving", "raised SystemExit: enough"),
        ("text", "returned '1.0'; expected a finite number"),
        ("nothing", "returned None; expected a finite number"),
        ("endless", "returned inf; expected a finite number"),
    ],
)
def test_policy_that_fails_is_never_the_models_fault(
    file: Path, function: str, problem: str
) -> None:
    name = f"{file}:{function}"
    settings = Settings(policy=name, slots=1, retries=0)
    with Grader(settings, sandbox=FakeSandbox()) as grader:
        report = grader.grade(make_submission("no code at all"))
    assert (report.verdict, report.graded) == (Verdict.INTERNAL_ERROR, False)
    assert problem in report.feedback


@pytest.mark.parametrize(
    ("function", "verdict", "reward"),
    [("reward", Verdict.PASSED, 0.75), ("broken", Verdict.INTERNAL_ERROR, 0.0)],
)
def test_others_grade_by_a_built_in_policy_and_the_client_applies_its_own(
    file: Path, function: str, verdict: Verdict, reward: float
) -> None:
    name = f"{file}:{function}"
    load_policy(name)
    job = JobMaker(Settings(policy=name)).make(make_submission())
    assert isinstance(job, SubmissionJob)
    assert '"policy": "fraction"' in job.settings
    report = job.reader.decode(encode_report(make_report(policy="fraction")))
    assert (report.verdict, report.reward, report.policy) == (verdict, reward, name)


def test_name_that_comes_from_elsewhere_is_never_loaded(file: Path) -> None:
    file.write_text("raise SystemExit('loaded')")
    for name in (f"{file}:reward", "os:system"):
        with pytest.raises(ConfigurationError, match="there is no reward policy"):
            find_policy(name)
        assert policy_to_send(name) == "fraction"
