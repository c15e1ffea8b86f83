"""Ratings as reports, for the rows of files."""

import hashlib
import time
from dataclasses import replace

from grader.config.rewards import RewardTask
from grader.config.settings import Settings
from grader.grading.pipeline import not_graded
from grader.model import GradeReport
from grader.model.verdict import Verdict
from grader.offline.recording import RecordedSample
from grader.rewards.response import raw_response
from grader.rewards.sample import Rating, Sample
from grader.suites.plans import GradingPlan

_GOOD = 0.5
"""The lowest score with which a conversation counts as passed."""
_ID_BYTES = 6


def report_for(rating: Rating, plan: GradingPlan | None, settings: Settings) -> GradeReport:
    """Return the report of a rating.

    Args:
        rating: The rating of a sample.
        plan: How the sample was graded; None if its label cannot be read.
        settings: Those of the run.
    """
    if not rating.graded or plan is None:
        return not_graded(rating.note.removeprefix("not graded: "), settings)
    verdict = rating.verdict
    if verdict is None:
        verdict = Verdict.PASSED if rating.score >= _GOOD else Verdict.FAILED
    report = rating.report or GradeReport(
        verdict=verdict,
        score=rating.score,
        reward=rating.reward,
        graded=True,
        passed=int(verdict is Verdict.PASSED),
        total=1,
        code=rating.answer if plan.name == RewardTask.MATH else None,
    )
    if plan.is_tests:
        # Settings may change the reward that the policy gave, such as by a term for length.
        return replace(report, reward=rating.reward)
    return replace(
        report,
        verdict=verdict,
        score=rating.score,
        reward=rating.reward,
        feedback=rating.note,
        policy=plan.name,
    )


def recorded(
    sample: Sample, rating: Rating, plan: GradingPlan | None, settings: Settings
) -> RecordedSample:
    """Return a rated sample as it is recorded; the arguments are those of `report_for`."""
    return RecordedSample(
        id=rating.problem_id or _id_of(sample),
        prompt=sample.prompt,
        completion=raw_response(sample.query, sample.prompt),
        report=report_for(rating, plan, settings),
        at=time.time(),
        queue_s=rating.logs.get("queue_time_s"),
        step=sample.step,
        dataset=sample.dataset,
    )


def _id_of(sample: Sample) -> str:
    """Return an id that samples of the same prompt share, or of the same label without one."""
    text = sample.prompt if sample.prompt.strip() else repr(sample.label)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_ID_BYTES)
    return digest.hexdigest()
