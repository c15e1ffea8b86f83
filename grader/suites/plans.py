"""Which raters grade a sample, by its label: code, math, conversation, or several of them.

Pure. Each rater reads its own part of the label.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.config.rewards import RewardTask
from grader.model.errors import LabelError
from grader.suites.fields import wrong
from grader.suites.plain import plain

_MAX_PARTS = 16
_MAX_WEIGHT = 1e6
_NAMES_A_RATER = re.compile(r'\{\s*"(?:math|conversation|code)"\s*:')

_MAX_ANSWER_CHARS = 500
_COMMAND = re.compile(r"\\(?:text|mathrm|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{3}")
_QUANTITY = re.compile(r"[-+$]*[0-9][0-9.,]*\s*(?:%|\\%|[^\W\d_]{1,2})?|[A-Z]")
_FORMULA = re.compile(r"[0-9\\].*[=+*/^()<>\\_]|[=+*/^()<>\\_].*[0-9\\]|\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One rater's share of a sample's reward."""

    task: RewardTask
    """Never `AUTO`."""
    label: object
    """The label for this rater."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingPlan:
    """How a sample is graded."""

    parts: tuple[Part, ...]
    """At least one."""
    length_weight: float | None = None
    """None: as the settings say."""
    format_weight: float | None = None
    """None: as the settings say."""

    @property
    def name(self) -> str:
        """The only rater's name; `combine` if there are several, or further terms."""
        is_shaped = self.length_weight is not None or self.format_weight is not None
        return self.parts[0].task.value if len(self.parts) == 1 and not is_shaped else "combine"

    @property
    def is_tests(self) -> bool:
        """Whether only the tests in the label of the only part decide."""
        return self.name == RewardTask.CODE and self.parts[0].weight == 1


def plan_for(label: object, task: RewardTask) -> GradingPlan:
    """Return how a sample with this label is graded.

    Args:
        label: As the dataset has it: text or decoded JSON; NumPy's arrays in it become lists.
        task: The setting. A label that names raters itself is graded by these. Otherwise the
            whole label is for the rater that `task` names. With `AUTO`, the math rater gets a
            label that can only be a final answer, and the code rater any other.

    Raises:
        LabelError: The label names raters, but is not valid.
    """
    if isinstance(label, str):
        return _plan_for_text(label, task)
    label = plain(label)
    return _plan(label, label, task)


def _plan_for_text(label: str, task: RewardTask) -> GradingPlan:
    text = label.strip()
    # A label may have megabytes of tests, which should not be decoded twice.
    if not (text.startswith("{") and (_NAMES_A_RATER.match(text) or '"combine"' in text)):
        return _plan(label, label, task)
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        # The rater that reads the label says what is wrong with it.
        return _plan(label, label, task)
    return _plan(decoded, label, task)


def _plan(decoded: object, label: object, task: RewardTask) -> GradingPlan:
    if isinstance(decoded, Mapping):
        if "combine" in decoded:
            return _combination(decoded)
        if len(decoded) == 1 and (part := _named(decoded)) is not None:
            return GradingPlan(parts=(part,))
    if task is not RewardTask.AUTO:
        return GradingPlan(parts=(Part(task=task, label=label),))
    answer = _answer(decoded)
    if answer is not None:
        return GradingPlan(parts=(Part(task=RewardTask.MATH, label=answer),))
    return GradingPlan(parts=(Part(task=RewardTask.CODE, label=label),))


def _answer(label: object) -> str | int | float | None:
    """Return a label, or the label in a trainer's row, if it is a final answer; else None.

    A final answer is a number, or one line of text with no words except units and LaTeX commands.
    """
    if isinstance(label, Mapping):
        row = next((label[c] for c in ("reward_model", "reward_spec") if label.get(c)), label)
        inner = row.get("ground_truth") if isinstance(row, Mapping) else None
        return _answer(inner) if isinstance(inner, str | int | float) else None
    if isinstance(label, list):
        return _answer(label[0]) if len(label) == 1 and isinstance(label[0], str) else None
    if isinstance(label, int | float) and not isinstance(label, bool):
        return label
    if not isinstance(label, str):
        return None
    text = label.strip()
    if len(text) > _MAX_ANSWER_CHARS or "\n" in text:
        return None
    if text.startswith(('["', '"')):
        return _answer(_decoded(text))
    if _WORD.search(_COMMAND.sub("", text)):
        return None
    return label if _QUANTITY.fullmatch(text) or _FORMULA.search(text) else None


def _decoded(text: str) -> object:
    try:
        decoded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return decoded


def _named(row: Mapping[str, object], weight: float = 1.0) -> Part | None:
    for task in (RewardTask.MATH, RewardTask.CONVERSATION, RewardTask.CODE):
        if task in row:
            return Part(task=task, label=row[task], weight=weight)
    return None


def _combination(row: Mapping[str, object]) -> GradingPlan:
    """Read `{"combine": [{"code": ..., "weight": 0.8}, {"length": true, "weight": 0.1}]}`."""
    entries = row["combine"]
    if not isinstance(entries, list) or not 0 < len(entries) <= _MAX_PARTS:
        message = f"combine must be a list of 1 to {_MAX_PARTS} objects"
        raise LabelError(message)
    parts: list[Part] = []
    terms: dict[str, float] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            message = f"combine holds {type(entry).__name__}; expected objects"
            raise LabelError(message)
        weight = _weight(entry)
        part = _named(entry, weight)
        if part is not None:
            parts.append(part)
        elif term := next((name for name in ("length", "format") if entry.get(name)), None):
            terms[f"{term}_weight"] = weight
        else:
            message = "a part of combine must name code, math, conversation, length or format"
            raise LabelError(message)
    if not any(part.weight for part in parts):
        message = "combine gives no weight to any of code, math and conversation"
        raise LabelError(message)
    return GradingPlan(parts=tuple(parts), **terms)


def _weight(entry: Mapping[str, object]) -> float:
    weight = entry.get("weight", 1.0)
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not abs(weight) <= _MAX_WEIGHT:  # type: ignore[arg-type]
        raise wrong(weight, "a weight", f"a number up to {_MAX_WEIGHT:g}")
    return float(weight)  # type: ignore[arg-type]
