"""The running summary and the pass@k estimator."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import Usage
from grader.model.verdict import Verdict
from grader.scoring.statistics import RunningSummary, pass_at_k
from tests.factories import make_report

P, F = Verdict.PASSED, Verdict.FAILED


def test_summary_of_nothing_has_no_rates() -> None:
    summary = RunningSummary().summary()
    assert (summary.reports, summary.problems, summary.verdicts) == (0, 0, {})
    assert (summary.pass_rate, summary.mean_score, summary.mean_reward) == (None, None, None)
    assert summary.pass_at == ()
    assert summary.slowest == ()
    assert summary.throughput(0.0) == 0.0


def test_summary_counts_verdicts_and_leaves_internal_errors_out_of_rates() -> None:
    running = RunningSummary()
    for n, verdict in enumerate([P, P, F, Verdict.TIME_LIMIT, Verdict.INTERNAL_ERROR]):
        running.add(make_report(verdict, feedback="engine gone"), id=f"row-{n}")
    summary = running.summary()
    assert summary.verdicts == {P: 2, F: 1, Verdict.TIME_LIMIT: 1, Verdict.INTERNAL_ERROR: 1}
    assert list(summary.verdicts) == [P, F, Verdict.TIME_LIMIT, Verdict.INTERNAL_ERROR]
    assert (summary.reports, summary.internal_errors) == (5, 1)
    assert (summary.pass_rate, summary.mean_score, summary.mean_reward) == (0.5, 0.5, 0.0)
    assert [(row.id, row.feedback) for row in summary.first_errors] == [("row-4", "engine gone")]
    assert summary.throughput(2.0) == 2.5


def test_summary_keeps_the_slowest_rows_in_order() -> None:
    running = RunningSummary(keep_slowest=3)
    for n, cpu_time_s in enumerate([0.5, 3.0, 1.0, 2.0, 2.0, 0.1]):
        usage = Usage(cpu_time_s=cpu_time_s, wall_time_s=2 * cpu_time_s)
        running.add(make_report(usage=usage), id=str(n))
    running.add(make_report(), id="not measured")
    summary = running.summary()
    assert [(row.id, row.cpu_time_s) for row in summary.slowest] == [
        ("1", 3.0),
        ("3", 2.0),
        ("4", 2.0),
    ]
    assert summary.slowest[0].wall_time_s == 6.0
    assert summary.cpu_time_s == pytest.approx(8.6)


def test_summary_keeps_no_rows_if_none_are_wanted() -> None:
    running = RunningSummary(keep_slowest=0)
    running.add(make_report(usage=Usage(cpu_time_s=1.0)), id="0")
    assert running.summary().slowest == ()


def test_pass_at_k_is_averaged_over_problems_with_enough_samples() -> None:
    running = RunningSummary()
    for problem, verdicts in {"a": [P, F, F, F], "b": [P, P], "c": [F]}.items():
        for verdict in verdicts:
            running.add(make_report(verdict), id="x", problem_id=problem)
    running.add(make_report(Verdict.INTERNAL_ERROR), id="x", problem_id="c")
    running.add(make_report(P), id="x")
    summary = running.summary()
    assert summary.problems == 3
    assert [(p.k, p.problems) for p in summary.pass_at] == [(1, 3), (2, 2)]
    assert summary.pass_at[0].value == pytest.approx((0.25 + 1 + 0) / 3)
    assert summary.pass_at[1].value == pytest.approx((0.5 + 1) / 2)


def test_pass_at_k_of_ten_thousand_samples_is_exact() -> None:
    assert pass_at_k(10_000, 5_000, 1000) == pytest.approx(1.0)
    assert pass_at_k(10_000, 1, 1000) == pytest.approx(0.1, abs=1e-15)


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(samples: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    draws = list(itertools.combinations(range(samples), k))
    share = Fraction(sum(min(draw) < passed for draw in draws), len(draws))
    assert pass_at_k(samples, passed, k) == float(share)


@pytest.mark.parametrize(("samples", "passed", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_k_of_impossible_counts_is_refused(samples: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match="cannot compute pass@"):
        pass_at_k(samples, passed, k)
