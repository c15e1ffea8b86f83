"""The settings of what turns completions into rewards for a trainer; part of `Settings`.

They have a file of their own because they are many and only `grader.rewards` reads them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from grader.model.setting import Setting, check_ranges


class RewardTask(StrEnum):
    """What grades a sample."""

    AUTO = "auto"
    """As the label says: an object with `math`, `conversation` or `combine`, or a final answer;
    any other label is code."""
    CODE = "code"
    MATH = "math"
    CONVERSATION = "conversation"


class ScoreMode(StrEnum):
    """The score of a sample that a trainer's dynamic filtering sees."""

    BINARY = "binary"
    """1 if all is right, else 0: a group of equal partial scores is not worth training on."""
    FRACTION = "fraction"
    """The fraction of cases that passed."""


class ResponseFormat(StrEnum):
    """A format that responses can be rewarded for."""

    FENCED = "fenced"
    """Exactly one closed code block."""
    BOXED = "boxed"
    r"""Exactly one `\boxed{}`."""
    THINK = "think"
    """One closed thinking section at the start, with text after it."""


class AnswerPlace(StrEnum):
    r"""Where a math answer is looked for."""

    AUTO = "auto"
    r"""Any of: `\boxed{}`, `#### x`, `<answer>x</answer>`, "the answer is"."""
    BOXED = "boxed"
    HASHES = "hashes"
    TAGS = "tags"
    PHRASE = "phrase"
    LAST_NUMBER = "last_number"
    """As `auto`; if none of these is there, the last number of the response."""


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
    """When an agent gets its reward."""

    SPARSE = "sparse"
    """At the end of the episode: the reward of the last attempt."""
    SHAPED = "shaped"
    """Also at each step before the end: how far its score exceeds the best so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """How reports become rewards, scores and logs."""

    score: Annotated[
        ScoreMode, Setting("score for dynamic filtering: binary (all right or not) or fraction")
    ] = ScoreMode.BINARY
    unit: Annotated[
        bool, Setting("give the fraction or binary score in [0, 1] as the reward, as for pass@k")
    ] = False
    neutral: Annotated[float, Setting("reward of a sample that could not be graded")] = 0.0
    drop_ungraded: Annotated[
        bool,
        Setting("give an ungraded sample the score NaN: OpenRLHF's filter then drops its group"),
    ] = False
    deadline_s: Annotated[
        float, Setting("most seconds that a call of the reward function takes", least=0.1)
    ] = 300.0
    check: Annotated[bool, Setting("refuse to load the reward function if grading cannot work")] = (
        True
    )
    normalise: Annotated[
        int,
        Setting(
            "number of recent rewards by whose mean and deviation rewards are normalised; 0: none",
            least=0,
        ),
    ] = 0
    format: Annotated[
        ResponseFormat,
        Setting("format that the format term rewards: fenced, boxed or think"),
    ] = ResponseFormat.FENCED
    format_weight: Annotated[
        float,
        Setting(
            "weight of the format term: 1 if the response has the format of reward.format, else 0"
        ),
    ] = 0.0
    length_chars: Annotated[
        int, Setting("length in characters up to which a response is not penalised", least=1)
    ] = 8000
    length_weight: Annotated[
        float,
        Setting(
            "weight of the length term: 0 up to reward.length_chars, falling to -1 at twice that"
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self, "reward")


@dataclass(frozen=True, slots=True, kw_only=True)
class MathSettings:
    """How math answers are found and compared."""

    place: Annotated[
        AnswerPlace,
        Setting("where the answer stands: auto, boxed, hashes, tags, phrase or last_number"),
    ] = AnswerPlace.AUTO
    pick: Annotated[
        AnswerPick, Setting("which answer counts if there are several: last or first")
    ] = AnswerPick.LAST
    stop: Annotated[
        str,
        Setting(r"texts that end a response, with | between them, such as \nQuestion:|\n\nQ:"),
    ] = ""
    """A backslash and n are a new line."""
    right: Annotated[float, Setting("reward of a right answer")] = 1.0
    wrong: Annotated[float, Setting("reward of a wrong answer")] = 0.0
    missing: Annotated[
        float, Setting("reward of a response without an answer, or with a malformed one")
    ] = -0.5
    tolerance: Annotated[
        float, Setting("relative difference within which decimal numbers are equal", least=0)
    ] = 1e-6
    symbolic: Annotated[
        bool, Setting("compare answers that are not plain values by computer algebra (SymPy)")
    ] = True
    symbolic_s: Annotated[
        float,
        Setting("seconds of CPU time for all symbolic comparisons of one answer", least=0.1),
    ] = 5.0
    processes: Annotated[int, Setting("processes for symbolic comparisons", least=1)] = 2

    def __post_init__(self) -> None:
        check_ranges(self, "math")

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts of `stop`."""
        return tuple(text for text in self.stop.replace("\\n", "\n").split("|") if text)


_TAKEN_OFF = "taken off the score of a response that"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """Which models judge a response, and what lowers its score."""

    model: Annotated[
        str | None, Setting("folder or hub name of a text-classification model", default="none")
    ] = None
    """None: conversation labels are not graded."""
    device: Annotated[str, Setting("device that models run on, such as cpu, cuda or cuda:1")] = (
        "cpu"
    )
    good_label: Annotated[
        str | None,
        Setting(
            "label of conversation.model that means good",
            default="its only label, else LABEL_1, else the last",
        ),
    ] = None
    batch: Annotated[int, Setting("most responses in one batch of a model", least=1)] = 16
    gather_ms: Annotated[
        float,
        Setting("milliseconds that a response waits for others to join its batch", least=0),
    ] = 5.0
    max_tokens: Annotated[
        int, Setting("most tokens that a model reads, from the end of a conversation", least=1)
    ] = 512
    short_words: Annotated[int, Setting("words below which a response is short", least=0)] = 5
    short_penalty: Annotated[float, Setting(f"{_TAKEN_OFF} is short", least=0, most=1)] = 0.5
    repetition_penalty: Annotated[
        float,
        Setting(f"{_TAKEN_OFF} only repeats itself; less if it repeats less", least=0, most=1),
    ] = 0.0
    refusal_penalty: Annotated[float, Setting(f"{_TAKEN_OFF} refuses", least=0, most=1)] = 0.0
    relevance_weight: Annotated[
        float, Setting("share of the score that is the response's relevance", least=0, most=1)
    ] = 0.0
    harm_model: Annotated[
        str | None,
        Setting("folder or hub name of a model that detects harmful responses", default="none"),
    ] = None
    harm_label: Annotated[
        str | None,
        Setting(
            "label of conversation.harm_model that means harmful",
            default="its only label, or the second of two",
        ),
    ] = None
    harm_penalty: Annotated[
        float,
        Setting(
            f"{_TAKEN_OFF} is certainly harmful; less if the model is less certain",
            least=0,
            most=1,
        ),
    ] = 1.0
    coherence_model: Annotated[
        str | None,
        Setting("folder or hub name of a model that detects coherent responses", default="none"),
    ] = None
    coherence_label: Annotated[
        str | None,
        Setting(
            "label of conversation.coherence_model that means coherent",
            default="its only label, or the second of two",
        ),
    ] = None
    coherence_weight: Annotated[
        float,
        Setting(
            "share of the score that is the response's coherence, if coherence_model is set",
            least=0,
            most=1,
        ),
    ] = 0.5

    def __post_init__(self) -> None:
        check_ranges(self, "conversation")
        shares = self.relevance_weight + self.coherence_share
        both = Setting("", least=0, most=1)
        both.check("conversation.relevance_weight + coherence_weight", shares)

    @property
    def coherence_share(self) -> float:
        """The share of the score that is coherence: 0 without `coherence_model`."""
        return self.coherence_weight if self.coherence_model is not None else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What the multi-step agents may do, see and earn."""

    max_steps: Annotated[int, Setting("attempts that a model has in one episode", least=1)] = 3
    reward: Annotated[
        AgentReward, Setting("sparse (at the end only) or shaped (also what each step gained)")
    ] = AgentReward.SPARSE
    template: Annotated[
        ChatTemplate, Setting("how turns begin: auto, llama2, chatml, llama3 or plain")
    ] = ChatTemplate.AUTO
    hide_cases: Annotated[
        bool, Setting("hide input, expected value and output of a failing case from the model")
    ] = False
    step_penalty: Annotated[
        float, Setting("taken off the reward for each attempt after the first", least=0)
    ] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self, "agent")
