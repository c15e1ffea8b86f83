"""verl's reward functions: `custom_reward_function.path=pkg://grader.trainers.verl`.

The reward manager decides which function to use. docs/trainers/verl.md has the flags of each
release and the meaning of the logs.

    compute_score        managers of the reward loop: naive, dapo, gdpo, rate_limited
    compute_score_sync   remote, and older naive and dapo, which need a function that is not async
    compute_score_batch  batch
    compute_score_prime  prime
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from grader.config.rewards import RewardTask
from grader.model.errors import GraderError
from grader.rewards.arguments import response_of
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
"""Sources with these prefixes are math problems for verl's own function, too."""


async def compute_score(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,  # noqa: ARG001 - verl passes it always
    *,
    task: str | None = None,
    sources: Mapping[str, str] | None = None,
    raise_ungraded: bool = False,
    **_: Any,
) -> dict[str, float]:
    """Return the reward of one response.

    Args:
        data_source: The source of the row; it selects the task if the label names none.
        solution_str: The response, without special tokens.
        ground_truth: The label, as in the dataset.
        extra_info: The row's; not used.
        task: The task of rows whose source is unknown; None for the one in the settings. This
            argument and the next two come from `reward_kwargs`.
        sources: The tasks of more sources, such as `{"my/math": "math"}`.
        raise_ungraded: Whether to raise if the sample could not be graded. verl 0.9 then leaves
            the sample out; earlier releases stop.

    Returns:
        `score`, which is the reward; `acc`, in [0, 1]; and every log. The keys are always the
        same. If the sample could not be graded, `graded` is 0 and `score` is the neutral reward.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
        GraderError: The sample could not be graded, and `raise_ungraded` is set.
    """
    sample = _sample(data_source, solution_str, ground_truth)
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
    """As `compute_score`, for managers that need a function that is not async."""
    sample = _sample(data_source, solution_str, ground_truth)
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
    """As `compute_score`, for all responses of a step at once, for the manager `batch`."""
    by_task: dict[str | None, dict[int, Sample]] = defaultdict(dict)
    rows = zip(data_sources, solution_strs, ground_truths, strict=True)
    for index, (source, text, label) in enumerate(rows):
        by_task[_task_of(source, task, sources)][index] = _sample(source, text, label)
    results: dict[int, dict[str, float]] = {}
    for chosen, samples in by_task.items():
        ratings = rate_all([*samples.values()], task=None if chosen is None else RewardTask(chosen))
        results.update(zip(samples, map(_result, ratings), strict=True))
    return [results[index] for index in range(len(results))]


def compute_score_prime(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: object = None,
    extra_info: object = None,
    **options: Any,
) -> float:
    """Return only the reward, for the manager `prime`, which treats a dict as a failure.

    `prime` calls this by position in a pool of processes, and trains on 0 if it raises.
    """
    found = compute_score_sync(data_source, solution_str, ground_truth, extra_info, **options)
    return found["score"]


def _sample(data_source: object, response: object, label: object) -> Sample:
    return Sample(query=response_of(response), label=label, dataset=_name(data_source))


def _name(data_source: object) -> str:
    """Return the name of a source; "" for None, and NaN, as pandas says that there is none."""
    return data_source if isinstance(data_source, str) else ""


def _task_of(
    data_source: object, task: str | None, sources: Mapping[str, str] | None
) -> str | None:
    """Return the task that the source of a row stands for; if it stands for none, the given one."""
    source = _name(data_source)
    if sources is not None and source in sources:
        return sources[source]
    is_math = source in _MATH_SOURCES or source.startswith(_MATH_FAMILIES)
    return RewardTask.MATH if is_math else task


def _result(rating: Rating, *, raise_ungraded: bool = False) -> dict[str, float]:
    if raise_ungraded and not rating.graded:
        raise GraderError(rating.note)
    # verl uses `acc` for validation and for filtering groups.
    return {"score": rating.reward, "acc": rating.score, **rating.all_logs()}
