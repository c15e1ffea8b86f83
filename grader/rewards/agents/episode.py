"""One episode of attempts: the reward and feedback of each, and the end of the episode."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.config.rewards import AgentReward, ChatTemplate
from grader.rewards.agents.notebooks import Notebook
from grader.rewards.core import RewardCore
from grader.rewards.sample import LOG_KEYS, Rating, Sample
from grader.rewards.templates import next_turn, template_of

AGENT_LOG_KEYS = (*LOG_KEYS, "steps", "solved", "solved_at_once")
"""Every step has all of these logs."""


@dataclass(slots=True, kw_only=True)
class Episode:
    """The state of an episode. For one thread at a time."""

    prompt: str
    label: object
    template: ChatTemplate
    """Never `AUTO`."""
    steps: int = 0
    paid: float = 0.0
    """The sum of the rewards of its steps so far."""
    notebook: Notebook = field(default_factory=Notebook)
    """The code that it has run, if the agent lets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The result of one attempt."""

    rating: Rating
    solved: bool
    words: str
    """Feedback for the model, if it may try again."""
    over: bool = False
    """Whether the episode ends with this attempt, even if it is not solved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStep:
    """The result of a step, for the trainer."""

    reward: float
    score: float
    feedback: str
    """The text between this turn of the model and its next; empty at the end."""
    done: bool
    logs: Mapping[str, float]


class Agent(ABC):
    """Grades episodes. Safe for many threads; an episode is for one thread at a time."""

    def __init__(self, core: RewardCore) -> None:
        self._core = core
        self._settings = core.settings.agent

    @abstractmethod
    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:
        """Grade an attempt. Never raises because of the attempt.

        Args:
            episode: Its `steps` include this attempt.
            sample: The attempt, as if it were the first answer to the prompt.
            deadline: By `time.monotonic`.
        """

    def begin(self, prompt: str, label: object) -> Episode:
        """Return a new episode."""
        template = self._settings.template
        if template is ChatTemplate.AUTO:
            template = template_of(prompt)
        return Episode(prompt=prompt, label=label, template=template)

    def step(self, episode: Episode, answer: str) -> EpisodeStep:
        """Grade an attempt, and wait until it is graded.

        Args:
            episode: The episode; it is changed.
            answer: The model's turn, as sampled.
        """
        episode.steps += 1
        deadline = time.monotonic() + self._core.settings.reward.deadline_s
        # As the first answer to the prompt: otherwise, if the model repeats its code, the code
        # would count as a quotation of the earlier turn.
        sample = Sample(query=episode.prompt + answer, prompt=episode.prompt, label=episode.label)
        attempt = self._attempt(episode, sample, deadline)
        rating = attempt.rating
        # There is no feedback for an attempt that could not be graded, so the episode ends.
        is_last = attempt.over or episode.steps >= self._settings.max_steps
        done = attempt.solved or is_last or not rating.graded
        if done:
            episode.notebook.end()
        return EpisodeStep(
            reward=self._pay(episode, rating, done=done),
            score=rating.score,
            feedback=""
            if done
            else next_turn(
                attempt.words, answer=answer, template=episode.template, prompt=episode.prompt
            ),
            done=done,
            logs={
                **rating.all_logs(),
                "steps": float(episode.steps),
                "solved": float(attempt.solved),
                "solved_at_once": float(attempt.solved and episode.steps == 1),
            },
        )

    def _pay(self, episode: Episode, rating: Rating, *, done: bool) -> float:
        """Return the reward of a step. Those of an episode add up to the worth of its last step."""
        worth = rating.reward
        if rating.graded:
            worth -= self._settings.step_penalty * (episode.steps - 1)
        is_shaped = self._settings.reward is AgentReward.SHAPED
        due = worth - episode.paid if done or is_shaped else 0.0
        episode.paid += due
        return due
