"""Labels choose what grades, parts add up, logs are always the same, nothing raises."""

import copy
import json
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.config.rewards import (
    MathSettings,
    ResponseFormat,
    RewardSettings,
    RewardTask,
    ScoreMode,
)
from grader.config.settings import Settings
from grader.grading.futures import FutureGrader
from grader.model import CaseResult, GradeReport, Submission, TestSuite, Usage
from grader.model.errors import LabelError, SandboxUnavailableError
from grader.model.verdict import Suspicion, Verdict
from grader.rewards.core import RewardCore
from grader.rewards.openrlhf import rewards_for
from grader.rewards.sample import LOG_KEYS, Rating, Sample
from grader.suites.plans import plan_for
from tests.factories import make_report

LABEL = json.dumps({"assert_case": ["assert f(1) == 1", "assert f(2) == 2"]})


class ScriptedGrader(FutureGrader):
    """Gives the reports that it was made with, by the completion's text."""

    def __init__(self, reports: dict[str, GradeReport]) -> None:
        self._reports = reports
        self.submissions: list[Submission] = []

    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_bulk: bool = False
    ) -> "Future[GradeReport]":
        del timeout_s, is_bulk
        self.submissions.append(submission)
        future: Future[GradeReport] = Future()
        report = self._reports[submission.completion]
        future.set_result(report)
        return future

    def close(self) -> None:
        pass

    @property
    def _window(self) -> int:
        return 1


HALF = make_report(
    Verdict.FAILED,
    reward=0.3,
    score=0.65,
    passed=1,
    total=2,
    cases=(CaseResult(id="0", verdict=Verdict.PASSED), CaseResult(id="1", verdict=Verdict.FAILED)),
    usage=Usage(cpu_time_s=0.5, wall_time_s=0.6),
)
REPORTS = {
    "right": make_report(total=2, passed=2),
    "half": HALF,
    "lost": make_report(Verdict.INTERNAL_ERROR, feedback="the slot burnt down"),
    "odd": make_report(suspicion=(next(iter(Suspicion)),)),
}


def make_core(**reward: Any) -> RewardCore:
    settings = replace(
        Settings(), reward=RewardSettings(**reward), math=MathSettings(symbolic=False)
    )
    return RewardCore(settings, open_grader=lambda _: ScriptedGrader(REPORTS))


@pytest.fixture
def core() -> Iterator[RewardCore]:
    core = make_core()
    yield core
    core.close()


def rate_one(core: RewardCore, query: str, label: object, prompt: str = "") -> Rating:
    (rating,) = core.rate([Sample(query=query, prompt=prompt, label=label)])
    return rating


# ---------------------------------------------------------------- labels


CALL = {"fn_name": "f", "inputs": [[[1, {"a": None}]]], "outputs": [[2]]}


def suites_of(*labels: object) -> list[TestSuite]:
    """Return what a grader gets for samples with these labels, one call each."""
    grader = ScriptedGrader(REPORTS)
    core = RewardCore(Settings(), open_grader=lambda _: grader)
    for label in labels:
        rate_one(core, "right", label)
    core.close()
    return [submission.suite for submission in grader.submissions]


@pytest.mark.parametrize(
    ("label", "again"),
    [
        pytest.param(LABEL, LABEL, id="text"),
        pytest.param(CALL, copy.deepcopy(CALL), id="object"),
        pytest.param(CALL, {**CALL, "outputs": ([2],)}, id="tuple for a list"),
        pytest.param(CALL, {**CALL, "outputs": np.array([[2]])}, id="array for a list"),
    ],
)
def test_equal_labels_are_read_once(label: object, again: object) -> None:
    first, second = suites_of(label, again)
    assert first is second


@pytest.mark.parametrize("other", [1.0, True, "1", None, [1], {"1": 1}])
def test_labels_that_differ_in_a_type_alone_are_not_confused(other: object) -> None:
    labels = [{**CALL, "inputs": [[[each]]]} for each in (1, other)]
    first, second = suites_of(*labels)
    again, alone = suites_of(labels[0])[0], suites_of(labels[1])[0]
    assert (repr(first), repr(second)) == (repr(again), repr(alone))
    assert repr(first) != repr(second)


@pytest.mark.parametrize(
    ("label", "task", "chosen"),
    [
        pytest.param(LABEL, RewardTask.AUTO, RewardTask.CODE, id="tests"),
        pytest.param('{"math": "42"}', RewardTask.AUTO, RewardTask.MATH, id="math"),
        pytest.param(
            {"conversation": True}, RewardTask.AUTO, RewardTask.CONVERSATION, id="conversation"
        ),
        pytest.param("42", RewardTask.MATH, RewardTask.MATH, id="plain-answer"),
        pytest.param(LABEL, RewardTask.MATH, RewardTask.MATH, id="setting-decides"),
        pytest.param(
            '{"code": "assert f()"}', RewardTask.MATH, RewardTask.CODE, id="label-names-code"
        ),
        pytest.param("", RewardTask.CONVERSATION, RewardTask.CONVERSATION, id="no-label-needed"),
        pytest.param(None, RewardTask.AUTO, RewardTask.CODE, id="no-label"),
        pytest.param('{"math": ', RewardTask.AUTO, RewardTask.CODE, id="damaged"),
    ],
)
def test_label_chooses_what_grades(label: object, task: RewardTask, chosen: RewardTask) -> None:
    (part,) = plan_for(label, task).parts
    assert part.task is chosen


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        pytest.param("42", "42", id="number"),
        pytest.param(" -3/4 ", " -3/4 ", id="fraction"),
        pytest.param(r"\frac{1}{2}", r"\frac{1}{2}", id="LaTeX"),
        pytest.param(r"\text{even}", r"\text{even}", id="words in LaTeX"),
        pytest.param("x = 2", "x = 2", id="equation"),
        pytest.param("(1, 2)", "(1, 2)", id="tuple"),
        pytest.param("10 cm", "10 cm", id="unit"),
        pytest.param("B", "B", id="choice"),
        pytest.param(42, 42, id="a number itself"),
        pytest.param('["34"]', "34", id="list of one"),
        pytest.param(np.array(["34"], dtype=object), "34", id="array of one"),
        pytest.param({"reward_model": {"ground_truth": "34"}}, "34", id="row of verl"),
        pytest.param({"problem": "p", "ground_truth": "34"}, "34", id="row of rLLM"),
    ],
)
def test_plain_answer_in_a_mixed_file_is_for_the_math_grader(label: object, answer: object) -> None:
    (part,) = plan_for(label, RewardTask.AUTO).parts
    assert (part.task, part.label) == (RewardTask.MATH, answer)
    (part,) = plan_for(label, RewardTask.CODE).parts
    assert part.task is RewardTask.CODE


@pytest.mark.parametrize(
    "label",
    [
        *("HumanEval/0", "mbpp_12", "p12", "yes", "no tests", "assert f(1) == 1", "import os"),
        *("1\n2", "def f(x):", "x" * 1000, "[1, 2]", '["a", "b"]', "{}"),
        "eJxrYJmqzAABsVNqp2j0sGbmFZSWTA==",
        *(True, None, [1], [], {"ground_truth": {"inputs": []}}, {"a": "42"}),
    ],
)
def test_what_may_be_a_mistake_in_a_label_is_no_answer(label: object) -> None:
    (part,) = plan_for(label, RewardTask.AUTO).parts
    assert part.task is RewardTask.CODE


def test_arrays_in_a_label_reach_graders_as_lists() -> None:
    grader = ScriptedGrader(REPORTS)
    core = RewardCore(Settings(), open_grader=lambda _: grader)
    asserts = np.array(["assert f(1) == 1", "assert f(2) == 2"], dtype=object)
    labels = [{"assert_case": asserts}, asserts, {"code": {"assert_case": asserts}}]
    labels += [{"combine": [{"code": {"assert_case": asserts}, "weight": np.float64(1)}]}]
    ratings = core.rate([Sample(query="right", label=label) for label in labels])
    assert [rating.graded for rating in ratings] == [True] * 4
    assert len({submission.suite.tests for submission in grader.submissions}) == 1


@pytest.mark.parametrize(
    "combine",
    [
        pytest.param([], id="empty"),
        pytest.param({}, id="no-list"),
        pytest.param(["math"], id="no-object"),
        pytest.param([{"weight": 1}], id="nothing-named"),
        pytest.param([{"length": True}], id="only-terms"),
        pytest.param([{"math": "1", "weight": "much"}], id="weight-is-text"),
        pytest.param([{"math": "1", "weight": 0}], id="no-weight"),
        pytest.param([{"math": "1", "weight": 1e308}], id="weight-too-large"),
        pytest.param([{"math": "1", "weight": float("nan")}], id="weight-is-nan"),
        pytest.param([{"math": "1"}] * 17, id="too-many"),
    ],
)
def test_combination_that_makes_no_sense_is_refused(combine: object) -> None:
    with pytest.raises(LabelError):
        plan_for({"combine": combine}, RewardTask.AUTO)


# ---------------------------------------------------------------- code


def test_code_logs_what_its_report_says(core: RewardCore) -> None:
    rating = rate_one(core, "half", LABEL)
    logs = rating.all_logs()
    assert (rating.reward, rating.score, rating.graded) == (0.3, 0.0, True)
    assert list(logs) == list(LOG_KEYS)
    assert logs["verdict_failed"] == 1
    assert sum(value for key, value in logs.items() if key.startswith("verdict_")) == 1
    assert (logs["cases_passed"], logs["cases_total"], logs["cases_fraction"]) == (1, 2, 0.5)
    assert logs["cpu_time_s"] == 0.5
    assert logs["suspicion"] == 0


def test_fraction_score_is_the_share_that_passed() -> None:
    core = make_core(score=ScoreMode.FRACTION)
    assert rate_one(core, "half", LABEL).score == 0.5
    assert rate_one(core, "right", LABEL).score == 1


def test_unit_rewards_are_scores() -> None:
    core = make_core(unit=True)
    assert [rate_one(core, text, LABEL).reward for text in ("right", "half")] == [1, 0]


def test_sign_of_an_attack_is_logged(core: RewardCore) -> None:
    assert rate_one(core, "odd", LABEL).logs["suspicion"] == 1


@pytest.mark.parametrize("label", [None, "", "{", "[]", True, {}, {"a": 1}, "no tests"])
def test_bad_label_is_not_graded_and_neutral(label: object) -> None:
    rating = rate_one(make_core(neutral=-0.25), "right", label)
    assert (rating.reward, rating.score, rating.graded) == (-0.25, 0, False)
    assert rating.all_logs()["verdict_internal_error"] == 1


def test_internal_error_is_not_graded(core: RewardCore) -> None:
    rating = rate_one(core, "lost", LABEL)
    assert not rating.graded
    assert "burnt down" in rating.note


def test_grader_that_does_not_open_costs_its_samples_only() -> None:
    def fail(_: Settings) -> FutureGrader:
        message = "no engine"
        raise SandboxUnavailableError(message)

    core = RewardCore(Settings(), open_grader=fail)
    ratings = core.rate(
        [Sample(query="x", label=LABEL), Sample(query="\\boxed{1}", label='{"math": "1"}')]
    )
    assert [rating.graded for rating in ratings] == [False, True]
    core.close()


def test_mixed_batch_keeps_its_order(core: RewardCore) -> None:
    samples = [
        Sample(query="half", label=LABEL),
        Sample(query="\\boxed{2}", label='{"math": "2"}'),
        Sample(query="x", label="{"),
        Sample(query="right", label=LABEL),
        Sample(query="\\boxed{3}", label='{"math": "2"}'),
    ]
    assert [rating.reward for rating in core.rate(samples)] == [0.3, 1, 0, 1, 0]
    assert core.rate([]) == []


# ---------------------------------------------------------------- combinations


def test_combination_is_a_weighted_sum_with_named_parts(core: RewardCore) -> None:
    label = {
        "combine": [
            {"code": json.loads(LABEL), "weight": 0.5},
            {"math": "1", "weight": 0.25},
            {"length": True, "weight": 0.1},
        ]
    }
    rating = rate_one(core, "half", label)
    assert rating.reward == pytest.approx(0.5 * 0.3 + 0.25 * -0.5)
    assert rating.logs["code_reward"] == 0.3
    assert rating.logs["math_reward"] == -0.5
    assert rating.logs["length_term"] == 0
    assert rating.score == 0


def test_combination_with_a_part_that_was_not_graded_is_not_graded(core: RewardCore) -> None:
    label = {"combine": [{"math": "1"}, {"code": "no tests"}]}
    assert not rate_one(core, "\\boxed{1}", label).graded


def test_length_and_format_shape_the_reward_but_not_the_score() -> None:
    core = make_core(
        length_chars=10, length_weight=0.4, format=ResponseFormat.BOXED, format_weight=0.1
    )
    rating = rate_one(core, "\\boxed{1} okay", '{"math": "1"}')
    assert rating.logs["length_term"] == pytest.approx(-0.4 * 0.4 / 1.5)
    assert rating.logs["format_term"] == pytest.approx(0.1 / 1.5)
    assert rating.reward == pytest.approx((1 + 0.1 - 0.16) / 1.5)
    assert rating.score == 1


@pytest.mark.parametrize("response", ["\\boxed{1}", "\\boxed{2}", "none", "x" * 9000])
@pytest.mark.parametrize("length_weight", [0.0, 0.1, 1.0, -1.0, 5.0])
@pytest.mark.parametrize("format_weight", [0.0, 0.1, 1.0, -1.0, 5.0])
def test_reward_with_terms_stays_within_bounds(
    response: str, length_weight: float, format_weight: float
) -> None:
    core = make_core(
        format=ResponseFormat.BOXED, length_weight=length_weight, format_weight=format_weight
    )
    parts = {"combine": [{"math": "1", "weight": 3}, {"math": "1", "weight": -0.5}]}
    for label in ({"math": "1"}, parts):
        assert -1 <= rate_one(core, response, json.dumps(label)).reward <= 1


def test_weights_up_to_1_in_sum_are_taken_as_they_are(core: RewardCore) -> None:
    label = {"combine": [{"math": "1", "weight": 0.75}, {"format": True, "weight": 0.25}]}
    rating = rate_one(core, "```\nx\n```\n\\boxed{1}", json.dumps(label))
    assert rating.reward == 1
    assert rating.logs["format_term"] == 0.25


def test_terms_tell_right_answers_apart() -> None:
    core = make_core(format=ResponseFormat.BOXED, format_weight=0.1)
    boxed = rate_one(core, "\\boxed{1}", '{"math": "1"}')
    plain = rate_one(core, "The answer is 1.", '{"math": "1"}')
    assert plain.reward < boxed.reward == 1


def test_normalised_rewards_have_mean_zero_and_leave_the_ungraded_alone() -> None:
    core = make_core(normalise=100)
    samples = [
        Sample(query=f"\\boxed{{{number % 2}}}", label='{"math": "1"}') for number in range(20)
    ]
    samples.append(Sample(query="x", label="{"))
    rewards = [rating.reward for rating in core.rate(samples)]
    assert sum(rewards[:-1]) == pytest.approx(0, abs=1e-3)
    assert max(rewards) == pytest.approx(1, abs=1e-3)
    assert rewards[-1] == 0


def test_adapter_returns_lists_if_torch_is_not_installed(
    core: RewardCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = rewards_for(["half", "half"], ["", ""], [LABEL, LABEL], core=core)
    assert result["rewards"] == [0.3, 0.3]
    assert result["scores"] == [0.0, 0.0]
    assert result["extra_logs"]["graded"] == [1.0, 1.0]
