"""Which worker grades what, and in which order: a queue per image, and short deadlines first."""

from collections.abc import Iterator

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.model import LimitOverrides, Submission
from grader.model.verdict import Verdict
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.deployment import Deployment, wait_until
from tests.factories import make_submission, make_suite

pytestmark = [
    pytest.mark.redis,
    pytest.mark.usefixtures("native_sandbox"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("order"))
    yield deployed
    deployed.close()


@pytest.fixture
def grader(deployment: Deployment) -> Iterator[QueueGrader]:
    settings = Settings(broker=deployment.redis.url, queue=QueueSettings(deadline_s=900, lease_s=2))
    with QueueGrader(settings) as opened:
        yield opened


def adding(name: object, image: str = "python", seconds: float = 0) -> Submission:
    suite = make_suite(limits=LimitOverrides(wall_time_s=60.0), image=image)
    code = f"# {name}\nimport time\ndef add(a, b):\n    time.sleep({seconds})\n    return a + b\n"
    return make_submission(code, suite=suite, id=str(name))


def test_workers_of_one_image_leave_those_of_another_alone(
    deployment: Deployment, grader: QueueGrader
) -> None:
    deployment.add_worker(queue_images="python")
    deployment.wait_for_workers(1)
    waiting = grader.submit(adding("scientific", "science"))
    assert grader.grade(adding("plain")).verdict is Verdict.PASSED
    status = read_status(grader.settings)
    assert (status.queued, status.waiting) == (1, {"science": 1})
    assert not waiting.done()

    deployment.add_worker(queue_images="science")
    report = waiting.result(60)
    assert report.verdict is Verdict.PASSED
    assert report.conditions is not None
    assert report.conditions.image == "science"

    def images() -> set[str]:
        return {worker.images for worker in read_status(grader.settings).workers}

    wait_until(lambda: images() == {"python", "science"}, 10, "both workers tell of themselves")


def test_short_deadline_overtakes_a_batch_that_waits(
    deployment: Deployment, grader: QueueGrader
) -> None:
    deployment.add_worker(slots=1)
    deployment.wait_for_workers(1)
    done: list[str] = []
    batch = [adding(f"patient {number}", seconds=0.3) for number in range(24)]
    futures = [grader.submit(submission, is_bulk=True) for submission in batch]
    wait_until(lambda: any(future.done() for future in futures), 30, "the batch is under way")
    urgent = grader.submit(adding("urgent"), timeout_s=14)
    urgent.add_done_callback(lambda _: done.append("urgent"))
    for future in futures:
        future.add_done_callback(lambda _: done.append("patient"))
    assert urgent.result(20).verdict is Verdict.PASSED
    assert [future.result(60).verdict for future in futures] == [Verdict.PASSED] * 24
    assert "patient" in done[done.index("urgent") :]
    assert done[done.index("urgent") :].count("patient") >= 6
