"""Answers are found where they stand and compared by value, whatever they are written like."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.config.rewards import AnswerPick, AnswerPlace, MathSettings, RewardTask
from grader.config.settings import Settings
from grader.rewards.core import RewardCore
from grader.rewards.maths.answers import find_answer, gold_answer
from grader.rewards.maths.compare import is_right
from grader.rewards.maths.symbolic import Algebra, AlgebraUnavailableError
from grader.rewards.sample import Sample
from tests.unit.rewards.answers import ANSWERS, NONE, RIGHT, WRONG

pytestmark = pytest.mark.timeout(90)

REWARDS = {RIGHT: 1.0, WRONG: 0.0, NONE: -0.5}


@pytest.fixture(scope="module")
def core() -> Iterator[RewardCore]:
    core = RewardCore(Settings(task=RewardTask.MATH))
    yield core
    core.close()


@pytest.fixture(scope="module")
def algebra() -> Iterator[Algebra]:
    algebra = Algebra(processes=1, cpu_time_s=1)
    yield algebra
    algebra.close()


def test_there_are_two_hundred_answers() -> None:
    assert len(ANSWERS) >= 200
    assert len(set(ANSWERS)) == len(ANSWERS)


@pytest.mark.parametrize(("response", "expected", "outcome"), ANSWERS)
def test_answer_gets_its_reward(
    core: RewardCore, response: str, expected: str, outcome: str
) -> None:
    (rating,) = core.rate([Sample(query=response, label=expected)])
    assert rating.graded, rating.note
    assert rating.reward == REWARDS[outcome], rating.note
    assert rating.score == float(outcome == RIGHT)
    assert rating.logs["math_answered"] == float(outcome != NONE)


NO_ANSWERS: list[object] = [None, "", "  ", {}, [], True, "nan", float("nan"), "1 < " * 9999]


@pytest.mark.parametrize("number", range(len(NO_ANSWERS)))
def test_label_without_an_answer_is_not_graded(core: RewardCore, number: int) -> None:
    (rating,) = core.rate([Sample(query="\\boxed{1}", label=NO_ANSWERS[number])])
    assert not rating.graded
    assert rating.reward == 0


def test_answer_at_the_end_of_a_very_long_response_is_found(core: RewardCore) -> None:
    endless = "answers of " * 2_000_000
    right, none = core.rate(
        [
            Sample(query=f"{endless} The answer is 42.", label="42"),
            Sample(query=f"The answer is 42. {endless}", label="42"),
        ]
    )
    assert (right.reward, none.reward) == (1.0, -0.5)


@pytest.mark.parametrize(
    "label",
    ["42", 42, 42.0, '{"math": "42"}', {"math": 42}, ["42"], [42], '["42"]', r'["\\frac{84}{2}"]'],
    ids=repr,
)
def test_label_may_be_text_number_or_object(core: RewardCore, label: object) -> None:
    (rating,) = core.rate([Sample(query="\\boxed{42}", label=label)])
    assert rating.reward == 1


@pytest.mark.parametrize(
    ("place", "text", "found"),
    [
        pytest.param(AnswerPlace.AUTO, "40 + 2 = 42 #### 42", "42", id="hashes-end-a-line"),
        pytest.param(AnswerPlace.AUTO, "\\boxed{1} #### 2", "2", id="hashes-after-a-box"),
        pytest.param(AnswerPlace.AUTO, "\\boxed{1}\n#### 2", "2", id="the-last-counts"),
        pytest.param(AnswerPlace.BOXED, "\\boxed{1}\n#### 2", "1", id="only-boxes"),
        pytest.param(AnswerPlace.HASHES, "#### 2\n\\boxed{1}", "2", id="only-hashes"),
        pytest.param(AnswerPlace.PHRASE, "The answer is 3.\n#### 2", "3", id="only-the-phrase"),
        pytest.param(AnswerPlace.AUTO, "it is 5 then 6", None, id="numbers-are-no-answers"),
        pytest.param(AnswerPlace.LAST_NUMBER, "it is 5, then -6.5.", "-6.5", id="last-number"),
        pytest.param(AnswerPlace.LAST_NUMBER, "it is 1,234.", "1,234", id="last-with-comma"),
        pytest.param(AnswerPlace.LAST_NUMBER, "#### 2\nin 3 steps", "2", id="a-mark-is-better"),
        pytest.param(AnswerPlace.LAST_NUMBER, "none", None, id="no-number"),
    ],
)
def test_place_says_where_an_answer_may_stand(
    place: AnswerPlace, text: str, found: str | None
) -> None:
    assert find_answer(text, place).text == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("<answer>42</answer>", "42", id="bare"),
        pytest.param("<answer>\n 42 \n</answer>", "42", id="lines"),
        pytest.param("<ANSWER>42</ANSWER>", "42", id="capitals"),
        pytest.param("<answer>$x = 42$</answer>", "$x = 42$", id="formula"),
        pytest.param("<answer>It is \\boxed{42}.</answer>", "42", id="box-inside"),
        pytest.param("<answer>6*7 #### 42</answer>", "42", id="hashes-inside"),
        pytest.param("<answer>The answer is 42.</answer>", "42", id="phrase-inside"),
        pytest.param("<answer>```\n42\n```</answer>", "42", id="block-inside"),
        pytest.param("\\boxed{41} <answer>42</answer>", "42", id="last"),
        pytest.param("<answer>41</answer><answer>42</answer>", "42", id="two"),
        pytest.param("**Final Answer**\n\n42", "42", id="heading"),
        pytest.param("## Answer\n42\n", "42", id="heading-of-markdown"),
        pytest.param("\u6240\u4ee5\u7b54\u6848\u662f 42\u3002", "42", id="chinese"),
        pytest.param("#### The answer is \\boxed{42}", "42", id="box-after-hashes"),
        pytest.param("\\boxed{42}\n\n#### Verification\nIt holds.", "42", id="heading-below"),
        pytest.param("\\boxed{42}\n#### Step 5: check\nIt holds.", "42", id="step-below"),
        pytest.param("\\boxed{42}\n#### 3. Check\nIt holds.", "42", id="numbered-heading-below"),
        pytest.param("x = 41 #### 42", "42", id="hashes-in-a-line"),
        pytest.param("{ \\boxed{42}", "42", id="a-brace-before-that-stays-open"),
        pytest.param("\\boxed{\\text{a \\} b}}", "\\text{a \\} b}", id="a-brace-that-is-a-sign"),
    ],
)
def test_answer_is_found_where_models_put_it(text: str, found: str) -> None:
    assert find_answer(text).text == found


@pytest.mark.parametrize(
    "unfinished",
    [
        "\\boxed{",
        "\\boxed{4",
        "\\boxed{\\frac{1}{2}",
        "\\boxed",
        "\\fbox{",
        "<answer>",
        "<answer>7",
        "the answer is",
        "The final answer is \\boxed{",
        "**Answer:** ",
        "\\boxed{}",
        "<answer></answer>",
    ],
)
@pytest.mark.parametrize("earlier", ["\\boxed{5}", "#### 5\n", "<answer>5</answer>"])
def test_answer_that_is_not_finished_gives_an_earlier_one_no_credit(
    earlier: str, unfinished: str
) -> None:
    found = find_answer(f"First {earlier} holds. Once more: {unfinished}")
    assert found.text is None
    assert "does not end" in found.note or "is empty" in found.note


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\\boxed{" + "1+" * 3000 + "1}", "the box"),
        ("<answer>" + "1+" * 3000 + "1</answer>", "the answer tag"),
        ("#### " + "1+" * 3000 + "1", "the answer after ####"),
    ],
)
def test_answer_that_is_too_long_is_told_its_length(text: str, place: str) -> None:
    note = f"{place} has 6,001 characters; a final answer has at most 2,000"
    assert find_answer(text).note == note


GOES_ON = "40 + 2 = 42 #### 42\n\nQuestion: What is 1 + 1?\nAnswer: 1 + 1 = 2 #### 2"


@pytest.mark.parametrize(
    ("settings", "response", "label"),
    [
        pytest.param(MathSettings(), GOES_ON, "2", id="last"),
        pytest.param(MathSettings(pick=AnswerPick.FIRST), GOES_ON, "42", id="first"),
        pytest.param(MathSettings(stop="\\nQuestion:"), GOES_ON, "42", id="stop"),
        pytest.param(MathSettings(stop="Problem:|Question:"), GOES_ON, "42", id="one-of-two-stops"),
        pytest.param(MathSettings(stop="Problem:|"), GOES_ON, "2", id="stop-that-does-not-occur"),
        pytest.param(
            MathSettings(pick=AnswerPick.FIRST),
            "\\boxed{1} <answer>2</answer>",
            "1",
            id="box-first",
        ),
        pytest.param(
            MathSettings(pick=AnswerPick.FIRST, place=AnswerPlace.LAST_NUMBER),
            "5, then 6",
            "5",
            id="first-number",
        ),
        pytest.param(
            MathSettings(place=AnswerPlace.TAGS),
            "<answer>2</answer> \\boxed{1}",
            "2",
            id="only-tags",
        ),
    ],
)
def test_first_or_last_answer_counts_up_to_where_the_response_stops(
    settings: MathSettings, response: str, label: str
) -> None:
    core = RewardCore(replace(Settings(task=RewardTask.MATH), math=settings))
    (rating,) = core.rate([Sample(query=response, label=label)])
    core.close()
    assert rating.reward == 1, rating.note


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("It is \\boxed{5}.\n```python\nanswer = 6 * 2\n```\n", "5", id="assignment"),
        pytest.param("#### 5\n```\n#### compute\n```", "5", id="comment"),
        pytest.param('```py\nprint("The answer is", x)\n```\nSo the answer is 5.', "5", id="print"),
        pytest.param("```latex\n\\boxed{5}\n```", "5", id="nothing but code"),
        pytest.param("```\nx\nThe answer is 5.", "5", id="a block that does not end"),
    ],
)
def test_programs_give_no_answer_where_prose_does(text: str, found: str) -> None:
    assert find_answer(text).text == found


@pytest.mark.parametrize(
    ("label", "answer"),
    [("42", "42"), (" 42 ", "42"), ("5+5=10\n#### 10", "10"), ("so \\boxed{\\frac12}", "\\frac12")],
)
def test_label_may_be_a_worked_solution(label: str, answer: str) -> None:
    assert gold_answer(label) == answer


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\\boxed{" * 20_000, id="boxes"),
        pytest.param("the answer is " * 20_000, id="phrases"),
        pytest.param("#### 1\n" * 20_000, id="hashes"),
        pytest.param("(" * 100_000, id="brackets"),
        pytest.param("\\boxed{" + "1," * 900 + "}", id="items"),
        pytest.param("\\boxed{" + "(" * 900 + ")" * 900 + "}", id="depth"),
        pytest.param("\\boxed{" + "\\text{" * 300 + "}" * 300 + "}", id="texts"),
        pytest.param("answer " + "a " * 100_000, id="words"),
        pytest.param("1,111" * 50_000, id="digits"),
    ],
)
def test_hostile_response_costs_little_time(text: str) -> None:
    # CPU time of this thread, which no other work on the machine adds to.
    begin = time.thread_time()
    answer = find_answer(text, AnswerPlace.LAST_NUMBER)
    if answer.text is not None:
        is_right("1, 2", answer.text, tolerance=1e-6)
    assert time.thread_time() - begin < 3


def test_comparison_that_takes_forever_is_killed_and_the_next_one_works(algebra: Algebra) -> None:
    comparisons = algebra.comparisons()
    assert not comparisons.same("9^{9^{9^9}}", "3")
    assert comparisons.hit_limit
    assert not comparisons.same("x + x", "2x")
    assert algebra.same("x + x", "2x")


def test_comparisons_of_one_answer_share_their_time(algebra: Algebra) -> None:
    comparisons = algebra.comparisons()
    asked = 0
    while not comparisons.hit_limit:
        comparisons.same("(x+1)^{60}", f"(x+1)^{{59}}(x+{asked + 2})")
        asked += 1
    # Many of them fit into the time, but not any number.
    assert asked > 1
    assert algebra.same("x + x", "2x")


def test_process_that_was_ended_from_outside_is_replaced(algebra: Algebra) -> None:
    assert algebra.same("x + x", "2x")
    for worker in list(algebra._workers._living):
        worker._child.kill()
    assert algebra.same("x + x", "2x")


def test_comparison_after_the_deadline_is_no_answer(algebra: Algebra) -> None:
    with pytest.raises(AlgebraUnavailableError):
        algebra.comparisons(deadline=time.monotonic() - 1).same("(x+1)^{60}", "x")


def test_label_that_nothing_can_be_compared_with_blames_no_answer() -> None:
    core = RewardCore(replace(Settings(task=RewardTask.MATH), math=MathSettings(symbolic_s=0.5)))
    endless = "9^{9^{9^9}} + x"
    hostile_label, hostile_answer = core.rate(
        [
            Sample(query="\\boxed{x + 5}", label=endless),
            Sample(query=f"\\boxed{{{endless}}}", label="x + 5"),
        ]
    )
    core.close()
    assert not hostile_label.graded
    assert "the label takes too long" in hostile_label.note
    assert (hostile_answer.graded, hostile_answer.reward) == (True, 0.0)


def test_algebra_runs_no_python(algebra: Algebra, tmp_path: object) -> None:
    mark = f"{tmp_path}/mark"
    assert not algebra.same(f"__import__('pathlib').Path('{mark}').touch()", "1")
    from pathlib import Path

    assert not Path(mark).exists()


def test_without_algebra_only_values_are_compared() -> None:
    settings = replace(Settings(), math=MathSettings(symbolic=False))
    core = RewardCore(settings)
    samples = [Sample(query="\\boxed{0.5}", label='{"math": "1/2"}')]
    samples.append(Sample(query="\\boxed{x+x}", label='{"math": "2x"}'))
    assert [rating.reward for rating in core.rate(samples)] == [1.0, 0.0]
    core.close()


def test_closed_algebra_leaves_no_process() -> None:
    algebra = Algebra(processes=1, cpu_time_s=5)
    assert algebra.same("x + x", "2x")
    (worker,) = algebra._workers._living
    algebra.close()
    assert worker._child._process.poll() is not None
