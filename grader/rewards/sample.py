"""Samples and their ratings, and the names of all logs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from grader.config.rewards import RewardSettings
from grader.model import GradeReport
from grader.model.verdict import Verdict

LOGGED_VERDICTS = tuple(verdict for verdict in Verdict if verdict is not Verdict.SKIPPED)

LOG_KEYS = (
    "graded",
    "raw_reward",
    *(f"verdict_{verdict}" for verdict in LOGGED_VERDICTS),
    "cases_passed",
    "cases_total",
    "cases_fraction",
    "cpu_time_s",
    "queue_time_s",
    "cache_hits",
    "suspicion",
    "code_reward",
    "math_reward",
    "math_answered",
    "conversation_reward",
    "conversation_quality",
    "repetition",
    "refusal",
    "relevance",
    "harm",
    "coherence",
    "length_term",
    "format_term",
)
"""Every rating has all of these logs, because trainers stack the logs of samples by key.

No name is one that OpenRLHF logs itself. docs/trainers/openrlhf.md explains each.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A response of a trainer that needs a reward."""

    query: str
    """The response, or prompt and response together, with special tokens."""
    prompt: str = ""
    label: object = None
    step: int | None = None
    """The training step; None if the trainer gives none. Only recorded, as `dataset` is."""
    dataset: str = ""
    """The name of its data set; "" if the trainer gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """The rating of one sample."""

    reward: float
    """Finite."""
    score: float
    """In [0, 1]."""
    graded: bool
    """False if the grader failed or the label cannot be read. The reward is then neutral."""
    verdict: Verdict | None = None
    """None if there is no right and wrong, as for a conversation."""
    logs: Mapping[str, float] = field(default_factory=dict)
    """By names in `LOG_KEYS`. Missing ones are 0."""
    answer: str | None = None
    """The extracted code or answer."""
    note: str = ""
    """One line: the verdict and its reason."""
    report: GradeReport | None = None
    """The full report, if tests graded the sample."""
    problem_id: str | None = None
    """The id of the problem in its label; None if it has none."""

    def __post_init__(self) -> None:
        """Check the ranges of reward and score.

        Raises:
            ValueError: One is out of its range.
        """
        if not math.isfinite(self.reward) or not 0 <= self.score <= 1:
            message = f"reward {self.reward}, score {self.score}; expected finite, and in [0, 1]"
            raise ValueError(message)

    def all_logs(self) -> dict[str, float]:
        """Return all logs, in the order of `LOG_KEYS`, as finite numbers."""
        given = {**self.logs, "graded": float(self.graded)}
        if self.verdict is not None:
            given[f"verdict_{self.verdict}"] = 1.0
        values = {key: float(given.get(key, 0.0)) for key in LOG_KEYS}
        return {key: value if math.isfinite(value) else 0.0 for key, value in values.items()}


class Rater(Protocol):
    """Grades samples of one kind. Safe for many threads; never raises for a sample."""

    def rate(self, samples: list[Sample], labels: list[object], deadline: float) -> list[Rating]:
        """Return a rating for each sample, in order.

        Args:
            samples: At least one.
            labels: For each sample the part of its label for this rater.
            deadline: By `time.monotonic`. Grading is given up then.
        """


def ungraded(reason: str, settings: RewardSettings) -> Rating:
    """Return the rating of a sample that could not be graded: the neutral reward."""
    # With a score of 0, dynamic filtering drops a group in which nothing was graded.
    return Rating(
        reward=settings.neutral,
        score=0.0,
        graded=False,
        verdict=Verdict.INTERNAL_ERROR,
        logs={"raw_reward": settings.neutral},
        note=f"not graded: {reason}",
    )
