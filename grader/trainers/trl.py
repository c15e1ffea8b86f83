"""TRL's reward function: `GRPOTrainer(reward_funcs=code_reward)`.

Together with other functions: `GRPOTrainer(reward_funcs=with_code_reward(short, polite))`.

Written for TRL 1.x. The label of a sample is the column `label` of its row, open-r1's
`verification_info`, or the columns of another known format. See docs/trainers/trl.md.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Any

from grader.model.errors import ConfigurationError, GraderError
from grader.rewards.arguments import response_of, text_of
from grader.rewards.sample import LOG_KEYS, Rating, Sample
from grader.text.inert import inert
from grader.trainers.shared import dataset_of, label_of, rate_all

_NOTE_CHARS = 200
_OWN_COLUMNS = frozenset({"completion_ids", "environments", "trainer_state"})
"""Arguments that TRL passes in addition to the dataset's columns."""


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
        completions: Texts, or lists of messages.
        log_extra: From TRL. Gets a column of verdicts for the table of completions.
        log_metric: From TRL. Gets the means of all logs, with names that begin with `grader/`.
        columns: The dataset's columns, with one value for each completion, and TRL's own arguments.

    Returns:
        One reward for each completion; None if it could not be graded. TRL leaves None out of the
        mean of the group.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    rows = {n: v for n, v in columns.items() if n not in _OWN_COLUMNS and _is_column(v, prompts)}
    step = getattr(columns.get("trainer_state"), "global_step", None)
    samples = [
        Sample(
            query=response_of(completion),
            prompt=text_of(prompt),
            label=label_of(row := {"prompt": prompt, **{n: v[index] for n, v in rows.items()}}),
            step=step,
            dataset=dataset_of(row),
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
    """Return a list of `code_reward` and other functions, for `reward_funcs`.

    A sample that could not be graded gets None from the other functions, too. TRL adds up the
    rewards of a sample and skips None. So such a sample would have only the rewards of the other
    functions, and would be compared with a group that has code rewards as well. If all functions
    return None, TRL leaves the sample out of the group's mean and of the loss.

    Args:
        others: Reward functions for TRL; they may be async.

    Raises:
        ConfigurationError: One is a model or the name of a model. TRL calls models itself, so
            their rewards cannot be replaced here.
    """
    for other in others:
        # Modules of torch have this method.
        is_function = callable(other) and not hasattr(other, "forward")
        if not is_function:
            message = f"{other!r:.80} is not a function; expected a function: wrap a model in one"
            raise ConfigurationError(message)
    graded = _Graded()

    @functools.wraps(code_reward)
    def code(prompts: Sequence[object], completions: Sequence[object], **columns: Any) -> Any:
        rewards = code_reward(prompts, completions, **columns)
        graded.note(completions, rewards)
        return rewards

    return [code, *(_only_graded(other, graded) for other in others)]


class _Graded:
    """Remembers which completions of the last step could be graded."""

    def __init__(self) -> None:
        self._completions: Sequence[object] | None = None
        self._mask: list[bool] = []

    def note(self, completions: Sequence[object], rewards: Sequence[float | None]) -> None:
        """Remember a step."""
        self._completions, self._mask = completions, [each is not None for each in rewards]

    def only(self, completions: Sequence[object], rewards: Sequence[Any]) -> list[Any]:
        """Return rewards of another function, with None for completions that could not be graded.

        Raises:
            GraderError: These are not the completions of the last step.
        """
        if completions is not self._completions:
            message = (
                "a reward function was called with other completions than the code reward before it"
            )
            raise GraderError(message)
        return [
            reward if is_graded else None
            for reward, is_graded in zip(rewards, self._mask, strict=True)
        ]


def _only_graded(other: RewardFunction, graded: _Graded) -> RewardFunction:
    call = getattr(other, "__call__", None)  # noqa: B004 - it may be async
    if inspect.iscoroutinefunction(other) or inspect.iscoroutinefunction(call):

        @functools.wraps(other)
        async def masked_soon(*, completions: Sequence[object], **more: Any) -> list[Any]:
            return graded.only(completions, await other(completions=completions, **more))

        return masked_soon

    @functools.wraps(other)
    def masked(*, completions: Sequence[object], **more: Any) -> list[Any]:
        return graded.only(completions, other(completions=completions, **more))

    return masked


def _is_column(values: object, prompts: Sequence[object]) -> bool:
    """Return whether an argument has a value for each prompt; other releases may pass others."""
    if isinstance(values, str | bytes | Mapping):
        return False
    try:
        return len(values) == len(prompts)  # type: ignore[arg-type]
    except TypeError:
        return False


def _means(ratings: Sequence[Rating]) -> dict[str, float]:
    """Return the mean of each log: over all samples for verdicts, else over those that have it."""
    means: dict[str, float] = {}
    for key in LOG_KEYS:
        is_rate = key == "graded" or key.startswith("verdict_")
        values = [each.all_logs()[key] for each in ratings if is_rate or key in each.logs]
        if values:
            means[key] = fsum(values) / len(values)
    return means
