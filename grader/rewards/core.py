"""The reward core: rates the samples of every adapter, and never raises for one."""

import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from grader.config.rewards import RewardTask, ScoreMode
from grader.config.settings import Settings
from grader.extract.chat import opens_thinking
from grader.model.errors import ConfigurationError, GraderError
from grader.model.verdict import Verdict, worst
from grader.offline.recording import SampleRecorder
from grader.process.exits import close_at_exit, forget_at_exit
from grader.process.threads import ForkLock
from grader.rewards.calls import current_call, serving
from grader.rewards.code import CodeRater, OpenGrader, open_any_grader
from grader.rewards.conversation import ConversationRater
from grader.rewards.maths.rater import MathRater
from grader.rewards.normalise import RunningNormaliser
from grader.rewards.reports import recorded
from grader.rewards.response import raw_response
from grader.rewards.sample import Rater, Rating, Sample, ungraded
from grader.rewards.terms import format_term, length_term
from grader.suites.plans import GradingPlan, Part, plan_for

_log = logging.getLogger(__name__)


class RewardCore:
    """Rates samples of any kind. Safe for many threads. Starts graders when they are needed."""

    def __init__(self, settings: Settings, *, open_grader: OpenGrader = open_any_grader) -> None:
        """Start nothing yet.

        Args:
            settings: All settings.
            open_grader: Opens the grader for code.

        Raises:
            ConfigurationError: Samples cannot be recorded in the folder that the settings name.
        """
        self.settings = settings
        self.code = CodeRater(settings, open_grader=open_grader)
        self.maths = MathRater(settings)
        self.conversation = ConversationRater(settings)
        self._raters: dict[RewardTask, Rater] = {
            RewardTask.CODE: self.code,
            RewardTask.MATH: self.maths,
            RewardTask.CONVERSATION: self.conversation,
        }
        self.recorder: SampleRecorder | None = None
        """Records every rated sample; None: the settings name no folder for it."""
        if settings.record is not None:
            self.recorder = SampleRecorder(settings.record, settings.record_bytes)
        window = settings.reward.normalise
        self._normaliser = RunningNormaliser(window) if window else None
        self._closing: list[Callable[[], None]] = []
        self._closed = False

    def rate(
        self,
        samples: list[Sample],
        *,
        task: RewardTask | None = None,
        deadline_s: float | None = None,
    ) -> list[Rating]:
        """Return a rating for each sample, in order.

        Args:
            samples: Any number. They are graded together.
            task: The task of samples whose label names none; None: the one in the settings.
            deadline_s: Seconds after which grading is given up; None: as in the settings.
        """
        if self._closed:
            return [
                ungraded("the reward function is closed", self.settings.reward) for _ in samples
            ]
        deadline = time.monotonic() + (deadline_s or self.settings.reward.deadline_s)
        try:
            plans = [self._plan(sample, task or self.settings.task) for sample in samples]
            with serving():
                ratings = self._rate(samples, plans, deadline)
                # Before they are normalised, which hides how rewards move.
                self.record(samples, ratings, plans)
            return self._normalised(ratings)
        except Exception as error:  # noqa: BLE001 - logged; fails only this call
            # A bug of the grader must not stop the training.
            _log.exception(
                "rating %d samples failed because of a bug in the reward function", len(samples)
            )
            return [
                ungraded(f"{type(error).__name__}: {error}", self.settings.reward) for _ in samples
            ]

    def record(
        self,
        samples: Sequence[Sample],
        ratings: Sequence[Rating],
        plans: Sequence[GradingPlan | Rating],
    ) -> None:
        """Record rated samples, if the settings name a folder for that.

        Args:
            samples: The samples.
            ratings: Of the samples.
            plans: How each was graded; not a plan if its label cannot be read.
        """
        if self.recorder is None or current_call().is_cancelled:
            return
        self.recorder.write(
            recorded(sample, rating, plan if isinstance(plan, GradingPlan) else None, self.settings)
            for sample, rating, plan in zip(samples, ratings, plans, strict=True)
        )

    def check(self, task: RewardTask | None = None) -> None:
        """Check that samples can be graded under these settings.

        Raises:
            GraderError: They cannot; the message has the reason.
        """
        match task or self.settings.task:
            case RewardTask.MATH:
                self.maths.check()
            case RewardTask.CONVERSATION:
                self.conversation.check()
            case _:
                self.code.check()

    def on_close(self, close: Callable[[], None]) -> None:
        """Have `close` called once, when this core is closed."""
        self._closing.append(close)

    def close(self) -> None:
        """Give up all open samples as not graded, and free everything. Repeats harmlessly."""
        self._closed = True
        while self._closing:
            self._closing.pop()()
        self.code.close()
        self.maths.close()
        self.conversation.close()
        if self.recorder is not None:
            self.recorder.close()
        forget_at_exit(self)

    def _plan(self, sample: Sample, task: RewardTask) -> GradingPlan | Rating:
        try:
            return plan_for(sample.label, task)
        except GraderError as error:
            return ungraded(f"{type(error).__name__}: {error}", self.settings.reward)

    def _rate(
        self, samples: list[Sample], plans: list[GradingPlan | Rating], deadline: float
    ) -> list[Rating]:
        wanted: dict[RewardTask, list[tuple[int, int, Part]]] = defaultdict(list)
        for index, plan in enumerate(plans):
            if isinstance(plan, GradingPlan):
                for number, part in enumerate(plan.parts):
                    wanted[part.task].append((index, number, part))
        found: dict[tuple[int, int], Rating] = {}
        for task, entries in wanted.items():
            ratings = self._raters[task].rate(
                [samples[index] for index, _, _ in entries],
                [part.label for _, _, part in entries],
                deadline,
            )
            for (index, number, _), rating in zip(entries, ratings, strict=True):
                found[index, number] = rating
        return [
            plan
            if isinstance(plan, Rating)
            else self._combined(
                samples[index], plan, [found[index, number] for number in range(len(plan.parts))]
            )
            for index, plan in enumerate(plans)
        ]

    def _combined(self, sample: Sample, plan: GradingPlan, ratings: list[Rating]) -> Rating:
        """Add up the parts of a sample's reward. The score depends only on right and wrong."""
        lost = next((rating for rating in ratings if not rating.graded), None)
        if lost is not None:
            return lost
        weights = [part.weight for part in plan.parts]
        logs: dict[str, float] = {}
        for rating in reversed(ratings):  # If several parts log the same key, the first counts.
            logs.update(rating.logs)
        term_weights = {} if self.settings.reward.unit else self._term_weights(plan)
        # If weights add up to more than 1, they are scaled down, so that the sum of rewards in
        # [-1, 1] stays in that range.
        total = max(1.0, sum(map(abs, (*weights, *term_weights.values()))))
        terms = {
            name: weight / total * value
            for name, weight, value in self._terms(sample, term_weights)
        }
        reward = sum(w / total * r.reward for w, r in zip(weights, ratings, strict=True))
        reward += sum(terms.values())
        return replace(
            ratings[0],
            reward=reward,
            score=self._score(weights, ratings),
            verdict=_verdict(ratings),
            logs={**logs, **terms, "raw_reward": reward},
            note="; ".join(rating.note for rating in ratings),
            report=next((rating.report for rating in ratings if rating.report), None),
        )

    def _score(self, weights: list[float], ratings: list[Rating]) -> float:
        scores = [(w, r.score) for w, r in zip(weights, ratings, strict=True) if w > 0]
        if not scores:
            return ratings[0].score
        if len(scores) > 1 and self.settings.reward.score is ScoreMode.BINARY:
            return float(all(score == 1 for _, score in scores))
        total = sum(weight for weight, _ in scores)
        return min(1.0, sum(weight * score for weight, score in scores) / total)

    def _term_weights(self, plan: GradingPlan) -> dict[str, float]:
        settings = self.settings.reward
        length = settings.length_weight if plan.length_weight is None else plan.length_weight
        form = settings.format_weight if plan.format_weight is None else plan.format_weight
        return {"length_term": length, "format_term": form}

    def _terms(
        self, sample: Sample, weights: dict[str, float]
    ) -> Iterator[tuple[str, float, float]]:
        """Yield the name, weight and value of each term with a weight."""
        settings = self.settings.reward
        if not any(weights.values()):
            return
        response = raw_response(sample.query, sample.prompt)
        if length := weights["length_term"]:
            yield "length_term", length, length_term(response, settings.length_chars)
        if form := weights["format_term"]:
            opened = opens_thinking(sample.prompt)
            yield "format_term", form, format_term(response, settings.format, opened=opened)

    def _normalised(self, ratings: list[Rating]) -> list[Rating]:
        if self._normaliser is None:
            return ratings
        graded = [rating.reward for rating in ratings if rating.graded]
        values = iter(self._normaliser.normalise(graded))
        return [
            replace(rating, reward=next(values)) if rating.graded else rating for rating in ratings
        ]


def _verdict(ratings: list[Rating]) -> Verdict | None:
    """Return the verdict of a combination: the worst of its parts."""
    found = [rating.verdict for rating in ratings if rating.verdict is not None]
    return worst(found) if found else None


# ---------------------------------------------------------------- the shared core

_lock = ForkLock()
_shared: dict[int, RewardCore] = {}


def shared_core() -> RewardCore:
    """Return this process's core, with the settings of the environment. The first call makes it.

    Raises:
        ConfigurationError: A setting in the environment is wrong.
    """
    pid = os.getpid()
    core = _shared.get(pid)
    if core is None:
        from grader.config.loading import load_settings

        with _lock.held():
            core = _shared.get(pid)
            if core is None:
                core = _shared[pid] = RewardCore(load_settings().settings)
                close_at_exit(core)
    return core


def checked_core(task: RewardTask | None = None) -> RewardCore:
    """Return this process's core after checking that it can grade.

    Raises:
        ConfigurationError: It cannot. The message is one line, with the reason.
    """
    core = shared_core()
    if not core.settings.reward.check:
        return core
    try:
        core.check(task)
    except GraderError as error:
        reason = " ".join(str(error).split())
        message = (
            f"nothing could be graded here: {reason}"
            " (`grader doctor` tells more; GRADER_REWARD_CHECK=0 skips this check)"
        )
        raise ConfigurationError(message) from error
    return core


def forget_shared_core() -> None:
    """Close this process's core. The next one reads the settings again."""
    with _lock.held():
        core = _shared.pop(os.getpid(), None)
    if core is not None:
        core.close()
