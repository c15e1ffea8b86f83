"""Running one job of the ledger. Every job gets an answer, even if it cannot be decoded."""

import builtins
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.pipeline import not_graded
from grader.grading.stopping import StopHandle
from grader.model import GradeReport, Submission, TestSuite, errors, wire
from grader.model.errors import GraderError, SandboxError, WireError
from grader.process.logs import error_kind, short_id
from grader.queueing.jobs import JobOrigin, apply, decode_suite
from grader.queueing.ledger_values import Taken
from grader.queueing.programs import ProgramResult, decode_program, encode_result, is_program
from grader.suites.cache import ENCODED_BYTES, SuiteCache
from worker.cacheable import is_cacheable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The answer to a job, as it is handed in."""

    body: bytes
    verdict: str
    """For the log; "" if a program ran."""
    error: str
    """Shown to operators; "" if there was none."""
    keep: bool
    """Whether the answer may be cached."""


class JobRunner:
    """Grades submissions and runs programs. Safe for many threads."""

    def __init__(self, settings: Settings, engine: GradingEngine) -> None:
        """Run nothing yet.

        Args:
            settings: The worker's settings; a job may override some of them.
            engine: Has the slots. The caller closes it.
        """
        self._settings = settings
        self._engine = engine
        self._suites: SuiteCache[TestSuite] = SuiteCache(ENCODED_BYTES)

    def known_suite(self, job: Taken) -> TestSuite | None:
        """Return the job's suite if it is remembered; None if `run` has to decode its message."""
        return self._suites.get(job.suite)

    def run(self, job: Taken, handle: StopHandle, suite: TestSuite | bytes) -> Finished:
        """Grade the submission or run the program; never raises, because a client waits.

        Args:
            job: The job.
            handle: The handle by which it can be stopped.
            suite: The answer of `known_suite`; the suite's message if there was none.
        """
        try:
            settings = _settings_of(job)
            code = job.code.decode()
            if is_program(settings):
                return self._run_program(code, handle)
            if isinstance(suite, bytes):
                suite = self._decode_suite(job, suite)
            return self._grade(job, suite, code, settings, handle)
        except (GraderError, LookupError, ValueError, TypeError) as error:
            reason = f"the job cannot be decoded: {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - logged
            _log.exception("a job failed because of a bug in the worker")
            reason = f"{type(error).__name__}: {error}"
        report = not_graded(reason, self._settings)
        return _finished(report, error=reason, keep=False)

    def _run_program(self, code: str, handle: StopHandle) -> Finished:
        try:
            order = decode_program(code)
            outcome = self._engine.run_program(
                order.batch,
                handle,
                image=order.image,
                answer_by=lambda: time.monotonic() + order.clock_s,
            )
            result = ProgramResult(outcome=outcome)
        except GraderError as error:
            result = ProgramResult(outcome=None, reason=f"{type(error).__name__}: {error}")
        return Finished(body=encode_result(result), verdict="", error=result.reason, keep=False)

    def _decode_suite(self, job: Taken, message: bytes) -> TestSuite:
        suite = decode_suite(message)
        self._suites.keep(job.suite, suite, len(message))
        return suite

    def _grade(
        self, job: Taken, suite: TestSuite, code: str, given: Mapping[str, Any], handle: StopHandle
    ) -> Finished:
        settings = apply(given, self._settings)
        submission = Submission(id=job.key, completion=code, suite=suite)
        report = self._engine.grade(submission, handle=handle, settings=settings)
        return _finished(
            report,
            error="" if report.graded else report.feedback,
            keep=is_cacheable(report, settings.limits.override(suite.limits)),
        )


def is_of_sandbox(error: str) -> bool:
    """Return whether an internal error says that this machine failed, and not what it was given.

    Args:
        error: As `Finished.error`.
    """
    kind = error_kind(error)
    found = getattr(errors, kind, None) or getattr(builtins, kind, None)
    return isinstance(found, type) and issubclass(found, SandboxError | OSError | MemoryError)


def runs_program(job: Taken) -> bool:
    """Return whether a job is a program; False if it cannot be decoded."""
    try:
        return is_program(_settings_of(job))
    except (WireError, ValueError):
        return False


def origin_of(job: Taken) -> JobOrigin:
    """Return the ids by which the client's log names a job; empty if it cannot be decoded."""
    try:
        origin = JobOrigin.of(_settings_of(job))
    except (WireError, ValueError):
        return JobOrigin()
    return JobOrigin(**{name: short_id(text) for name, text in asdict(origin).items()})


def _finished(report: GradeReport, *, error: str, keep: bool) -> Finished:
    body = wire.encode_report(report)
    return Finished(body=body, verdict=report.verdict.value, error=error, keep=keep)


def _settings_of(job: Taken) -> Mapping[str, Any]:
    settings = json.loads(job.settings)
    if not isinstance(settings, dict):
        message = f"its settings are a {type(settings).__name__}; expected an object"
        raise WireError(message)
    return settings
