"""The benchmarks run, and notice a contestant that grades wrongly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import contestants, served
from benchmarks.command import first_verdict_s, peak_memory_bytes
from benchmarks.ledger import costs
from benchmarks.measure import Entry, throughput
from benchmarks.rewards import compare
from benchmarks.workloads import REPO, Sample, check_samples, pytest_samples, renumbered
from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import MiB
from grader.sandbox.native.backend import NativeSandbox
from tests.conftest import missing
from tests.deployment import redis_program
from tests.releases import installed

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def few() -> list[Sample]:
    """Two samples of either workload."""
    return renumbered(check_samples()[1][:2] + pytest_samples()[1][:2])


def test_contestants_take_turns_and_are_held_against_each_other(
    few: list[Sample], native_sandbox: NativeSandbox
) -> None:
    with Grader(Settings(slots=1), sandbox=native_sandbox) as grader:
        entries = {
            "ours": Entry(run=contestants.ours(grader)),
            "usual": Entry(run=contestants.usual_pytest(2), stride=2),
        }
        ours, usual = throughput("few", few, entries, rounds=2)
    assert (ours.samples, usual.samples) == (4, 2)
    assert len(ours.rates) == 2
    assert ours.ratios["usual"] == pytest.approx(ours.per_second / usual.per_second)


@pytest.mark.parametrize(
    "contestant",
    [
        pytest.param(contestants.usual_pytest(2), id="usual pytest"),
        pytest.param(contestants.bare_fork(2), id="bare fork"),
    ],
)
def test_contestant_that_fails_a_sample_stops_the_benchmark(
    few: list[Sample], contestant: contestants.Contestant
) -> None:
    broken = "def test_wrong():\n    assert False\n\n\ntest_wrong()\n"
    wrong = replace(few[0], programs=(broken,), files={"test_wrong.py": broken})
    with pytest.raises(AssertionError):
        contestant([wrong])


def test_pytest_workload_is_every_pytest_problem_of_the_examples() -> None:
    rows = map(json.loads, (REPO / "examples/problems.jsonl").read_text().splitlines())
    expected = {row["task_id"] for row in rows if row["task_id"].startswith("pytest/")}
    assert {sample.submission.suite.problem_id for sample in pytest_samples()[1]} == expected


def test_command_is_measured_from_outside(native_sandbox: NativeSandbox) -> None:
    assert 0 < first_verdict_s(native_sandbox.name, rounds=1)[0] < 60
    assert 10 * MiB < peak_memory_bytes(native_sandbox.name, rows=20) < 150 * MiB


@pytest.mark.slow
@pytest.mark.redis
def test_ledger_is_measured_without_a_sandbox() -> None:
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
    found = costs(rows=64, workers=1, slots=2)
    assert [cost.jobs for cost in found] == [64, 64]
    assert all(cost.cpu_us > 1 and cost.commands > 5 for cost in found)


@pytest.mark.slow
def test_single_calls_are_held_against_the_command(
    native_sandbox: NativeSandbox, shared_dir: Path
) -> None:
    del shared_dir  # has the problems
    installed("torch")
    found = compare(rows=6, rounds=1, backend=native_sandbox.name, slots=2)
    assert found.rows == 6
    assert found.wall_ratio == found.command.wall_s / found.single_calls.wall_s


@pytest.mark.slow
@pytest.mark.usefixtures("native_sandbox", "shared_dir")  # which has the problems
def test_service_is_held_against_this_process() -> None:
    found = served.compare(rows=6, rounds=1, slots=1)
    assert len(found) == 4
    for way in found:
        assert way.ratio == way.served_per_second / way.local_per_second
        assert 0 < way.p50_s <= way.p99_s
