"""Limits from the measured times of references."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.settings import CalibrationSettings, Settings
from grader.grading.grader import Grader
from grader.model import (
    LimitOverrides,
    Limits,
    LimitsFrom,
    MiB,
    StdinCase,
    StdinTests,
    TestSuite,
)
from grader.model.errors import ConfigurationError
from grader.model.verdict import Verdict
from grader.scoring import calibration
from grader.scoring.calibration import Calibration, Measured
from tests.factories import make_submission, make_suite, make_tests
from tests.fake.backend import FakeSandbox

SUITE = make_suite()
SETTINGS = CalibrationSettings(factor=4.0, floor_s=1.5)
USUAL = Limits(cpu_time_s=10.0, wall_time_s=30.0)


def calibrated(cpu_time_s: float, wall_time_s: float = 0.0) -> Calibration:
    measured = Measured(cpu_time_s=cpu_time_s, wall_time_s=wall_time_s)
    return Calibration({calibration.key_of(SUITE): measured}, SETTINGS)


@pytest.mark.parametrize(
    ("took", "cpu_time_s", "wall_time_s"),
    [
        pytest.param((0.01, 0.01), 1.5, 4.5, id="floor"),
        pytest.param((0.375, 0.4), 1.5, 4.5, id="at the floor"),
        pytest.param((0.5, 0.5), 2.0, 6.0, id="factor"),
        pytest.param((5.0, 6.0), 20.0, 60.0, id="more than is usual"),
        pytest.param((0.01, 3.0), 1.5, 12.0, id="sleeps"),
    ],
)
def test_limit_is_a_multiple_of_what_the_reference_took(
    took: tuple[float, float], cpu_time_s: float, wall_time_s: float
) -> None:
    found = calibrated(*took).in_force(SUITE, USUAL)
    assert (found.limits.cpu_time_s, found.limits.wall_time_s) == (cpu_time_s, wall_time_s)
    assert found.limits_from is LimitsFrom.REFERENCE
    assert found.limits.memory_bytes == USUAL.memory_bytes


def test_limit_of_the_suite_wins() -> None:
    suite = replace(SUITE, limits=LimitOverrides(cpu_time_s=0.25))
    found = calibrated(1.0).in_force(suite, USUAL)
    assert (found.limits.cpu_time_s, found.limits.wall_time_s) == (0.25, 30.0)
    assert found.limits_from is LimitsFrom.SUITE


def test_other_limits_of_the_suite_stay() -> None:
    suite = replace(SUITE, limits=LimitOverrides(memory_bytes=MiB, wall_time_s=7.0))
    found = calibrated(1.0).in_force(suite, USUAL)
    limits = found.limits
    assert (limits.cpu_time_s, limits.wall_time_s, limits.memory_bytes) == (4.0, 7.0, MiB)


def printing(*expected: str, limits: LimitOverrides | None = None) -> TestSuite:
    cases = tuple(StdinCase(id=str(i), stdin="", expected=e) for i, e in enumerate(expected))
    return make_suite(StdinTests(cases=cases), limits=limits or LimitOverrides())


@pytest.mark.parametrize(
    ("suite", "output_bytes"),
    [
        pytest.param(printing("x" * 250, ""), 1000, id="short"),
        pytest.param(printing("", "x" * 251), 1004, id="long"),
        pytest.param(printing("x", limits=LimitOverrides(output_bytes=9)), 9, id="suite's own"),
        pytest.param(printing("x" * 9, limits=LimitOverrides(output_bytes=9)), 36, id="too low"),
        pytest.param(make_suite(), 1000, id="nothing expected"),
    ],
)
def test_limit_of_output_has_room_for_what_is_expected(suite: TestSuite, output_bytes: int) -> None:
    usual = replace(USUAL, output_bytes=1000)
    assert calibrated(1.0).in_force(suite, usual).limits.output_bytes == output_bytes


def test_other_tests_have_the_usual_limits() -> None:
    other = make_suite(make_tests("assert add(2, 2) == 4"))
    found = calibrated(1.0).in_force(other, USUAL)
    assert (found.limits, found.limits_from) == (USUAL, LimitsFrom.SETTINGS)


def test_key_has_only_what_decides_how_a_submission_runs() -> None:
    same = replace(SUITE, reference="x = 1", prompt="Add.", problem_id="else", format="else")
    assert calibration.key_of(same) == calibration.key_of(SUITE)
    assert calibration.key_of(replace(SUITE, prelude="import math")) != calibration.key_of(SUITE)


# ---------------------------------------------------------------- files


def test_saved_times_are_loaded_and_added_to(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.limits.jsonl"
    first, second = (Measured(cpu_time_s=n, wall_time_s=n) for n in (0.5, 2.0))
    calibration.save(path, {"a": first, "b": first})
    calibration.save(path, {"b": second})
    assert calibration.load(path) == {"a": first, "b": second}
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_file_beside_the_problems_is_found(tmp_path: Path) -> None:
    problems = tmp_path / "problems.jsonl"
    settings = Settings(problems=problems, calibration=SETTINGS)
    assert calibration.find(settings).in_force(SUITE, USUAL).limits_from is LimitsFrom.SETTINGS
    measured = {calibration.key_of(SUITE): Measured(cpu_time_s=1.0, wall_time_s=1.0)}
    calibration.save(calibration.beside(problems), measured)
    assert calibration.find(settings).in_force(SUITE, USUAL).limits_from is LimitsFrom.REFERENCE


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param("not json\n", id="no JSON"),
        pytest.param('{"tests": "a"}\n', id="no time"),
        pytest.param('{"tests": "a", "cpu_time_s": -1, "wall_time_s": 1}\n', id="negative"),
        pytest.param('{"tests": "a", "cpu_time_s": NaN, "wall_time_s": 1}\n', id="no number"),
    ],
)
def test_named_file_that_cannot_be_read_is_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "limits.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=r"limits\.jsonl"):
        calibration.find(Settings(calibration=CalibrationSettings(file=path)))


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_factor_and_floor_are_above_zero(value: float) -> None:
    with pytest.raises(ConfigurationError, match=r"calibration\.factor is"):
        Settings(calibration=CalibrationSettings(factor=value))
    with pytest.raises(ConfigurationError, match=r"calibration\.floor_s is"):
        Settings(calibration=CalibrationSettings(floor_s=value))


def test_grader_stops_what_takes_longer_and_says_whose_limit_it_was(tmp_path: Path) -> None:
    path = tmp_path / "limits.jsonl"
    calibration.save(path, {calibration.key_of(SUITE): Measured(cpu_time_s=0.01, wall_time_s=0.01)})
    chosen = CalibrationSettings(file=path, factor=2.0, floor_s=0.2)
    with Grader(Settings(slots=1, calibration=chosen), sandbox=FakeSandbox()) as grader:
        report = grader.grade(
            make_submission("def add(a, b):\n    while True: pass\n", suite=SUITE)
        )
    assert report.verdict is Verdict.TIME_LIMIT
    assert report.conditions is not None
    assert report.conditions.limits.cpu_time_s == 0.2
    assert report.conditions.limits_from is LimitsFrom.REFERENCE
