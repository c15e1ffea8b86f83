"""Which submissions are the same job, and what is sent for them."""

from dataclasses import replace

import pytest

from grader.config.settings import Settings
from grader.model import Conditions, Limits, Submission
from grader.model.errors import SuiteError, WireError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity
from grader.queueing import jobs
from grader.queueing.jobs import JobMaker, SubmissionJob, apply, decode_suite
from grader.suites import parse_label
from tests.factories import make_report, make_submission, make_suite, make_tests

CODE = "def add(a, b):\n    return a + b\n"
ANSWER = f"```python\n{CODE}```\n"


def make(submission: Submission, settings: Settings | None = None) -> SubmissionJob:
    job = JobMaker(settings or Settings()).make(submission)
    assert job is not None
    return job


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_submission(ANSWER, id="another"), id="another id"),
        pytest.param(make_submission(f"I am sure.\n\n{ANSWER}"), id="other words around it"),
        pytest.param(make_submission(ANSWER, suite=make_suite()), id="an equal suite"),
    ],
)
def test_equal_submissions_are_one_job(other: Submission) -> None:
    assert make(other).key == make(make_submission(ANSWER)).key


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_submission(CODE + "\n# different\n"), id="other code"),
        pytest.param(
            make_submission(CODE, suite=make_suite(make_tests("assert add(1, 1) == 2"))),
            id="other tests",
        ),
        pytest.param(make_submission(CODE, suite=make_suite(image="science")), id="other image"),
    ],
)
def test_different_submissions_are_different_jobs(other: Submission) -> None:
    assert make(other).key != make(make_submission(CODE)).key


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(Settings(policy="binary"), id="policy"),
        pytest.param(Settings(stop_early=False), id="stop_early"),
        pytest.param(Settings(limits=Limits(cpu_time_s=1.0)), id="limits"),
        pytest.param(Settings(require_integrity=Integrity.SPLIT), id="integrity"),
    ],
)
def test_settings_that_change_a_report_change_the_job(settings: Settings) -> None:
    assert make(make_submission(CODE), settings).key != make(make_submission(CODE)).key


def test_settings_of_the_deployment_do_not_change_the_job() -> None:
    elsewhere = Settings(slots=7, retries=0, broker="redis://elsewhere/0")
    assert make(make_submission(CODE), elsewhere).key == make(make_submission(CODE)).key


def test_text_without_code_is_no_job() -> None:
    assert JobMaker(Settings()).make(make_submission("I do not know.")) is None


def test_suite_arrives_with_the_clients_limits_and_takes_the_code_as_it_is() -> None:
    job = make(make_submission(CODE), Settings(limits=Limits(cpu_time_s=3.0)))
    suite = decode_suite(job.suite.message)
    assert suite.limits.cpu_time_s == 3.0
    assert suite.extraction == "verbatim"
    assert suite.tests == make_suite().tests


@pytest.mark.parametrize(
    ("fence", "language", "image"),
    [
        pytest.param("cpp", "cpp", "cpp", id="another language"),
        pytest.param("c++20", "cpp20", "cpp", id="dialect"),
        pytest.param("python", "python", "python", id="python"),
    ],
)
def test_language_that_the_answer_says_goes_with_the_job(
    fence: str, language: str, image: str
) -> None:
    suite = parse_label({"inputs": ["1"], "outputs": ["1"], "language": "any"})
    code = "print(1)" if fence == "python" else "int main() {}"
    job = make(make_submission(f"```{fence}\n{code}\n```", suite=suite))
    sent = decode_suite(job.suite.message)
    assert (job.image, sent.image, sent.language) == (image, image, language)


def test_suite_that_no_redis_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(make(make_submission(CODE)).suite.message)
    monkeypatch.setattr(jobs, "_MOST_BYTES", size)
    make(make_submission(CODE))
    monkeypatch.setattr(jobs, "_MOST_BYTES", size - 1)
    with pytest.raises(SuiteError, match=f"has {size} bytes; a queue takes at most {size - 1}"):
        make(make_submission(CODE))


def test_message_that_is_no_suite_is_refused() -> None:
    with pytest.raises(WireError):
        decode_suite(b"{}")


def test_worker_keeps_its_own_settings_and_takes_those_of_the_client() -> None:
    here = Settings(slots=3, policy="binary", retries=1)
    chosen = {"policy": "ladder", "stop_early": True, "require_integrity": "split"}
    assert apply(chosen, here) == replace(
        here, policy="ladder", stop_early=True, require_integrity=Integrity.SPLIT
    )


def test_report_of_a_shared_job_has_the_conditions_of_each_submission() -> None:
    plain, fenced = make(make_submission(CODE.strip())), make(make_submission(ANSWER.strip()))
    conditions = Conditions(
        format="asserts",
        image="python",
        extraction=ExtractionRule.VERBATIM,
        extraction_note="Took the completion as it stands.",
        limits=Limits(),
    )
    notes = {}
    for job in (plain, fenced):
        told = job.conditions.add_to(make_report(conditions=conditions)).conditions
        assert told is not None
        assert told.extraction is ExtractionRule.AUTO
        notes[told.extraction_note] = job
    assert len(notes) == 2
    assert fenced.conditions.add_to(make_report()) == make_report()
