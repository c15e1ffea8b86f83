"""Clients and workers of different releases on one Redis, without a worker that grades."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.model.verdict import Verdict
from grader.model.wire import WIRE_VERSION
from grader.queueing.diagnosis import diagnose
from grader.queueing.grader import QueueGrader
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Handover, Submitted, Wanted
from grader.queueing.names import Key
from grader.queueing.status import encode_worker, read_status
from tests.deployment import REPO, Deployment
from tests.factories import make_submission, make_worker

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

OLDER_WORKER = """
import sys
from grader.model import wire
wire.WIRE_VERSION -= 1
from grader.config.settings import QueueSettings, Settings
from grader.queueing.ledger import Ledger
settings = Settings(broker=sys.argv[1], queue=QueueSettings(lease_s=60))
Ledger(settings).beat("older", "{}", [], [], edition="older")
"""


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("versions"))
    yield deployed
    deployed.close()


@pytest.fixture
def settings(deployment: Deployment) -> Settings:
    return Settings(broker=deployment.redis.url, queue=QueueSettings(deadline_s=90, lease_s=1))


@pytest.fixture
def ledger(settings: Settings) -> Iterator[Ledger]:
    opened = Ledger(settings)
    yield opened
    opened.close()


@pytest.fixture
def older_worker(deployment: Deployment) -> None:
    """Have a worker of the wire version before serve."""
    command = [sys.executable, "-c", OLDER_WORKER, deployment.redis.url]
    subprocess.run(command, cwd=REPO, check=True)


@pytest.mark.usefixtures("older_worker")
def test_client_without_a_worker_of_its_version_is_refused_in_words(settings: Settings) -> None:
    with QueueGrader(settings) as grader:
        assert f"wire version {WIRE_VERSION - 1}" in grader.look()
        report = grader.grade(make_submission("x = 1"))
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert f"all workers have wire version {WIRE_VERSION - 1}" in report.feedback
    assert read_status(settings).queued == 0


@pytest.mark.usefixtures("older_worker")
def test_worker_of_another_version_takes_no_jobs_of_this_one_and_status_says_so(
    settings: Settings, ledger: Ledger
) -> None:
    ledger.beat("worker", encode_worker(make_worker()), [], [], edition="e")
    assert submit(settings, ledger)[0].is_new
    assert ledger.check("client", []).other_versions == ()
    found = read_status(settings)
    assert (found.queued, found.other_versions) == (1, {WIRE_VERSION - 1: 1})
    assert f"1 worker of wire version {WIRE_VERSION - 1}" in diagnose(found).text


def submit(settings: Settings, ledger: Ledger) -> tuple[Submitted, ...]:
    job = JobMaker(settings).make(make_submission("x = 1"))
    assert job is not None
    ledger.store_suite(job.suite.digest, job.suite.message)
    return ledger.submit("client", [job.ledger_entry(60)]).jobs


def grade(settings: Settings, ledger: Ledger, edition: str) -> None:
    """Answer the job that `submit` enters, as a worker of an edition."""
    ledger.beat("worker", "{}", [], [], edition=edition)
    assert submit(settings, ledger)[0].is_new
    wanted = Wanted(token=edition, images=["python"])
    (taken,) = ledger.step("worker", [], [wanted]).taken
    assert taken is not None
    done = Handover(
        token=edition,
        key=taken.key,
        report=edition.encode(),
        error="",
        keep=True,
        edition=edition,
    )
    assert ledger.step("worker", [done], []).in_time == (True,)


def test_verdict_of_workers_before_an_upgrade_answers_no_more(
    deployment: Deployment, settings: Settings, ledger: Ledger
) -> None:
    grade(settings, ledger, "older")
    assert submit(settings, ledger) == (Submitted(report=b"older"),)
    with deployment.redis.connect() as client:
        # As if the older worker had ended long ago.
        client.zadd(Key.EDITIONS, {"older": 0})
    assert submit(settings, ledger) == (Submitted(report=b"older"),), "no other worker serves"
    grade(settings, ledger, "newer")
    assert submit(settings, ledger) == (Submitted(report=b"newer"),)
