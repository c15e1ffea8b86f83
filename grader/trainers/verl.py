"""verl's reward functions: `custom_reward_function.path=pkg://grader.trainers.verl`.

Which one depends on the reward manager; docs/trainers/verl.md has the flags of each release and
what the logs mean. All but one are called for one sample at a time.

    compute_score        the managers of the reward loop: naive, dapo, gdpo, rate_limited
    compute_score_sync   remote, and the older naive and dapo, which take no async function
    compute_score_batch  batch
    compute_score_prime  prime
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from grader.config.rewards import Task
from grader.model.errors import GraderError
from grader.rewards.sample import Rating, Sample
from grader.trainers.shared import rate_all, rate_one, rate_soon

_MATH_SOURCES = frozenset(
    {
        "DigitalLearningGmbH/MATH-lighteval",
        "HuggingFaceH4/MATH-500",
        "lighteval/MATH",
        "math",
        "openai/gsm8k",
    }
)
_MATH_FAMILIES = ("aime", "math_dapo", "numina_")
"""How the other names begin for which verl's own function compares answers to math problems."""


async def compute_score(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,  # noqa: ARG001 - verl hands it to every function
    *,
    task: str | None = None,
    sources: Mapping[str, str] | None = None,
    raise_ungraded: bool = False,
    **_: Any,
) -> dict[str, float]:
    """Return the reward of one response.

    Args:
        data_source: Of the row: says what grades it where its label does not.
        solution_str: What the model said, without special tokens.
        ground_truth: The label, as the dataset holds it.
        extra_info: Of the row.
        task: What grades rows of other sources; None: as set. This and the next two come from
            `reward_kwargs`.
        sources: Tasks of further sources, such as `{"my/math": "math"}`.
        raise_ungraded: Whether what could not be graded raises. verl 0.9 then leaves the sample
            out; earlier releases stop.

    Returns:
        `score`, which is the reward; `acc`, in [0, 1]; and every log. The same keys always,
        also where we could not grade: then `graded` is 0 and `score` the neutral reward.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
        GraderError: The sample could not be graded, and that is to raise.
    """
    sample = Sample(query=solution_str, label=ground_truth)
    rating = await rate_soon(sample, task=_task_of(data_source, task, sources))
    return _result(rating, raise_ungraded=raise_ungraded)


def compute_score_sync(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,  # noqa: ARG001
    *,
    task: str | None = None,
    sources: Mapping[str, str] | None = None,
    raise_ungraded: bool = False,
    **_: Any,
) -> dict[str, float]:
    """As `compute_score`, for managers that take no async function."""
    sample = Sample(query=solution_str, label=ground_truth)
    rating = rate_one(sample, task=_task_of(data_source, task, sources))
    return _result(rating, raise_ungraded=raise_ungraded)


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[object],
    extra_infos: Sequence[object] | None = None,  # noqa: ARG001
    *,
    task: str | None = None,
    sources: Mapping[str, str] | None = None,
    **_: Any,
) -> list[dict[str, float]]:
    """As `compute_score`, for all responses of a step at once, as the manager `batch` calls it."""
    by_task: dict[str | None, dict[int, Sample]] = defaultdict(dict)
    rows = zip(data_sources, solution_strs, ground_truths, strict=True)
    for index, (source, text, label) in enumerate(rows):
        sample = Sample(query=text, label=label)
        by_task[_task_of(source, task, sources)][index] = sample
    results: dict[int, dict[str, float]] = {}
    for chosen, samples in by_task.items():
        ratings = rate_all([*samples.values()], task=None if chosen is None else Task(chosen))
        results.update(zip(samples, map(_result, ratings), strict=True))
    return [results[index] for index in range(len(results))]


def compute_score_prime(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,
    **options: Any,
) -> float:
    """Return the reward alone, for the manager `prime`, which takes a dict for a failure.

    It calls in a process of a pool, by position, and trains on 0 where this raises.
    """
    found = compute_score_sync(data_source, solution_str, ground_truth, extra_info, **options)
    return found["score"]


def _task_of(
    data_source: str | None, task: str | None, sources: Mapping[str, str] | None
) -> str | None:
    """Return what grades a row whose label does not say: by its source, else as for all."""
    source = data_source or ""
    if sources is not None and source in sources:
        return sources[source]
    is_math = source in _MATH_SOURCES or source.startswith(_MATH_FAMILIES)
    return Task.MATH if is_math else task


def _result(rating: Rating, *, raise_ungraded: bool = False) -> dict[str, float]:
    if raise_ungraded and not rating.graded:
        raise GraderError(rating.note)
    # verl takes `acc` for what its validation and its group filters are about.
    return {"score": rating.reward, "acc": rating.score, **rating.all_logs()}
