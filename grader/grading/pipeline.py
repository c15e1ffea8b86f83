"""Grade one submission: extract, run, judge, score."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import assert_never

from grader import languages
from grader.config.settings import Settings
from grader.extract import Extraction, extract
from grader.judging import evidence
from grader.judging.summary import summarise
from grader.languages import COMPILE_LIMITS
from grader.model import (
    CallTests,
    Conditions,
    ExpressionTests,
    GradeReport,
    InteractiveTests,
    PytestTests,
    ScriptTests,
    StdinTests,
    Submission,
    TestSuite,
)
from grader.model.errors import GraderError, GradingStoppedError, ImageNotFoundError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, Suspicion, Verdict
from grader.process.tracing import span
from grader.running import compared, expressions, foreign_calls, interactive, judged, suite_run
from grader.running.lacking import require_what_tests_need
from grader.running.references import References
from grader.running.task import Graded, Task
from grader.sandbox.contract import Slot
from grader.sandbox.retrying import retrying
from grader.scoring.calibration import Calibration
from grader.scoring.policies import find_policy, score_report
from grader.suites.images import image_named_in

_log = logging.getLogger(__name__)

BorrowSlot = Callable[[str, int], AbstractContextManager[Slot]]
"""Lends a slot of an image variant with at least so many bytes of memory."""


def grade(
    submission: Submission,
    borrow: BorrowSlot,
    references: References,
    settings: Settings,
    calibration: Calibration,
) -> GradeReport:
    """Grade a submission.

    If a sandbox fails, the submission runs again in another, at most `settings.retries` times. If
    that fails, too, or the suite is broken, the report is an internal error. Raises only because of
    a bug of ours.

    Args:
        submission: What to grade.
        borrow: Lends a slot. If its use raises, it must not be lent again.
        references: What is known about references of suites. Learns from this submission.
        settings: Limits, policy and the rest.
        calibration: What reference solutions took.
    """
    suite, settings = submission.suite, settings.under(submission.rules)
    rule, extraction = find_code(submission, settings)
    in_force = calibration.in_force(suite, settings.limits)
    language = languages.find(extraction.language)
    limits = in_force.limits if language is None else language.limits(in_force.limits)
    conditions = Conditions(
        format=suite.format,
        image=languages.image_of(suite, extraction.language),
        language=extraction.language,
        extraction=rule,
        extraction_note=extraction.note,
        limits=limits,
        limits_from=in_force.limits_from,
        stop_early=_stops_early(settings),
    )
    try:
        if extraction.code is None:
            return _no_code(suite, conditions, settings)
        task = Task(
            suite=suite,
            code=extraction.code,
            limits=conditions.limits,
            stop_early=conditions.stop_early,
            require=settings.require_integrity,
            language=language,
        )
        wanted = conditions.image
        if language is None:
            wanted = languages.joined(wanted, image_named_in(extraction.code))
        lending = _Lending(borrow, conditions.image, wanted=wanted)
        graded, slot_name = _run_with_retries(task, lending, references, settings)
        conditions = replace(conditions, image=lending.image)
        return _report(task, graded, slot_name, conditions, settings)
    except GraderError as error:
        return failed(submission, error, settings, code=extraction.code, conditions=conditions)


def _no_code(suite: TestSuite, conditions: Conditions, settings: Settings) -> GradeReport:
    return score_report(
        verdict=Verdict.NO_CODE,
        cases=(),
        policy=settings.policy,
        total=_count_cases(suite),
        feedback=conditions.extraction_note,
        conditions=conditions,
    )


def _report(
    task: Task, graded: Graded, slot_name: str, conditions: Conditions, settings: Settings
) -> GradeReport:
    judgement = summarise(graded.cases, graded.outcomes)
    signs = graded.signs
    if graded.tampered:
        signs |= {Suspicion.TWIN}
        words = "a test passed though it expected something wrong"
        judgement = replace(
            judgement,
            verdict=Verdict.TAMPERED,
            feedback=f"the code interferes with its tests: {words}",
        )
    return score_report(
        verdict=judgement.verdict,
        cases=evidence.fit(graded.cases),
        policy=settings.policy,
        usage=judgement.usage,
        limit_hit=judgement.limit_hit,
        integrity=graded.integrity,
        suspicion=tuple(sign for sign in Suspicion if sign in signs),
        feedback=judgement.feedback,
        code=task.code,
        sandbox=slot_name.rpartition("-")[0],
        conditions=conditions,
        output=None
        if graded.integrity is Integrity.ISOLATED
        else evidence.of_output(graded.outcomes[0]),
    )


def find_code(submission: Submission, settings: Settings) -> tuple[ExtractionRule, Extraction]:
    """Return the extraction rule of a submission, and what it found.

    Args:
        submission: The submission.
        settings: The settings under its own rules.
    """
    suite = submission.suite
    rule = suite.extraction
    if settings.extraction is not None and not rule.is_task:
        rule = settings.extraction
    extraction = extract(
        submission.completion,
        prompt=submission.prompt,
        rule=rule,
        entry_point=suite.entry_point,
        continues=suite.prompt if suite.continues_prompt else None,
        is_program=isinstance(suite.tests, StdinTests | InteractiveTests),
        language=suite.language,
    )
    return rule, extraction


def failed(
    submission: Submission,
    error: GraderError,
    settings: Settings,
    *,
    code: str | None = None,
    conditions: Conditions | None = None,
) -> GradeReport:
    """Log why a submission was not graded, and return the report that says so."""
    # A grading that was stopped is not an error, and no caller waits for it.
    level = logging.INFO if isinstance(error, GradingStoppedError) else logging.ERROR
    _log.log(level, "submission %s was not graded: %s", submission.id, error)
    reason = f"{type(error).__name__}: {error}"
    return not_graded(reason, settings, code=code, conditions=conditions)


def not_graded(
    reason: str,
    settings: Settings,
    *,
    code: str | None = None,
    conditions: Conditions | None = None,
) -> GradeReport:
    """Return the report of a submission that we failed to grade."""
    return score_report(
        verdict=Verdict.INTERNAL_ERROR,
        cases=(),
        policy=settings.policy,
        total=0,
        feedback=reason,
        code=code,
        conditions=conditions,
    )


def _stops_early(settings: Settings) -> bool:
    if settings.stop_early is not None:
        return settings.stop_early
    return not find_policy(settings.policy).needs_every_case


def _count_cases(suite: TestSuite) -> int:
    tests = suite.tests
    return (
        len(suite_run.find_tests(tests).required)
        if isinstance(tests, PytestTests)
        else len(tests.cases)
    )


class _Lending:
    """Lends slots for a submission. Its code may need another image than its suite."""

    def __init__(self, borrow: BorrowSlot, image: str, *, wanted: str) -> None:
        self._borrow = borrow
        self._image = image
        self.image = wanted
        """The variant that was lent last."""

    @contextmanager
    def lend(self, memory_bytes: int) -> Iterator[Slot]:
        """Lend a slot; raises what `BorrowSlot` does."""
        with ExitStack() as held:
            try:
                slot = held.enter_context(self._borrow(self.image, memory_bytes))
            except ImageNotFoundError:
                if self.image == self._image:
                    raise
                self.image = self._image  # the code mentions the image, but may not need it
                slot = held.enter_context(self._borrow(self.image, memory_bytes))
            yield slot


def _run_with_retries(
    task: Task, lending: _Lending, references: References, settings: Settings
) -> tuple[Graded, str]:
    """Run a task; return its results and the name of the slot."""

    def run() -> tuple[Graded, str]:
        with lending.lend(_memory_bytes(task)) as slot, span("sandbox", slot=slot.name):
            return _run(task, slot, references), slot.name

    return retrying(run, retries=settings.retries)


def _memory_bytes(task: Task) -> int:
    """Return the memory that a task's processes may use together."""
    talks = isinstance(task.suite.tests, InteractiveTests)
    running = task.limits.memory_bytes + (interactive.LIMITS.memory_bytes if talks else 0)
    compiles = task.language is not None or languages.of_decider(task.suite) is not None
    return max(running, COMPILE_LIMITS.memory_bytes) if compiles else running


def _run(task: Task, slot: Slot, references: References) -> Graded:
    tests = task.suite.tests
    match tests:
        case StdinTests():
            return compared.run_stdin(task, tests, slot, references)
        case InteractiveTests():
            return interactive.run_interactive(task, tests, slot, references)
        case CallTests() if task.language is not None:
            return foreign_calls.run_foreign_calls(task, tests, slot)
        case CallTests():
            return compared.run_calls(task, tests, slot, references)
        case ExpressionTests():
            return expressions.run_expressions(task, tests, slot, references)
        case ScriptTests() | PytestTests():
            graded = judged.run_judged(task, slot, references)
            require_what_tests_need(task, graded, slot, references)
            return graded
        case _ as unknown:
            assert_never(unknown)
