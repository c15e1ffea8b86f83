"""The answers of checkers and interactors, and what they mean."""

import math

import pytest

from grader.model import CheckerKind
from grader.model.errors import SuiteError
from grader.running import answers


@pytest.mark.parametrize(
    ("status", "stderr", "equal", "share"),
    [
        pytest.param(0, b"", True, None, id="accepted"),
        pytest.param(1, b"", False, None, id="wrong"),
        pytest.param(2, b"", False, None, id="presentation"),
        pytest.param(4, b"", False, None, id="extra output"),
        pytest.param(8, b"", False, None, id="output ends early"),
        pytest.param(7, b"points 0.25 nearly", False, 0.25, id="points"),
        pytest.param(7, b"log\npoints 0.5\n", False, 0.5, id="points after a log"),
        pytest.param(7, b"points 1", True, None, id="all points"),
        pytest.param(7, b"points 0", False, None, id="no points"),
    ],
)
def test_exit_status_means_what_testlib_says(
    status: int, stderr: bytes, equal: bool, share: float | None
) -> None:
    result = answers.by_status("checker", CheckerKind.TESTLIB, status, stderr)
    assert (result.equal, result.share) == (equal, share)


@pytest.mark.parametrize(("status", "equal"), [(42, True), (43, False)])
def test_exit_status_means_what_the_icpc_says(status: int, equal: bool) -> None:
    assert answers.by_status("checker", CheckerKind.ICPC, status, b"").equal is equal


@pytest.mark.parametrize("status", [0, 1, 3, 7, 41, 139, None])
def test_other_exit_status_in_the_icpcs_way_is_the_suites_fault(status: int | None) -> None:
    with pytest.raises(SuiteError, match="the suite's checker"):
        answers.by_status("checker", CheckerKind.ICPC, status, b"points 1")


def test_least_of_several_shares_counts() -> None:
    """The program may have repeated lines of the submission."""
    stderr = b"points 0.25 expected 7, got\npoints 1\npoints nan\n"
    assert answers.by_status("checker", CheckerKind.TESTLIB, 7, stderr).share == 0.25


@pytest.mark.parametrize(
    ("status", "stderr"),
    [
        pytest.param(3, b"FAIL", id="its own failure"),
        pytest.param(139, b"", id="unknown"),
        pytest.param("1", b"", id="text"),
        pytest.param(7, b"", id="no share"),
        pytest.param(7, b"points 20", id="share above one"),
        pytest.param(7, b"points nan", id="no number"),
        pytest.param(7, b"points 50 got\npoints 1\n", id="share above one, then another"),
        pytest.param(7, b"some points 0.5", id="not at a line's beginning"),
    ],
)
def test_what_means_nothing_is_the_suites_fault(status: object, stderr: bytes) -> None:
    with pytest.raises(SuiteError, match="the suite's interactor"):
        answers.by_status("interactor", CheckerKind.TESTLIB, status, stderr)


@pytest.mark.parametrize(
    ("value", "equal", "share"),
    [
        pytest.param(True, True, None, id="right"),
        pytest.param(False, False, None, id="wrong"),
        pytest.param(1, True, None, id="one"),
        pytest.param(0.0, False, None, id="nothing"),
        pytest.param(0.5, False, 0.5, id="half"),
    ],
)
def test_value_is_a_truth_or_a_share(value: object, equal: bool, share: float | None) -> None:
    result = answers.by_value("checker", value)
    assert (result.equal, result.share) == (equal, share)


@pytest.mark.parametrize("value", [None, "yes", -0.1, 1.1, math.nan, math.inf, [True]])
def test_other_values_are_the_suites_fault(value: object) -> None:
    with pytest.raises(SuiteError, match="the suite's checker answered"):
        answers.by_value("checker", value)


def test_refusal_quotes_what_the_program_said() -> None:
    result = answers.by_status(
        "checker", CheckerKind.TESTLIB, 1, b"wrong answer on\nline 3\x1b[31m"
    )
    assert "wrong answer on\\nline 3" in result.difference
    assert "\x1b" not in result.difference
