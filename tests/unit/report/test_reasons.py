"""The next better reward under each policy, and the steps to verdict and reward."""

import pytest

from grader.model import CaseResult, GradeReport
from grader.model.verdict import Suspicion, Verdict, overall
from grader.report.reasons import SUSPICIONS, VERDICTS, next_better, steps
from grader.scoring.policies import score_report

AC, WA, RE = Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR
TLE, CE, NC = Verdict.TIME_LIMIT, Verdict.COMPILE_ERROR, Verdict.NO_CODE


def report_on(*verdicts: Verdict, policy: str) -> GradeReport:
    cases = tuple(
        CaseResult(id=str(number), verdict=verdict) for number, verdict in enumerate(verdicts)
    )
    if verdicts == (NC,):
        return score_report(verdict=NC, cases=(), policy=policy, total=3)
    return score_report(verdict=overall(verdicts), cases=cases, policy=policy)


@pytest.mark.parametrize(
    ("verdicts", "policy", "what", "reward"),
    [
        pytest.param((AC, WA), "graded", "right in every case", 1.0, id="graded some"),
        pytest.param((WA, WA), "graded", "One more case right, 0,", 0.3, id="graded none"),
        pytest.param((RE, RE), "graded", "without a crash on every case", 0.0, id="graded crash"),
        pytest.param((AC, TLE), "graded", "within the time limit", 0.3, id="graded limit"),
        pytest.param((CE, CE), "graded", "runs to its end", 0.0, id="graded compile"),
        pytest.param((NC,), "graded", "runs to its end", 0.0, id="graded no code"),
        pytest.param((AC, WA), "binary", "right in every case", 1.0, id="binary"),
        pytest.param((WA, WA, AC), "fraction", "One more case", 1 / 3, id="fraction"),
        pytest.param((AC, TLE), "ladder", "within the time limit", -0.3, id="ladder limit"),
        pytest.param((CE,), "ladder", "runs to its end", -0.3, id="ladder compile"),
    ],
)
def test_next_better_is_the_smallest_step_that_earns_more(
    verdicts: tuple[Verdict, ...], policy: str, what: str, reward: float
) -> None:
    better = next_better(report_on(*verdicts, policy=policy))
    assert better is not None
    assert what in better.what
    assert better.reward == pytest.approx(reward)


@pytest.mark.parametrize("policy", ["graded", "binary", "fraction", "ladder"])
def test_passed_sample_has_no_next_better(policy: str) -> None:
    assert next_better(report_on(AC, AC, policy=policy)) is None


def test_next_better_of_an_internal_error_is_nothing() -> None:
    report = score_report(verdict=Verdict.INTERNAL_ERROR, cases=(), policy="graded", total=0)
    assert next_better(report) is None


def test_steps_lead_from_the_cases_to_the_reward() -> None:
    told = {step.name: step.text for step in steps(report_on(AC, WA, WA, policy="graded"))}
    assert told["Cases"] == "Of 3: 1 passed, 2 wrong answer."
    assert "the worst decides" in told["Verdict"]
    assert "reward +0.3 and score 0.65" in told["Reward"]


def test_every_verdict_and_sign_has_words() -> None:
    assert set(VERDICTS) == set(Verdict)
    assert set(SUSPICIONS) == set(Suspicion)


def graded_by_points(*cases: tuple[str, Verdict, float, str | None]) -> GradeReport:
    results = tuple(
        CaseResult(id=id, verdict=verdict, points=points, group=group)
        for id, verdict, points, group in cases
    )
    verdict = overall(case.verdict for case in results)
    return score_report(verdict=verdict, cases=results, policy="fraction")


def test_next_better_is_the_case_with_the_fewest_points() -> None:
    better = next_better(
        graded_by_points(("a", AC, 1, None), ("b", WA, 6, None), ("c", WA, 3, None))
    )
    assert better is not None
    assert "One more case right, c," in better.what
    assert better.reward == pytest.approx(2 * 0.4 - 1)


def test_next_better_takes_a_group_as_a_whole() -> None:
    better = next_better(
        graded_by_points(
            ("a", WA, 1, "g"), ("b", WA, 1, "g"), ("c", AC, 1, "g"), ("d", WA, 7, None)
        )
    )
    assert better is not None
    assert better.what == "The whole group g right"
    assert better.reward == pytest.approx(2 * 0.3 - 1)


def test_next_better_counts_partial_points_of_a_case() -> None:
    cases = (
        CaseResult(id="a", verdict=WA, share=0.75),
        CaseResult(id="b", verdict=WA),
    )
    better = next_better(score_report(verdict=WA, cases=cases, policy="fraction"))
    assert better is not None
    assert "One more case right, a," in better.what
    assert better.reward == pytest.approx(0.0)
