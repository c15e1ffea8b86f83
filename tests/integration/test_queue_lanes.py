"""Which job of which client a worker gets next."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.cli.app import run
from grader.config.settings import QueueSettings, ServiceClass, Settings
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Entered, Handover, Hint, LedgerEntry, Taken, Wanted
from grader.queueing.names import CLASS_WEIGHTS, Key, queue_name, waiter
from grader.queueing.status import encode_worker, read_status
from tests.deployment import Deployment
from tests.factories import make_worker

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

WORKER = "worker"
_numbers = count()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("lanes"))
    yield deployed
    deployed.close()


@pytest.fixture
def ledger(deployment: Deployment) -> Iterator[Ledger]:
    empty(deployment)
    opened = Ledger(Settings(broker=deployment.redis.url))
    yield opened
    opened.close()


def empty(deployment: Deployment) -> None:
    with deployment.redis.connect() as client:
        client.flushall()


def enter(
    ledger: Ledger,
    client: str,
    number: int,
    *,
    service_class: ServiceClass = ServiceClass.TRAINING,
    key: str = "",
    timeout_s: float = 60,
    caller: str = "",
) -> Entered:
    """Enter jobs whose keys begin with the client's name."""
    ledger.store_suite("suite", b"suite")
    return ledger.submit(
        client,
        [
            LedgerEntry(
                key=key or f"{caller or client} {next(_numbers)}",
                suite="suite",
                image="python",
                timeout_s=timeout_s,
                settings="{}",
                code=b"",
                service_class=service_class,
                caller=caller,
            )
            for _ in range(number)
        ],
    )


def take(ledger: Ledger, number: int) -> list[tuple[str, Taken]]:
    """Take jobs that all run at the same time; return them with their tokens."""
    wanted = [Wanted(token=f"token {next(_numbers)}", images=["python"]) for _ in range(number)]
    taken = ledger.step(WORKER, [], wanted).taken
    return [(w.token, job) for w, job in zip(wanted, taken, strict=True) if job is not None]


def owners(taken: list[tuple[str, Taken]]) -> list[str]:
    return [job.key.partition(" ")[0] for _, job in taken]


def finish(ledger: Ledger, taken: list[tuple[str, Taken]]) -> None:
    done = [
        Handover(token=token, key=job.key, report=b"r", error="", keep=False, edition="e")
        for token, job in taken
    ]
    assert all(ledger.step(WORKER, done, []).in_time)


def test_single_job_comes_before_all_that_another_client_has_waiting(ledger: Ledger) -> None:
    enter(ledger, "batch", 50)
    take(ledger, 10)
    enter(ledger, "single", 1)
    assert owners(take(ledger, 1)) == ["single"]


def test_caller_of_a_service_does_not_wait_behind_another(ledger: Ledger) -> None:
    enter(ledger, "service", 50, caller="many@10.0.0.1")
    take(ledger, 10)
    enter(ledger, "service", 1, caller="one@10.0.0.2")
    assert owners(take(ledger, 1)) == ["one@10.0.0.2"]
    ledger.cancel("service", [job.key for _, job in take(ledger, 50)])


def test_client_that_asks_without_end_leaves_another_its_half(ledger: Ledger) -> None:
    enter(ledger, "batch", 20)
    turns = []
    for _ in range(20):
        enter(ledger, "single", 2, timeout_s=1)
        turns += owners(take(ledger, 1))
    assert turns.count("batch") == 10


def test_client_that_was_idle_has_saved_nothing_up(ledger: Ledger) -> None:
    enter(ledger, "late", 1)
    finish(ledger, take(ledger, 1))
    enter(ledger, "steady", 40)
    take(ledger, 20)
    enter(ledger, "late", 20)
    assert 4 <= owners(take(ledger, 10)).count("late") <= 6


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    weights=st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=2, max_size=4),
    service_class=st.sampled_from(ServiceClass),
    turns=st.integers(1, 60),
)
def test_clients_share_the_slots_by_weight_and_class(
    deployment: Deployment, weights: list[float], service_class: ServiceClass, turns: int
) -> None:
    empty(deployment)
    shares: dict[str, float] = {}
    for number, weight in enumerate(weights):
        where = Settings(broker=deployment.redis.url, queue=QueueSettings(weight=weight))
        # The first is of any class, and the others are of the usual one.
        own = ServiceClass.TRAINING if number else service_class
        ledger = Ledger(where)
        enter(ledger, f"client{number}", turns, service_class=own)
        shares[f"client{number}"] = weight * CLASS_WEIGHTS[own]
        ledger.close()
    ledger = Ledger(Settings(broker=deployment.redis.url))
    got = Counter(owners(take(ledger, turns)))
    ledger.close()
    assert got.total() == turns
    for one, its_share in shares.items():
        for other, other_share in shares.items():
            behind = got[other] / other_share - got[one] / its_share
            assert behind <= 1 / its_share + 1 / other_share + 1e-6


def test_slow_jobs_count_for_as_long_as_they_ran(deployment: Deployment, ledger: Ledger) -> None:
    enter(ledger, "slow", 20)
    enter(ledger, "quick", 20)
    running = take(ledger, 2)
    with deployment.redis.connect() as client:
        for _, job in running:
            if job.key.startswith("slow"):
                client.hincrby(Key.JOB + job.key, "started", -10_000)
    finish(ledger, running)
    # Each first job is taken to run for a second, so ten seconds are worth some jobs.
    assert owners(take(ledger, 8)) == ["quick"] * 8


def test_earlier_deadline_comes_first_in_a_lane(ledger: Ledger) -> None:
    for timeout_s in (50, 20, 90, 30):
        enter(ledger, "client", 1, key=f"client {timeout_s}", timeout_s=timeout_s)
    assert [job.key for _, job in take(ledger, 4)] == [f"client {n}" for n in (20, 30, 50, 90)]


def test_job_that_a_second_client_joins_waits_only_as_long_as_the_sooner_of_both(
    ledger: Ledger,
) -> None:
    enter(ledger, "batch", 20, service_class=ServiceClass.BATCH)
    enter(ledger, "batch", 1, key="batch last", timeout_s=600, service_class=ServiceClass.BATCH)
    take(ledger, 2)
    enter(ledger, "single", 1, key="batch last")
    assert [job.key for _, job in take(ledger, 1)] == ["batch last"]
    assert len(take(ledger, 50)) == 18, "it is not taken a second time"


def test_lane_of_a_dead_client_holds_nothing_up(deployment: Deployment, ledger: Ledger) -> None:
    enter(ledger, "dead", 5)
    enter(ledger, "alive", 1, key="dead shared")
    enter(ledger, "dead", 1, key="dead shared")
    with deployment.redis.connect() as client:
        client.zadd(Key.CLIENTS, {"dead": 1})
        assert [job.key for _, job in take(ledger, 9)] == ["dead shared"]
        assert client.exists(f"{Key.LANE}python:{waiter('dead', ServiceClass.TRAINING)}") == 0


def test_jobs_that_are_given_back_cost_their_client_nothing(ledger: Ledger) -> None:
    enter(ledger, "one", 20)
    enter(ledger, "two", 20)
    for _ in range(5):
        held = [(token, job) for token, job in take(ledger, 2) if job.key.startswith("one")]
        ledger.give_back(WORKER, [(token, job.key) for token, job in held])
    assert owners(take(ledger, 10)).count("one") >= 5


def test_status_shows_lanes_with_what_waits_and_their_weights(
    deployment: Deployment, ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    enter(ledger, "one", 2, service_class=ServiceClass.BATCH)
    enter(ledger, "two", 6)
    finish(ledger, take(ledger, 3))
    found = read_status(Settings(broker=deployment.redis.url))
    assert [(lane.client, lane.service_class, lane.waiting) for lane in found.lanes] == [
        ("two", "training", 4),
        ("one", "batch", 1),
    ]
    assert [lane.weight for lane in found.lanes] == [4.0, 1.0]
    assert all(lane.run_s is not None and 0 <= lane.run_s < 60 for lane in found.lanes)
    assert all(0 <= lane.waited_s < 60 for lane in found.lanes)
    assert max(lane.waited_s for lane in found.lanes) == found.oldest_s > 0
    assert (found.queued, found.waiting) == (5, {"python": 5})
    run(["status", "--broker", deployment.redis.url])
    shown = capsys.readouterr().out
    line = r"two: training, 4 waiting for python, the next for [\d.]+ s, weight 4, runs take"
    assert re.search(line, shown)


def test_no_more_hints_are_sent_than_workers_have_threads(
    deployment: Deployment, ledger: Ledger
) -> None:
    assert enter(ledger, "client", 20).hints == (Hint(image="python", number=1),)
    status = encode_worker(make_worker(slots=3, images="python"))
    ledger.beat(WORKER, status, [], [], edition="e")
    assert ledger.reap() == (Hint(image="python", number=6),)
    with deployment.redis.connect() as client:
        client.rpush(queue_name("python"), *["hint"] * 4)
        assert enter(ledger, "client", 20).hints == (Hint(image="python", number=2),)
        client.rpush(queue_name("python"), *["hint"] * 2)
        assert enter(ledger, "client", 20).hints == ()


def test_lane_is_closed_with_its_last_job_so_that_nothing_is_left_if_the_worker_dies(
    deployment: Deployment, ledger: Ledger
) -> None:
    enter(ledger, "client", 2)
    with deployment.redis.connect() as client:
        for number in (1, 0):
            assert len(take(ledger, 1)) == 1
            assert client.zcard(Key.LANES + "python") == number
