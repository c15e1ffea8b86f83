"""Rates answers of math problems: by default 1 if right, 0 if wrong, -0.5 if missing."""

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, GraderError
from grader.model.verdict import Verdict
from grader.rewards.calls import current_call
from grader.rewards.maths.answers import MAX_ANSWER_CHARS, find_answer, gold_answer
from grader.rewards.maths.compare import is_right
from grader.rewards.maths.symbolic import Algebra, Comparisons
from grader.rewards.response import response_of
from grader.rewards.sample import Rating, Sample, ungraded

_log = logging.getLogger(__name__)

_LABELS_REMEMBERED = 1000
_EASY_ANSWERS = ("3", "y + 1")
"""Compared with a label to find out whether the label itself is too hard."""


class MathRater:
    """See `Rater`. Starts processes when they are needed, and keeps them until `close`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._algebra: Algebra | None = None
        self._endless: dict[str, bool] = {}
        self._closed = False

    def rate(self, samples: list[Sample], labels: list[object], deadline: float) -> list[Rating]:
        """See `Rater.rate`."""
        return [
            self._rate(sample, label, deadline)
            for sample, label in zip(samples, labels, strict=True)
        ]

    def check(self) -> None:
        """Check that expressions can be compared.

        Raises:
            GraderError: They cannot; the message has the reason.
        """
        if self._settings.math.symbolic and not self._open().same("x + 1", "1 + x"):
            message = "SymPy does not find x + 1 and 1 + x equal; reinstall grader-rl[math]"
            raise GraderError(message)

    def close(self) -> None:
        """Kill the processes. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            algebra, self._algebra = self._algebra, None
        if algebra is not None:
            algebra.close()

    def _rate(self, sample: Sample, label: object, deadline: float) -> Rating:
        if current_call().is_cancelled:
            return ungraded("the call was cancelled", self._settings.reward)
        try:
            expected = gold_text(label)
            if not expected:
                reason = f"the label holds no answer, but {label!r:.100}; expected text or a number"
                return ungraded(reason, self._settings.reward)
            if len(expected) > MAX_ANSWER_CHARS:
                reason = (
                    f"the label has {len(expected):,} characters;"
                    f" a final answer has at most {MAX_ANSWER_CHARS:,}"
                )
                return ungraded(reason, self._settings.reward)
            return self._compare(sample, expected, deadline)
        except GraderError as error:
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)
        except Exception as error:  # noqa: BLE001 - logged; fails only this sample
            _log.exception("rating an answer failed because of a bug in the math grader")
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)

    def _compare(self, sample: Sample, expected: str, deadline: float) -> Rating:
        settings = self._settings.math
        words = response_of(sample.query, sample.prompt)
        response = _until(words.text, settings.stops)
        answer = find_answer(response, settings.place, settings.pick)
        if answer.text is None:
            return self._rating(settings.missing, Verdict.NO_CODE, None, answer.note, expected)
        comparisons = _LaterComparisons(self._open, deadline)
        same = comparisons.same if settings.symbolic else None
        if is_right(expected, answer.text, tolerance=settings.tolerance, same=same):
            return self._rating(settings.right, Verdict.PASSED, answer.text, answer.note, expected)
        if comparisons.hit_limit and self._is_endless(expected, deadline):
            return ungraded(
                f"the label takes too long to compare: {expected:.100}", self._settings.reward
            )
        return self._rating(settings.wrong, Verdict.FAILED, answer.text, answer.note, expected)

    def _rating(
        self, reward: float, verdict: Verdict, answer: str | None, note: str, expected: str
    ) -> Rating:
        score = float(verdict is Verdict.PASSED)
        if self._settings.reward.unit:
            reward = score
        return Rating(
            reward=reward,
            score=score,
            graded=True,
            verdict=verdict,
            logs={
                "raw_reward": reward,
                "math_reward": reward,
                "math_answered": float(answer is not None),
                "cases_passed": score,
                "cases_total": 1.0,
                "cases_fraction": score,
            },
            answer=answer,
            note=f"{verdict}: {note}; expected {expected:.100}",
        )

    def _is_endless(self, expected: str, deadline: float) -> bool:
        """Return whether this label is too hard to compare; then no answer may count as wrong."""
        with self._lock:
            if (known := self._endless.get(expected)) is not None:
                return known
        comparisons = _LaterComparisons(self._open, deadline)
        for easy in _EASY_ANSWERS:
            is_right(expected, easy, tolerance=0, same=comparisons.same)
        with self._lock:
            if len(self._endless) >= _LABELS_REMEMBERED:
                self._endless.clear()
            self._endless[expected] = comparisons.hit_limit
        return comparisons.hit_limit

    def _open(self) -> Algebra:
        with self._lock:
            if self._closed:
                message = "the math grader is closed"
                raise ConfigurationError(message)
            if self._algebra is None:
                settings = self._settings.math
                self._algebra = Algebra(
                    processes=settings.processes, cpu_time_s=settings.symbolic_s
                )
            return self._algebra


class _LaterComparisons:
    """The comparisons of one answer. The first one starts a process, since few answers need any."""

    def __init__(self, open_algebra: Callable[[], Algebra], deadline: float) -> None:
        self._open = open_algebra
        self._deadline = deadline
        self._comparisons: Comparisons | None = None

    @property
    def hit_limit(self) -> bool:
        return self._comparisons is not None and self._comparisons.hit_limit

    def same(self, left: str, right: str, tolerance: float) -> bool:
        if self._comparisons is None:
            self._comparisons = self._open().comparisons(self._deadline)
        return self._comparisons.same(left, right, tolerance)


def _until(text: str, stops: tuple[str, ...]) -> str:
    """Return a text up to the first of some other texts in it."""
    ends = [end for stop in stops if (end := text.find(stop)) >= 0]
    return text[: min(ends, default=len(text))]


def gold_text(label: object) -> str:
    """Return the answer in a label; "" if there is none.

    Some data sets put it into a list, or into JSON text of one: `["42"]`.
    """
    if isinstance(label, str) and label.lstrip().startswith('["'):
        with suppress(ValueError):
            label = json.loads(label)
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    if isinstance(label, bool) or not isinstance(label, str | int | float):
        return ""
    answer = gold_answer(str(label))
    # Table readers turn an empty cell into NaN.
    return "" if answer.casefold() == "nan" else answer
