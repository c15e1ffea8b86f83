"""The records that raters take and give, and the one list of what is logged."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

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
"""What every rating logs, always all of it: trainers stack the logs of samples by key.

None is a name that OpenRLHF itself logs. docs/trainers/openrlhf.md says what each means.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a trainer wants a reward for."""

    query: str
    """The response, or prompt and response together, special tokens and all."""
    prompt: str = ""
    label: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What one sample is worth."""

    reward: float
    """Finite."""
    score: float
    """In [0, 1]."""
    graded: bool
    """False where we failed, or the label says nothing; reward and score are then neutral."""
    verdict: Verdict | None = None
    """None where right and wrong are no question, as for a conversation."""
    logs: Mapping[str, float] = field(default_factory=dict)
    """By a name in `LOG_KEYS`; what is not given is 0."""
    answer: str | None = None
    """The code or the answer that was found in the response."""
    note: str = ""
    """One line for a person: the verdict, and why."""
    report: GradeReport | None = None
    """All that is known of the code, where there was some."""

    def __post_init__(self) -> None:
        """Check the numbers, which go into a training run unseen.

        Raises:
            ValueError: One is out of its range.
        """
        if not math.isfinite(self.reward) or not 0 <= self.score <= 1:
            message = f"a reward of {self.reward} with a score of {self.score}"
            raise ValueError(message)

    def all_logs(self) -> dict[str, float]:
        """Return every log, by `LOG_KEYS` and in its order; finite numbers only."""
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
            labels: The part of each sample's label that is for this rater.
            deadline: Of `time.monotonic`; what is not graded by then is given up.
        """


def ungraded(reason: str, neutral: float) -> Rating:
    """Return the rating of a sample that could not be graded."""
    # A score of 0 lets dynamic filtering drop a group of which nothing was graded.
    return Rating(
        reward=neutral,
        score=0.0,
        graded=False,
        verdict=Verdict.INTERNAL_ERROR,
        logs={"raw_reward": neutral},
        note=f"not graded: {reason}",
    )
