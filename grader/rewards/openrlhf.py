"""The adapter between OpenRLHF's reward function and the core.

If `reward_func` raises, OpenRLHF logs the exception, goes on without a reward, and crashes some
steps later. So it always returns a reward and the same logs for each sample.
"""

import logging
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from grader.config.rewards import RewardSettings, RewardTask
from grader.model.errors import ConfigurationError
from grader.rewards.arguments import response_of, text_of
from grader.rewards.complaints import complaints
from grader.rewards.core import RewardCore, checked_core, shared_core
from grader.rewards.sample import LOG_KEYS, Rating, Sample, ungraded
from grader.text.inert import inert

if TYPE_CHECKING:
    import torch

_log = logging.getLogger(__name__)

_DEBUG_SAMPLES = 2
"""Samples of each call that GRADER_DEBUG shows."""
_DEBUG_CHARS = 600


def rewards_for(
    queries: object,
    prompts: object,
    labels: object,
    *,
    task: RewardTask | None = None,
    core: RewardCore | None = None,
) -> Any:
    """Return the result of a reward function as the installed OpenRLHF expects it.

    Args:
        queries: Prompts together with responses, or responses only, each as text or messages. Any
            number; a value that is not a list counts as one query.
        prompts: One for each query. Missing ones are empty.
        labels: One for each query, as in the dataset.
        task: The task of samples whose label names none; None: the one in the settings.
        core: None: the core of this process.

    Returns:
        `rewards` and `scores`, and under `extra_logs` every key of `LOG_KEYS`: float32 tensors
        of one finite number for each query; lists if torch is not installed, as outside of a
        trainer. For OpenRLHF up to 0.8.2 only the rewards. A score is NaN if
        `reward.drop_ungraded` is set and the sample could not be graded.
    """
    queries, prompts, labels = _listed(queries), _listed(prompts), _listed(labels)
    settings = RewardSettings()
    try:
        core = core or shared_core()
        settings = core.settings.reward
        samples = [
            Sample(query=response_of(query), prompt=text_of(_at(prompts, i)), label=_at(labels, i))
            for i, query in enumerate(queries)
        ]
        ratings = core.rate(samples, task=None if task is None else RewardTask(task))
        if core.settings.debug:
            _show(samples, ratings)
    except Exception as error:  # noqa: BLE001 - logged; fails only this call
        _log.exception("the reward function failed for %d samples", len(queries))
        ratings = [ungraded(f"{type(error).__name__}: {error}", settings) for _ in queries]
    complaints.add(ratings)
    columns = _columns(ratings, drop_ungraded=settings.drop_ungraded)
    return columns["rewards"] if _takes_rewards_alone() else columns


def score_for_filter(rating: Rating, *, drop_ungraded: bool) -> float:
    """Return the score for dynamic filtering.

    Args:
        rating: The rating of a sample.
        drop_ungraded: Whether to return NaN if the sample could not be graded. The mean of its
            group is then NaN, too, which is in no range, so OpenRLHF drops the group.
    """
    return math.nan if drop_ungraded and not rating.graded else rating.score


def check(task: RewardTask | None = None) -> None:
    """Check that samples can be graded. Called when a reward file is loaded.

    Raises:
        ConfigurationError: They cannot. The message is one line, with the reason.
    """
    checked_core(None if task is None else RewardTask(task))
    if not _has_torch():
        return
    try:
        import torch  # noqa: F401
    except ImportError as error:
        message = f"OpenRLHF needs rewards as tensors, but torch cannot be imported: {error}"
        raise ConfigurationError(message) from error


def _listed(values: object) -> list[object]:
    """Return any value as a list."""
    if values is None:
        return []
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return [values]
    # An array without dimensions says that it is iterable, and is not.
    return [values] if getattr(values, "shape", None) == () else list(values)


def _at(values: list[object], index: int) -> object:
    return values[index] if index < len(values) else None


def _takes_rewards_alone() -> bool:
    """Return whether the installed OpenRLHF expects a tensor, as up to 0.8.2, and not a dict.

    Only its version tells, because it calls both in the same way.
    """
    release = _openrlhf_release(tuple(sys.path))
    return release is not None and release < [0, 8, 3]


@lru_cache(maxsize=1)
def _openrlhf_release(path: tuple[str, ...]) -> list[int] | None:  # noqa: ARG001 - the key
    """Return the installed release. Cached by the search path, since this takes 0.5 ms."""
    try:
        numbers = re.findall(r"\d+", version("openrlhf"))
    except PackageNotFoundError:
        return None
    return [int(number) for number in numbers[:3]]


def _has_torch() -> bool:
    """Return whether torch is installed, as OpenRLHF needs it; `grader try` does not."""
    return find_spec("torch") is not None


def _columns(ratings: list[Rating], *, drop_ungraded: bool) -> "dict[str, Any]":
    logs = [rating.all_logs() for rating in ratings]
    columns = [
        [rating.reward for rating in ratings],
        [score_for_filter(rating, drop_ungraded=drop_ungraded) for rating in ratings],
        *([each[key] for each in logs] for key in LOG_KEYS),
    ]
    rewards, scores, *others = _as_tensors(columns) if _has_torch() else columns
    extra_logs = dict(zip(LOG_KEYS, others, strict=True))
    return {"rewards": rewards, "scores": scores, "extra_logs": extra_logs}


def _as_tensors(columns: list[list[float]]) -> "Sequence[torch.Tensor]":
    import torch

    # One tensor with a row for each: making them one by one takes 0.4 ms, even for one sample.
    # The trainer may have set another default device.
    rows: Sequence[torch.Tensor]
    rows = torch.tensor(columns, dtype=torch.float32, device="cpu").unbind()
    return rows


def _show(samples: list[Sample], ratings: list[Rating]) -> None:
    for sample, rating in list(zip(samples, ratings, strict=True))[:_DEBUG_SAMPLES]:
        lines = (
            f"[grader] query   {inert(sample.query[-_DEBUG_CHARS:], _DEBUG_CHARS)}",
            f"[grader] label   {inert(repr(sample.label)[:_DEBUG_CHARS], _DEBUG_CHARS)}",
            f"[grader] answer  {inert(rating.answer or '', _DEBUG_CHARS)}",
            f"[grader] verdict {inert(rating.note, _DEBUG_CHARS)}",
            f"[grader] reward  {rating.reward:+.3f} score {rating.score:.3f}",
        )
        print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - the user asked for it
