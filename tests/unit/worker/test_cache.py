"""Which reports are cached: only those that another run would give, too."""

import pytest

from grader.model import CaseResult, Limits, MiB, Usage
from grader.model.verdict import LimitKind, Verdict
from tests.factories import make_report
from worker.cacheable import is_cacheable

LIMITS = Limits(cpu_time_s=10.0, wall_time_s=20.0, memory_bytes=512 * MiB)


@pytest.mark.parametrize(
    "verdict",
    [Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR, Verdict.COMPILE_ERROR, Verdict.NO_CODE],
)
def test_verdict_far_from_every_limit_is_kept(verdict: Verdict) -> None:
    usage = Usage(cpu_time_s=0.1, wall_time_s=0.2, peak_memory_bytes=20 * MiB)
    assert is_cacheable(make_report(verdict, usage=usage), LIMITS)


@pytest.mark.parametrize(
    "verdict",
    [Verdict.INTERNAL_ERROR, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT],
)
def test_our_failure_and_a_limit_are_not_kept(verdict: Verdict) -> None:
    assert not is_cacheable(make_report(verdict), LIMITS)


def test_verdict_beside_a_limit_that_was_hit_is_not_kept() -> None:
    report = make_report(Verdict.RUNTIME_ERROR, limit_hit=LimitKind.PROCESSES)
    assert not is_cacheable(report, LIMITS)


@pytest.mark.parametrize(
    ("usage", "kept"),
    [
        pytest.param(Usage(cpu_time_s=5.0), True, id="half the cpu time"),
        pytest.param(Usage(cpu_time_s=5.01), False, id="more than half the cpu time"),
        pytest.param(Usage(wall_time_s=10.0), True, id="half the wall time"),
        pytest.param(Usage(wall_time_s=10.1), False, id="more than half the wall time"),
        pytest.param(Usage(peak_memory_bytes=256 * MiB), True, id="half the memory"),
        pytest.param(Usage(peak_memory_bytes=256 * MiB + 1), False, id="more than half of it"),
        pytest.param(Usage(), True, id="nothing was measured"),
    ],
)
def test_half_of_a_limit_is_near(usage: Usage, kept: bool) -> None:
    assert is_cacheable(make_report(usage=usage), LIMITS) is kept


def test_cases_with_processes_of_their_own_count_each_for_itself() -> None:
    cases = tuple(
        CaseResult(id=str(n), verdict=Verdict.PASSED, usage=Usage(cpu_time_s=1.0)) for n in range(9)
    )
    report = make_report(cases=cases, usage=Usage(cpu_time_s=9.0))
    assert is_cacheable(report, LIMITS)


def test_one_case_near_a_limit_is_enough() -> None:
    cases = (
        CaseResult(id="0", verdict=Verdict.PASSED, usage=Usage(cpu_time_s=0.1)),
        CaseResult(id="1", verdict=Verdict.PASSED, usage=Usage(cpu_time_s=6.0)),
    )
    assert not is_cacheable(make_report(cases=cases), LIMITS)


def test_case_that_hit_a_limit_is_enough() -> None:
    cases = (CaseResult(id="0", verdict=Verdict.OUTPUT_LIMIT),)
    assert not is_cacheable(make_report(Verdict.RUNTIME_ERROR, cases=cases), LIMITS)
