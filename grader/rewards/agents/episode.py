"""One episode of attempts: what each is worth, what is said about it, and when it is over."""

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
"""What every step logs, always all of it."""


@dataclass(slots=True, kw_only=True)
class Episode:
    """What is known of an episode under way. Used by one thread at a time."""

    prompt: str
    label: object
    template: ChatTemplate
    """Never `AUTO`."""
    steps: int = 0
    paid: float = 0.0
    """The rewards of its steps so far, added up."""
    notebook: Notebook = field(default_factory=Notebook)
    """The code that it has run, if the agent lets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of one attempt."""

    rating: Rating
    solved: bool
    words: str
    """What the model is told about it, should it try again."""
    over: bool = False
    """Whether there is no other, solved or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStep:
    """What the trainer is told."""

    reward: float
    score: float
    feedback: str
    """Text from the end of the model's turn to where its next begins; empty at the end."""
    done: bool
    logs: Mapping[str, float]


class Agent(ABC):
    """Plays episodes. Safe for many threads, one episode in one thread at a time."""

    def __init__(self, core: RewardCore) -> None:
        self._core = core
        self._settings = core.settings.agent

    @abstractmethod
    def _attempt(self, episode: Episode, sample: Sample, deadline: float) -> Attempt:
        """Grade an attempt; never raises for one.

        Args:
            episode: Its steps count this attempt already.
            sample: The attempt, as if it were the first answer to the prompt.
            deadline: Of `time.monotonic`.
        """

    def begin(self, prompt: str, label: object) -> Episode:
        """Return a new episode."""
        template = self._settings.template
        if template is ChatTemplate.AUTO:
            template = template_of(prompt)
        return Episode(prompt=prompt, label=label, template=template)

    def step(self, episode: Episode, answer: str) -> EpisodeStep:
        """Grade an attempt and say what comes next; takes until it is graded.

        Args:
            episode: Changed by this.
            answer: What the model said, as sampled.
        """
        episode.steps += 1
        deadline = time.monotonic() + self._core.settings.reward.deadline_s
        # As if it were the first answer: to a model that hands in the same code once more, the
        # code would otherwise count as quoted from what was said before.
        sample = Sample(query=episode.prompt + answer, prompt=episode.prompt, label=episode.label)
        attempt = self._attempt(episode, sample, deadline)
        rating = attempt.rating
        # What we cannot grade now, we cannot tell anything about either: the episode is over.
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
        """Return the reward of a step. Those of an episode add up to what its end is worth."""
        worth = rating.reward
        if rating.graded:
            worth -= self._settings.step_penalty * (episode.steps - 1)
        is_shaped = self._settings.reward is AgentReward.SHAPED
        due = worth - episode.paid if done or is_shaped else 0.0
        episode.paid += due
        return due
