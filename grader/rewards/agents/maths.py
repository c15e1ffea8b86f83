"""The math agent: the model answers, is told whether it is right, and answers again."""

from grader.config.rewards import RewardTask
from grader.rewards.agents.episode import Agent, Attempt, Episode
from grader.rewards.sample import Sample
from grader.text.inert import inert

_AGAIN = "Think step by step and give the final answer once more, as \\boxed{...}."


class MathAgent(Agent):
    """Grades each attempt by the answer in its label, without revealing it."""

    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:  # noqa: ARG002
        (rating,) = self._core.rate([sample], task=RewardTask.MATH)
        if rating.answer is None:
            words = f"No final answer was found in what you wrote. {_AGAIN}"
        else:
            words = f"{inert(rating.answer, 100)} is not the right answer. {_AGAIN}"
        return Attempt(rating=rating, solved=rating.graded and rating.score == 1, words=words)
