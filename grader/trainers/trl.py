"""TRL's reward function: `GRPOTrainer(reward_funcs=code_reward)`.

Beside others: `GRPOTrainer(reward_funcs=with_code_reward(short, polite))`.

Written for TRL 1.x. What grades a sample, its row says: the column `label`, or open-r1's
`verification_info`, or the columns of another known format. docs/trainers/trl.md has more.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Any

from grader.model.errors import ConfigurationError, GraderError
from grader.rewards.sample import LOG_KEYS, Rating, Sample
from grader.text.inert import inert
from grader.trainers.shared import label_of, rate_all, response_of, text_of

_NOTE_CHARS = 200
_OWN_COLUMNS = frozenset({"completion_ids", "environments", "trainer_state"})
"""What TRL passes beside the dataset's columns."""


def code_reward(
    prompts: Sequence[object],
    completions: Sequence[object],
    log_extra: Callable[[str, list[Any]], None] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """Return the reward of each completion; all are graded at once.

    Args:
        prompts: Texts, or lists of messages.
        completions: Likewise.
        log_extra: TRL's; gets a column of verdicts for its table of completions.
        log_metric: TRL's; gets means of what ratings log, named `grader/` and the log's name.
        columns: The dataset's, one value for each completion, and what else TRL passes.

    Returns:
        One for each completion. None, which TRL leaves out of the group's mean, where it could
        not be graded: our failure is not the model's.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    samples = [
        Sample(
            query=response_of(completion),
            prompt=text_of(prompt),
            label=label_of(_row(columns, index, prompt)),
        )
        for index, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]
    ratings = rate_all(samples) if samples else []
    if log_extra is not None:
        log_extra("grader", [inert(rating.note, _NOTE_CHARS) for rating in ratings])
    if log_metric is not None and ratings:
        for name, mean in _means(ratings).items():
            log_metric(f"grader/{name}", mean)
    return [rating.reward if rating.graded else None for rating in ratings]


RewardFunction = Callable[..., Any]


def with_code_reward(*others: Any) -> list[RewardFunction]:
    """Return `code_reward` and other functions, for `reward_funcs`, in this order.

    A sample that could not be graded gets None from the others, too. TRL adds up what is there
    and skips None: without this, such a sample would be trained on for the others' rewards
    alone, against a group that has code rewards as well. None from all of them is what TRL
    leaves out, of the group's mean and of the loss.

    Args:
        others: Reward functions as TRL takes them, async ones too.

    Raises:
        ConfigurationError: One is no function: the rewards of a model or of its name are TRL's
            own to compute, and nothing here sees them.
    """
    for other in others:
        # Every module of torch has a method of this name.
        is_function = callable(other) and not hasattr(other, "forward")
        if not is_function:
            message = f"{other!r:.80} is no reward function; expected one: wrap a model in one"
            raise ConfigurationError(message)
    graded = _Graded()

    @functools.wraps(code_reward)
    def code(prompts: Sequence[object], completions: Sequence[object], **columns: Any) -> Any:
        rewards = code_reward(prompts, completions, **columns)
        graded.note(completions, rewards)
        return rewards

    return [code, *(_only_graded(other, graded) for other in others)]


class _Graded:
    """Which completions of the last step could be graded."""

    def __init__(self) -> None:
        self._completions: Sequence[object] | None = None
        self._mask: list[bool] = []

    def note(self, completions: Sequence[object], rewards: Sequence[float | None]) -> None:
        """Take note of a step."""
        self._completions, self._mask = completions, [each is not None for each in rewards]

    def only(self, completions: Sequence[object], rewards: Sequence[Any]) -> list[Any]:
        """Return another function's rewards, None for what could not be graded.

        Raises:
            GraderError: These are not the completions that were graded last.
        """
        if completions is not self._completions:
            message = (
                "a reward function was called with completions that the code reward has not seen"
            )
            raise GraderError(message)
        return [
            reward if is_graded else None
            for reward, is_graded in zip(rewards, self._mask, strict=True)
        ]


def _only_graded(other: RewardFunction, graded: _Graded) -> RewardFunction:
    call = getattr(other, "__call__", None)  # noqa: B004 - an object may have an async one
    if inspect.iscoroutinefunction(other) or inspect.iscoroutinefunction(call):

        @functools.wraps(other)
        async def masked_soon(*, completions: Sequence[object], **more: Any) -> list[Any]:
            return graded.only(completions, await other(completions=completions, **more))

        return masked_soon

    @functools.wraps(other)
    def masked(*, completions: Sequence[object], **more: Any) -> list[Any]:
        return graded.only(completions, other(completions=completions, **more))

    return masked


def _row(columns: Mapping[str, Any], index: int, prompt: object) -> dict[str, object]:
    return {
        "prompt": prompt,
        **{name: values[index] for name, values in columns.items() if name not in _OWN_COLUMNS},
    }


def _means(ratings: Sequence[Rating]) -> dict[str, float]:
    """Return the mean of each log, over the samples that have it; of verdicts, over all."""
    means: dict[str, float] = {}
    for key in LOG_KEYS:
        is_rate = key == "graded" or key.startswith("verdict_")
        values = [each.all_logs()[key] for each in ratings if is_rate or key in each.logs]
        if values:
            means[key] = fsum(values) / len(values)
    return means
