"""TRL's reward function: `GRPOTrainer(reward_funcs=code_reward)`.

Written for TRL 1.16. What grades a sample, its row says: the column `label`, or open-r1's
`verification_info`, or the columns of another known format. docs/trainers/trl.md has more.
"""

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Any

from grader.feedback import inert
from grader.integrations.shared import label_of, rate_all, response_of, text_of
from grader.rewards.sample import LOG_KEYS, Rating, Sample

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
