"""Every policy against every kind of outcome, and the numbers of a report."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import CaseResult
from grader.model.errors import ConfigurationError, SuiteError
from grader.model.verdict import PRECEDENCE, Verdict, overall
from grader.scoring.policies import POLICIES, score_report

P, F, R, S = Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR, Verdict.SKIPPED
CE, TA, NC = Verdict.COMPILE_ERROR, Verdict.TAMPERED, Verdict.NO_CODE
T, M, O = Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT  # noqa: E741 - the field's letters


def cases_of(*verdicts: Verdict, points: float = 1.0) -> tuple[CaseResult, ...]:
    return tuple(CaseResult(id=str(n), verdict=v, points=points) for n, v in enumerate(verdicts))


@pytest.mark.parametrize(
    ("verdicts", "graded", "binary", "fraction", "ladder"),
    [
        pytest.param([P], 1.0, 1.0, 1.0, 1.0, id="the only case passed"),
        pytest.param([P, P, P], 1.0, 1.0, 1.0, 1.0, id="all passed"),
        pytest.param([P, F], 0.3, -1.0, 0.0, -0.3, id="some passed"),
        pytest.param([P, P, P, F], 0.3, -1.0, 0.5, -0.3, id="most passed"),
        pytest.param([P, R], 0.3, -1.0, 0.0, -0.6, id="some passed, some crashed"),
        pytest.param([P, S], 0.3, -1.0, 0.0, -0.3, id="some passed, some skipped"),
        pytest.param([F, F], 0.0, -1.0, -1.0, -0.3, id="none passed"),
        pytest.param([F, R], 0.0, -1.0, -1.0, -0.6, id="none passed, some crashed"),
        pytest.param([S, S], 0.0, -1.0, -1.0, -0.3, id="all skipped"),
        pytest.param([R], -1.0, -1.0, -1.0, -0.6, id="the only case crashed"),
        pytest.param([R, R], -1.0, -1.0, -1.0, -0.6, id="crashed on every case"),
        pytest.param([R, S], -1.0, -1.0, -1.0, -0.6, id="crashed on every case that was run"),
        pytest.param([T], -0.5, -1.0, -1.0, -0.6, id="time limit"),
        pytest.param([M], -0.5, -1.0, -1.0, -0.6, id="memory limit"),
        pytest.param([O], -0.5, -1.0, -1.0, -0.6, id="output limit"),
        pytest.param([P, P, P, T], -0.5, -1.0, 0.5, -0.6, id="a limit after passes"),
        pytest.param([R, T, S], -0.5, -1.0, -1.0, -0.6, id="a limit after a crash"),
        pytest.param([CE, CE], -1.0, -1.0, -1.0, -1.0, id="does not compile"),
        pytest.param([TA, P, P, P], -1.0, -1.0, -1.0, -1.0, id="tampered"),
    ],
)
def test_policies_mark_cases_as_documented(
    verdicts: list[Verdict], graded: float, binary: float, fraction: float, ladder: float
) -> None:
    cases = cases_of(*verdicts)
    rewards = {
        name: score_report(verdict=overall(verdicts), cases=cases, policy=name).reward
        for name in POLICIES
    }
    assert rewards == {"graded": graded, "binary": binary, "fraction": fraction, "ladder": ladder}


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("verdict", [NC, TA, CE])
def test_submission_that_cannot_run_gets_the_lowest_reward(verdict: Verdict, policy: str) -> None:
    report = score_report(verdict=verdict, cases=(), policy=policy, total=7)
    assert (report.reward, report.score, report.graded) == (-1.0, 0.0, True)
    assert (report.passed, report.total) == (0, 7)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_internal_error_has_no_mark(policy: str) -> None:
    report = score_report(
        verdict=Verdict.INTERNAL_ERROR, cases=cases_of(P, Verdict.INTERNAL_ERROR), policy=policy
    )
    assert (report.reward, report.score, report.graded) == (0.0, 0.0, False)


def test_crash_before_any_case_gets_the_lowest_graded_reward() -> None:
    assert score_report(verdict=R, cases=(), policy="graded").reward == -1.0


@pytest.mark.parametrize(
    ("policy", "verdicts", "score"),
    [
        pytest.param("graded", [P, F], 0.65, id="graded some"),
        pytest.param("graded", [F], 0.5, id="graded none"),
        pytest.param("graded", [T], 0.25, id="graded limit"),
        pytest.param("ladder", [F], 0.35, id="ladder wrong"),
        pytest.param("ladder", [R], 0.2, id="ladder crash"),
        pytest.param("fraction", [P, F, F, F], 0.25, id="fraction passed"),
        pytest.param("binary", [P, P, P, F], 0.0, id="binary not all"),
        pytest.param("binary", [P, P], 1.0, id="binary all"),
    ],
)
def test_scores_follow_from_rewards_or_fractions(
    policy: str, verdicts: list[Verdict], score: float
) -> None:
    report = score_report(verdict=overall(verdicts), cases=cases_of(*verdicts), policy=policy)
    assert report.score == pytest.approx(score)


def weighted(*items: tuple[Verdict, float, str | None]) -> tuple[CaseResult, ...]:
    return tuple(
        CaseResult(id=str(n), verdict=v, points=points, group=group)
        for n, (v, points, group) in enumerate(items)
    )


def shared(share: float, group: str | None, other: str | None) -> tuple[CaseResult, ...]:
    """Return a case right in part, one wholly wrong or less right, and one that passed."""
    first = CaseResult(id="0", verdict=F, points=2, group=group, share=share)
    second = CaseResult(id="1", verdict=F, group=other, share=share / 2 if other else None)
    return first, second, CaseResult(id="2", verdict=P, group=None)


@pytest.mark.parametrize(
    ("cases", "score"),
    [
        pytest.param(weighted((P, 3, None), (F, 1, None)), 0.75, id="weights"),
        pytest.param(weighted((P, 1, "a"), (F, 1, "a"), (P, 2, None)), 0.5, id="group lost"),
        pytest.param(weighted((P, 1, "a"), (P, 1, "a"), (F, 2, "b")), 0.5, id="group won"),
        pytest.param(weighted((P, 1, "a"), (S, 1, "a"), (P, 2, "b")), 0.5, id="skip loses group"),
        pytest.param(shared(0.5, None, None), 0.5, id="share of one of two"),
        pytest.param(shared(0.5, "a", None), 0.5, id="share of a group"),
        pytest.param(shared(0.5, "a", "a"), 0.4375, id="least share of a group"),
        pytest.param(weighted((F, 0, None), (P, 1, None)), 1.0, id="a sample worth nothing"),
    ],
)
def test_fraction_counts_points_and_whole_groups(
    cases: tuple[CaseResult, ...], score: float
) -> None:
    verdict = overall(case.verdict for case in cases)
    report = score_report(verdict=verdict, cases=cases, policy="fraction")
    assert (report.score, report.reward) == (score, 2 * score - 1)


@pytest.mark.parametrize("points", [-1.0, math.nan, math.inf, 0.0, 1e308])
def test_points_that_cannot_be_shared_out_are_the_suites_fault(points: float) -> None:
    with pytest.raises(SuiteError, match="points"):
        score_report(verdict=F, cases=cases_of(F, F, points=points), policy="fraction")


@pytest.mark.parametrize(
    ("verdict", "verdicts", "total"),
    [
        pytest.param(P, [], None, id="no case"),
        pytest.param(P, [], 3, id="no case was run"),
        pytest.param(P, [P, F], None, id="one did not pass"),
        pytest.param(P, [P, S], None, id="one was skipped"),
        pytest.param(P, [P, P], 3, id="one is missing"),
        pytest.param(S, [S], None, id="skipped is for cases"),
    ],
)
def test_verdict_that_does_not_follow_is_refused(
    verdict: Verdict, verdicts: list[Verdict], total: int | None
) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        score_report(verdict=verdict, cases=cases_of(*verdicts), policy="binary", total=total)


def test_unknown_policy_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"'best'.*graded, binary, fraction, ladder"):
        score_report(verdict=F, cases=cases_of(F), policy="best")


# ---------------------------------------------------------------- the overall verdict

VERDICTS = st.sampled_from([v for v in Verdict if v is not Verdict.INTERNAL_ERROR])


def test_precedence_names_every_verdict_once() -> None:
    assert sorted(PRECEDENCE) == sorted(Verdict)


def test_overall_of_no_case_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        overall([])


@given(st.lists(VERDICTS, min_size=1))
def test_overall_passes_only_if_all_passed(verdicts: list[Verdict]) -> None:
    verdict = overall(verdicts)
    assert (verdict is P) == all(v is P for v in verdicts)
    assert verdict is not S


@given(st.lists(VERDICTS, min_size=1), st.sampled_from(sorted(POLICIES)))
def test_marks_stay_in_range_and_are_best_only_for_a_pass(
    verdicts: list[Verdict], policy: str
) -> None:
    verdict = overall(verdicts)
    report = score_report(verdict=verdict, cases=cases_of(*verdicts), policy=policy)
    assert 0 <= report.score <= 1
    assert -1 <= report.reward <= 1
    assert (report.reward == 1.0) == (verdict is P)
    assert (report.score == 1.0) == (verdict is P)


@given(
    st.lists(VERDICTS, min_size=1),
    st.sampled_from([p.name for p in POLICIES.values() if not p.needs_every_case]),
)
def test_policy_that_does_not_need_every_case_gives_an_early_stop_the_same_mark(
    verdicts: list[Verdict], policy: str
) -> None:
    first_lost = next((n for n, v in enumerate(verdicts) if v is not P), len(verdicts))
    stopped = [v if n <= first_lost else S for n, v in enumerate(verdicts)]
    rewards = [
        score_report(verdict=overall(some), cases=cases_of(*some), policy=policy).reward
        for some in (verdicts, stopped)
    ]
    assert rewards[0] == rewards[1]


# ---------------------------------------------------------------- the documents

EXAMPLE = re.compile(r"^\| ((?:[A-Z]{2,3} ){3}[A-Z]{2,3}) \| ([A-Z]+) \|(.*)\|$", re.MULTILINE)


def test_examples_in_the_documentation_hold(repo_dir: Path) -> None:
    by_code = {verdict.code: verdict for verdict in Verdict}
    examples = EXAMPLE.findall((repo_dir / "docs" / "rewards.md").read_text())
    assert len(examples) == 8
    for codes, submission, rewards in examples:
        verdicts = [by_code[code] for code in codes.split()]
        assert overall(verdicts).code == submission, codes
        for policy, reward in zip(POLICIES, map(float, rewards.split("|")), strict=True):
            report = score_report(
                verdict=overall(verdicts), cases=cases_of(*verdicts), policy=policy
            )
            assert report.reward == reward, (codes, policy)


def test_documentation_has_every_verdict_in_the_order_of_precedence(repo_dir: Path) -> None:
    text = (repo_dir / "docs" / "verdicts.md").read_text()
    assert all(f"| `{verdict}` | {verdict.code} |" in text for verdict in Verdict)
    order = text.partition("## Which verdict wins")[2].split("\n\n")[2]
    assert re.findall(r"`(\w+)`", order) == list(PRECEDENCE)
