"""What the log says of samples that were not graded."""

import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.config.rewards import RewardSettings
from grader.model.verdict import Verdict
from grader.rewards.complaints import Complaints
from grader.rewards.sample import Rating, ungraded


def lines_of(caplog: pytest.LogCaptureFixture, reasons: list[str]) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        Complaints().add(ungraded(reason, RewardSettings()) for reason in reasons)
    return [record.getMessage() for record in caplog.records]


def test_each_reason_is_said(caplog: pytest.LogCaptureFixture) -> None:
    lines = lines_of(caplog, ["no format", "cut off", "no format"])
    assert lines == [
        "a sample was not graded: no format",
        "a sample was not graded: cut off",
    ]


def test_a_later_line_says_how_many_had_known_reasons(caplog: pytest.LogCaptureFixture) -> None:
    lines = lines_of(caplog, ["gone", "gone", "gone", "cut off"])
    assert lines[-1] == "a sample was not graded: cut off (and 2 more for reasons logged before)"


def test_a_graded_sample_is_no_reason(caplog: pytest.LogCaptureFixture) -> None:
    graded = Rating(reward=1.0, score=1.0, graded=True, verdict=Verdict.PASSED, note="passed")
    with caplog.at_level(logging.ERROR):
        Complaints().add([graded])
    assert not caplog.records


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_every_distinct_reason_has_exactly_one_first_line(
    caplog: pytest.LogCaptureFixture, reasons: list[str]
) -> None:
    said = [line.split()[5] for line in lines_of(caplog, reasons)]
    assert said[: len(set(reasons))] == list(dict.fromkeys(reasons))
