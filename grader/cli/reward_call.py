"""Finds the reward function in a user's file, and calls it as its trainer does."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from grader.model.errors import ConfigurationError

_VERL = "solution_str"
_TRL = "completions"
"""The parameters that only functions for these trainers have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedSample:
    """A sample that a reward function is tried on."""

    prompt: str
    response: str
    label: Any
    columns: Mapping[str, Any]
    """The whole row."""


RewardCall = Callable[[TriedSample], Any]
"""Calls a reward function with one sample."""


def reward_call(module: ModuleType, file: str) -> RewardCall:
    """Return what calls the reward function of a module.

    Args:
        module: Defines `reward_func`, `compute_score`, or one function of completions.
        file: Its name in errors.

    Raises:
        ConfigurationError: It defines none, or several.
    """
    for name in ("reward_func", "compute_score"):
        if callable(found := getattr(module, name, None)):
            return _as_its_trainer_does(found)
    of_completions = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and _TRL in inspect.signature(value).parameters
    }
    if len(of_completions) == 1:
        return _as_its_trainer_does(*of_completions.values())
    several = f"; it has {' and '.join(of_completions)}" if of_completions else ""
    message = (
        f"{file} defines no reward_func(queries, prompts, labels), as OpenRLHF calls it, no "
        "compute_score(data_source, solution_str, ground_truth, extra_info), as verl calls it, and "
        f"not exactly one function of prompts and completions, as TRL calls it{several}"
    )
    raise ConfigurationError(message)


def _as_its_trainer_does(function: Callable[..., Any]) -> RewardCall:
    """Return what calls a function like the trainer whose parameters it has."""
    parameters = inspect.signature(function).parameters

    def call(sample: TriedSample) -> Any:
        if _VERL in parameters:
            result = function(
                data_source=sample.columns.get("data_source", ""),
                solution_str=sample.response,
                ground_truth=sample.label,
                extra_info=sample.columns.get("extra_info", {}),
            )
        elif _TRL in parameters:
            columns = {name: [value] for name, value in sample.columns.items()}
            own = {"prompts": [sample.prompt], "completions": [sample.response]}
            result = function(**{"label": [sample.label], **columns, **own})
        else:
            result = function([sample.prompt + sample.response], [sample.prompt], [sample.label])
        return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result

    return call


async def _awaited(result: Any) -> Any:
    return await result
