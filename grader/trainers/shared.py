"""Shared by all adapters: reading a trainer's arguments, and calling the core."""

from collections.abc import Mapping
from functools import lru_cache

from grader.config.rewards import RewardTask
from grader.offline.recording import DATASET_KEYS
from grader.process.threads import ForkLock
from grader.rewards.calls import in_thread
from grader.rewards.complaints import complaints
from grader.rewards.core import RewardCore, checked_core, shared_core
from grader.rewards.sample import Rating, Sample

# ---------------------------------------------------------------- the core

_lock = ForkLock()


def ready_core() -> RewardCore:
    """Return this process's core; the first call checks that it can grade.

    Raises:
        ConfigurationError: It cannot. The trainer stops with the message, instead of training on
            neutral rewards.
    """
    with _lock.held():
        return _checked(shared_core())


@lru_cache(maxsize=1)
def _checked(core: RewardCore) -> RewardCore:  # noqa: ARG001 - the key of the cache
    return checked_core()


def rate_one(sample: Sample, *, task: str | None = None, deadline_s: float | None = None) -> Rating:
    """Return the rating of one sample.

    Args:
        sample: What to grade.
        task: The task of samples whose label names none; None for the one in the settings.
        deadline_s: Seconds after which grading is given up; None for those of the settings.

    Raises:
        ConfigurationError: As `ready_core`.
        ValueError: There is no such task.
    """
    chosen = None if task is None else RewardTask(task)
    (rating,) = rate_all([sample], task=chosen, deadline_s=deadline_s)
    return rating


def rate_all(
    samples: list[Sample], *, task: RewardTask | None = None, deadline_s: float | None = None
) -> list[Rating]:
    """Return the ratings of samples, and log why samples were not graded.

    Raises:
        ConfigurationError: As `ready_core`.
    """
    ratings = ready_core().rate(samples, task=task, deadline_s=deadline_s)
    complaints.add(ratings)
    return ratings


async def rate_soon(sample: Sample, *, task: str | None = None) -> Rating:
    """As `rate_one`, without blocking the event loop. Cancelling the task stops the grading."""
    return await in_thread(lambda: rate_one(sample, task=task))


# ---------------------------------------------------------------- arguments of trainers


def dataset_of(row: Mapping[str, object]) -> str:
    """Return the name of a row's data set; "" if the row has none."""
    return next((name for key in DATASET_KEYS if isinstance(name := row.get(key), str)), "")


def label_of(row: Mapping[str, object]) -> object:
    """Return the label of a dataset's row: its column `label` or, without one, the row itself.

    A row can be a label, because the columns of open-r1, verl, rLLM, MBPP, APPS and others are
    known formats. See docs/formats.md.
    """
    label = row.get("label")
    return dict(row) if label is None else label
