"""What a reward function returned for one sample, in the form of any trainer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from grader.model.errors import InputError

FORMS = (
    "OpenRLHF takes a dict of tensors: rewards, scores and extra_logs (up to 0.8.2 one tensor); "
    "TRL a list of numbers, with None for what was not graded; "
    "verl a number or a dict with score, for one sample"
)
"""Which trainer takes which form."""

_REWARD_KEYS = ("rewards", "reward", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardResult:
    """The result for one sample."""

    reward: float | None
    """None if the function left the sample out."""
    score: float | None = None
    """None if the function returned none; NaN if dynamic filtering is to drop the sample."""
    logs: Mapping[str, float] = field(default_factory=dict)
    form: str
    """The kind of value that it was."""


def read_result(value: object) -> RewardResult:
    """Read the result of a reward function that was called with one sample.

    Args:
        value: A dict with `rewards` (or `reward`, or `score`) and perhaps `scores` and
            `extra_logs`; or a list, a tensor, an array or a number.

    Raises:
        InputError: The value is none of these, does not have exactly one number for the sample,
            or its reward is not a finite number.
    """
    if not isinstance(value, Mapping):
        return RewardResult(reward=_reward(value, "the reward"), form=_form(value))
    key = next((name for name in _REWARD_KEYS if name in value), None)
    if key is None:
        names = ", ".join(map(str, value)) or "none"
        message = f"returned a dict with the keys {names}; expected rewards. {FORMS}"
        raise InputError(message)
    scores, logs = value.get("scores"), value.get("extra_logs") or {}
    return RewardResult(
        reward=_reward(value[key], key),
        score=None if scores is None else _number(scores, "scores"),
        logs={name: number for name in logs if (number := _number(logs[name], name)) is not None},
        form=f"a dict with {key} as {_form(value[key])}",
    )


def _reward(value: object, name: str) -> float | None:
    reward = _number(value, name)
    if reward is not None and not isfinite(reward):
        message = f"returned the reward {reward}; expected a finite number"
        raise InputError(message)
    return reward


def _number(value: object, name: str) -> float | None:
    """Return the one number in a value of any form.

    Raises:
        InputError: There is none, or there are several.
    """
    plain: Any = getattr(value, "tolist", lambda: value)()  # of a tensor or an array
    while isinstance(plain, list | tuple):
        if len(plain) != 1:
            message = f"returned {len(plain)} values as {name} for 1 sample; expected 1"
            raise InputError(message)
        (plain,) = plain
    if plain is None:
        return None
    if not isinstance(plain, int | float):
        message = f"returned {type(plain).__name__} as {name}; expected a number. {FORMS}"
        raise InputError(message)
    return float(plain)


def _form(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"
