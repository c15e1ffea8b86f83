"""The small pure parts: filtering, normalising, terms, heuristics, batches."""

import threading
import time
from concurrent.futures import Future

import pytest

from grader.config.rewards import ResponseFormat
from grader.rewards.batching import MicroBatcher
from grader.rewards.filtering import GroupFate, fate_of, forecast
from grader.rewards.heuristics import refusal, relevance, repetition
from grader.rewards.normalise import RunningNormaliser
from grader.rewards.response import response_of
from grader.rewards.terms import format_term, length_term


@pytest.mark.parametrize(
    ("scores", "fate"),
    [
        pytest.param([0, 0, 0], GroupFate.TOO_HARD, id="all-wrong"),
        pytest.param([1, 1], GroupFate.TOO_EASY, id="all-right"),
        pytest.param([0, 1, 0], GroupFate.KEPT, id="mixed"),
        pytest.param([0.5, 0.5], GroupFate.FLAT, id="equal-parts"),
        pytest.param([0.2, 0.5], GroupFate.KEPT, id="parts"),
    ],
)
def test_filter_keeps_groups_with_something_to_learn(scores: list[float], fate: GroupFate) -> None:
    assert fate_of(scores) is fate


def test_filter_bounds_are_strict() -> None:
    assert fate_of([0.2, 0.2], low=0.2) is GroupFate.TOO_HARD
    assert fate_of([0.8, 0.8], high=0.8) is GroupFate.TOO_EASY


def test_filter_refuses_an_empty_group() -> None:
    with pytest.raises(ValueError, match="has no sample"):
        fate_of([])


def test_forecast_tells_shares() -> None:
    found = forecast([[0, 0], [1, 0], [1, 1], [1]])
    assert found.fates == (
        GroupFate.TOO_HARD,
        GroupFate.KEPT,
        GroupFate.TOO_EASY,
        GroupFate.TOO_EASY,
    )
    assert found.share(GroupFate.TOO_EASY) == 0.5


def test_normaliser_waits_until_it_knows_enough() -> None:
    normaliser = RunningNormaliser(16)
    assert normaliser.normalise([1.0, 0.0]) == [1.0, 0.0]
    assert normaliser.normalise([]) == []
    values = normaliser.normalise([1.0, 0.0] * 3)
    assert values == pytest.approx([1.0, -1.0] * 3, abs=1e-4)


def test_normaliser_of_equal_rewards_gives_zero() -> None:
    assert RunningNormaliser(16).normalise([0.5] * 10) == pytest.approx([0.0] * 10, abs=1e-6)


@pytest.mark.parametrize(("size", "value"), [(0, 0), (10, 0), (15, -0.5), (20, -1), (99, -1)])
def test_length_term_falls_after_the_free_characters(size: int, value: float) -> None:
    assert length_term("x" * size, 10) == value


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (ResponseFormat.FENCED, "```python\nx\n```", 1),
        (ResponseFormat.FENCED, "```python\nx", 0),
        (ResponseFormat.FENCED, "```\nx\n```\n```\ny\n```", 0),
        (ResponseFormat.BOXED, "so \\boxed{1}", 1),
        (ResponseFormat.BOXED, "\\boxed{1} \\boxed{2}", 0),
        (ResponseFormat.THINK, "<think>a</think>b", 1),
        (ResponseFormat.THINK, "<think>a</think>", 0),
        (ResponseFormat.THINK, "<think>a", 0),
        (ResponseFormat.THINK, "b<think>a</think>b", 0),
        (ResponseFormat.THINK, "<think>a</think>b<think>c</think>d", 0),
    ],
)
def test_format_term_pays_for_the_form(wanted: ResponseFormat, text: str, value: float) -> None:
    assert format_term(text, wanted) == value


def test_format_term_knows_that_the_prompt_began_to_think() -> None:
    assert format_term("a</think>b", ResponseFormat.THINK, opened=True) == 1


def test_repetition_tells_loops_from_prose() -> None:
    prose = "The quick brown fox jumps over the lazy dog while seven wise owls watch from a tree."
    assert repetition(prose) == 0
    assert repetition("I am happy to help you. " * 30) > 0.9
    assert repetition("yes") == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I'm sorry, but I can't help with that.", 1),
        ("I\u2019m sorry, I cannot do that.", 1),
        ("As an AI language model, I cannot answer.", 1),
        ("I am unable to assist with this request.", 1),
        ("Paris is the capital of France.", 0),
        ("You can't divide by zero, so I cannot be empty.", 0),
        ("Sorry to hear that! Here is what you can do.", 0),
    ],
)
def test_refusal_is_seen_where_it_begins_a_response(text: str, value: float) -> None:
    assert refusal(text) == value


def test_relevance_is_the_share_of_telling_words_taken_up() -> None:
    question = "Which planets have rings?"
    assert relevance(question, "The planet Saturn has a ring.") == 1
    assert relevance(question, "I like cheese.") == 0
    assert relevance("", "Anything.") == 1


@pytest.mark.parametrize(
    ("query", "prompt", "words"),
    [
        ("Q: a? A: b</s>", "Q: a? A:", "b"),
        ("<s>[INST] a [/INST] b </s>", "<s>[INST] a [/INST]", "b"),
        ("b", "Q: a?", "b"),
        ("<think>x</think>b<|im_end|>", "", "b"),
        ("x</think>b", "say <think>", "b"),
        ("<think>x", "", ""),
        ("", "", ""),
    ],
)
def test_response_is_what_the_model_says(query: str, prompt: str, words: str) -> None:
    if prompt.endswith("<think>"):
        query = prompt + query
    assert response_of(query, prompt).text == words


# ---------------------------------------------------------------- batches


def test_calls_that_come_together_are_one_batch() -> None:
    batches: list[list[int]] = []

    def double(items: list[int]) -> list[int]:
        batches.append(items)
        return [2 * item for item in items]

    batcher = MicroBatcher(double, most=20, gather_s=30, name="double")
    results: dict[int, int] = {}

    def call(number: int) -> None:
        results[number] = batcher.submit(number).result(10)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batcher.close()
    assert results == {number: 2 * number for number in range(20)}
    assert len(batches) == 1


def test_batches_have_a_size_limit() -> None:
    sizes: list[int] = []

    def note(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return items

    batcher = MicroBatcher(note, most=4, gather_s=30, name="note")
    futures = [batcher.submit(number) for number in range(8)]
    assert [future.result(10) for future in futures] == list(range(8))
    batcher.close()
    assert sizes == [4, 4]


def test_batch_that_is_not_full_is_handled_after_a_while() -> None:
    batcher = MicroBatcher[int, int](lambda items: items, most=4, gather_s=0.01, name="few")
    assert batcher.submit(1).result(10) == 1
    batcher.close()


def test_item_that_cannot_be_handled_fails_its_call_and_no_other_of_its_batch() -> None:
    def fail_odd(items: list[int]) -> list[int]:
        if any(item % 2 for item in items):
            message = "odd"
            raise ValueError(message)
        return items

    batcher = MicroBatcher(fail_odd, most=4, gather_s=5, name="odd")
    futures = [batcher.submit(number) for number in (2, 1, 4, 6)]
    assert [future.result(10) for future in futures if future is not futures[1]] == [2, 4, 6]
    with pytest.raises(ValueError, match="odd"):
        futures[1].result(10)
    batcher.close()


def test_batcher_forgets_calls_that_gave_up() -> None:
    go, seen = threading.Event(), list[int]()

    def handle(items: list[int]) -> list[int]:
        go.wait(10)
        seen.extend(items)
        return items

    batcher = MicroBatcher(handle, most=1, gather_s=0, name="slow")
    first, second, third = (batcher.submit(number) for number in range(3))
    second.cancel()
    go.set()
    assert (first.result(10), third.result(10)) == (0, 2)
    assert 1 not in seen
    batcher.close()


def test_batcher_that_is_closed_cancels_what_waits_and_what_is_being_handled() -> None:
    begun, all_there = threading.Event(), threading.Event()
    futures, seen = list[Future[int]](), list[int]()

    def handle(items: list[int]) -> list[int]:
        seen.extend(items)
        begun.set()
        all_there.wait(10)
        while not all(future.cancelled() for future in futures):
            time.sleep(0.001)
        return items

    batcher = MicroBatcher(handle, most=1, gather_s=0, name="slow")
    futures += [batcher.submit(number) for number in range(100)]
    all_there.set()
    begun.wait(10)
    batcher.close()
    assert seen == [0]
    assert all(future.cancelled() for future in futures)
    with pytest.raises(RuntimeError, match="closed"):
        batcher.submit(4)
