"""The settings of what turns completions into rewards for a trainer; part of `Settings`.

They are apart from it because they are many and nobody but `grader.rewards` reads them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType

from grader.model.errors import ConfigurationError


class Task(StrEnum):
    """What grades a sample."""

    AUTO = "auto"
    """As the label says: an object with `math`, `conversation` or `combine`, a final answer, else
    code."""
    CODE = "code"
    MATH = "math"
    CONVERSATION = "conversation"


class ScoreMode(StrEnum):
    """What a trainer's dynamic filtering gets as the score of a sample."""

    BINARY = "binary"
    """1 where all is right, else 0: a group of equal partial scores is not worth training on."""
    FRACTION = "fraction"
    """The share that is right."""


class ResponseFormat(StrEnum):
    """A form that responses may be asked to have."""

    FENCED = "fenced"
    """Exactly one closed code block."""
    BOXED = "boxed"
    r"""Exactly one `\boxed{}`."""
    THINK = "think"
    """One closed thinking section at the start, and text behind it."""


class AnswerPlace(StrEnum):
    r"""Where a math answer is looked for."""

    AUTO = "auto"
    r"""Any of: `\boxed{}`, `#### x`, `<answer>x</answer>`, "the answer is"."""
    BOXED = "boxed"
    HASHES = "hashes"
    TAGS = "tags"
    PHRASE = "phrase"
    LAST_NUMBER = "last_number"
    """As `auto`; where nothing of the kind stands, the last number of the response."""


class AnswerPick(StrEnum):
    """Which math answer counts if a response gives several."""

    LAST = "last"
    FIRST = "first"


class ChatTemplate(StrEnum):
    """How the model's next turn begins."""

    AUTO = "auto"
    """As the conversation so far shows."""
    LLAMA2 = "llama2"
    """`[INST] ... [/INST]`, CodeLlama's too."""
    CHATML = "chatml"
    LLAMA3 = "llama3"
    PLAIN = "plain"
    """No special tokens: blank lines and "Assistant:"."""


class AgentReward(StrEnum):
    """When an agent is paid."""

    SPARSE = "sparse"
    """At the end of the episode, what the last attempt is worth."""
    SHAPED = "shaped"
    """At the end too, and at each step before what its score gained on the best so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """How reports become rewards, scores and logs."""

    score: ScoreMode = ScoreMode.BINARY
    unit: bool = False
    neutral: float = 0.0
    drop_ungraded: bool = False
    deadline_s: float = 300.0
    check: bool = True
    normalise: int = 0
    format: ResponseFormat = ResponseFormat.FENCED
    format_weight: float = 0.0
    length_chars: int = 8000
    length_weight: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        _check("reward.neutral", self.neutral, least=-math.inf)
        _check("reward.deadline_s", self.deadline_s, least=0.1)
        _check("reward.normalise", self.normalise, least=0)
        _check("reward.format_weight", self.format_weight, least=-math.inf)
        _check("reward.length_chars", self.length_chars, least=1)
        _check("reward.length_weight", self.length_weight, least=-math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class MathSettings:
    """How math answers are found and compared."""

    place: AnswerPlace = AnswerPlace.AUTO
    pick: AnswerPick = AnswerPick.LAST
    stop: str = ""
    """Texts that end a response, with | between them; a backslash and n are a new line."""
    right: float = 1.0
    wrong: float = 0.0
    missing: float = -0.5
    tolerance: float = 1e-6
    symbolic: bool = True
    symbolic_s: float = 5.0
    processes: int = 2

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        for name in ("right", "wrong", "missing"):
            _check(f"math.{name}", getattr(self, name), least=-math.inf)
        _check("math.tolerance", self.tolerance, least=0)
        _check("math.symbolic_s", self.symbolic_s, least=0.1)
        _check("math.processes", self.processes, least=1)

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts of `stop`."""
        return tuple(text for text in self.stop.replace("\\n", "\n").split("|") if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """Which model says how good a response is, and what is taken off."""

    model: str | None = None
    """None: conversation labels are not graded."""
    device: str = "cpu"
    good_label: str | None = None
    """None: the model's only label, else `LABEL_1`, else the last."""
    batch: int = 16
    gather_ms: float = 5.0
    max_tokens: int = 512
    short_words: int = 5
    short_penalty: float = 0.5
    repetition_penalty: float = 0.0
    refusal_penalty: float = 0.0
    relevance_weight: float = 0.0
    harm_model: str | None = None
    """None: nothing looks for harm."""
    harm_label: str | None = None
    """None: the model's only label, or the second of two."""
    harm_penalty: float = 1.0
    coherence_model: str | None = None
    """None: nothing looks at coherence."""
    coherence_label: str | None = None
    """As `harm_label`."""
    coherence_weight: float = 0.5

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        for name in ("batch", "max_tokens"):
            _check(f"conversation.{name}", getattr(self, name), least=1)
        for name in ("gather_ms", "short_words"):
            _check(f"conversation.{name}", getattr(self, name), least=0)
        for field in fields(self):
            if field.name.endswith(("_penalty", "_weight")):
                _check(f"conversation.{field.name}", getattr(self, field.name), least=0, most=1)
        shares = self.relevance_weight + self.coherence_share
        _check("conversation.relevance_weight + coherence_weight", shares, least=0, most=1)

    @property
    def coherence_share(self) -> float:
        """The share of the score that is coherence: 0 where no model looks at it."""
        return self.coherence_weight if self.coherence_model is not None else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How the multi-step agents play."""

    max_steps: int = 3
    reward: AgentReward = AgentReward.SPARSE
    template: ChatTemplate = ChatTemplate.AUTO
    hide_cases: bool = False
    step_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        _check("agent.max_steps", self.max_steps, least=1)
        _check("agent.step_penalty", self.step_penalty, least=0)


def _check(key: str, value: float, *, least: float, most: float = math.inf) -> None:
    if not (least <= value <= most and math.isfinite(value)):
        wanted = f"at least {least}" if math.isfinite(least) else "a finite number"
        until = f" and at most {most}" if math.isfinite(most) else ""
        message = f"{key} is {value}; expected {wanted}{until}"
        raise ConfigurationError(message)


REWARD_GROUPS: Mapping[str, type] = MappingProxyType(
    {
        "reward": RewardSettings,
        "math": MathSettings,
        "conversation": ConversationSettings,
        "agent": AgentSettings,
    }
)

REWARD_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "task": "what grades a sample: auto (as its label says), code, math or conversation",
        "debug": "print samples of query, answer, verdict and reward to standard error",
        "reward.score": "score for dynamic filtering: binary (all right or not) or fraction",
        "reward.unit": "give the fraction or binary score in [0, 1] as the reward, as for pass@k",
        "reward.neutral": "reward of a sample that could not be graded",
        "reward.drop_ungraded": "score NaN for such a sample: OpenRLHF's filter drops its group",
        "reward.deadline_s": "seconds from a call of the reward function to its return at most",
        "reward.check": "refuse to load the reward function where grading cannot work",
        "reward.normalise": "recent rewards whose mean and deviation rewards are put on; 0: none",
        "reward.format": "form that pays reward.format_weight: fenced, boxed or think",
        "reward.format_weight": "weight of 1 for a response that has that form, beside the 1 of "
        "the reward",
        "reward.length_chars": "characters up to which a response costs nothing",
        "reward.length_weight": "weight of -1 for a response twice as long, less in between",
        "math.place": "where the answer stands: auto, boxed, hashes, tags, phrase or last_number",
        "math.pick": "which answer counts if there are several: last or first",
        "math.stop": r"texts that end a response, with | between them, such as \nQuestion:|\n\nQ:",
        "math.right": "reward of a right answer",
        "math.wrong": "reward of a wrong answer",
        "math.missing": "reward of a response without an answer, or with a malformed one",
        "math.tolerance": "relative difference within which decimal numbers are equal",
        "math.symbolic": "compare what is no plain value by computer algebra (SymPy)",
        "math.symbolic_s": "seconds of CPU time that such comparisons of an answer have together",
        "math.processes": "processes for such comparisons",
        "conversation.model": "folder or hub name of a text-classification model",
        "conversation.device": "where it runs, such as cpu, cuda or cuda:1",
        "conversation.good_label": "its label that means good; default: LABEL_1, or its only one",
        "conversation.batch": "responses that it judges at once at most",
        "conversation.gather_ms": "milliseconds that a response waits for others to join its batch",
        "conversation.max_tokens": "tokens of a conversation that it reads, from the end",
        "conversation.short_words": "words below which a response is short",
        "conversation.short_penalty": "taken off the score of a short response",
        "conversation.repetition_penalty": "taken off one that only repeats itself; else less",
        "conversation.refusal_penalty": "taken off one that refuses",
        "conversation.relevance_weight": "share of the score that is the response's relevance",
        "conversation.harm_model": "folder or hub name of a model that tells harmful responses; "
        "default: none",
        "conversation.harm_label": "its label that means harmful; default: its only one, or the "
        "second of two",
        "conversation.harm_penalty": "taken off the score of a response that is surely harmful; "
        "else less",
        "conversation.coherence_model": "folder or hub name of a model that tells coherent "
        "responses; default: none",
        "conversation.coherence_label": "its label that means coherent; default: its only one, or "
        "the second of two",
        "conversation.coherence_weight": "share of the score that is the response's coherence, "
        "if there is such a model",
        "agent.max_steps": "attempts that a model has in one episode",
        "agent.reward": "sparse (at the end only) or shaped (also what each step gained)",
        "agent.template": "how turns begin: auto, llama2, chatml, llama3 or plain",
        "agent.hide_cases": "tell no input, expected value or output of a failing case",
        "agent.step_penalty": "taken off the reward for each attempt after the first",
    }
)
"""Every setting's dotted key, with its meaning and unit."""
