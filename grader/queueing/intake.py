"""Turning submissions into jobs, before anything is sent."""

import logging
from collections.abc import Mapping

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.pipeline import not_graded
from grader.model import GradeReport, Submission
from grader.model.errors import ConfigurationError, GraderError
from grader.queueing.jobs import JobMaker, SubmissionJob
from grader.sandbox.contract import Slot

_log = logging.getLogger(__name__)


class Intake:
    """Makes jobs, or reports if there is nothing to send. Safe for many threads."""

    def __init__(self, settings: Settings) -> None:
        """Check the settings.

        Raises:
            ConfigurationError: There is no policy or extraction rule of the given name.
        """
        self._settings = settings
        self._maker = JobMaker(settings)
        self._without_sandbox = GradingEngine(settings, sandbox=_AbsentSandbox())
        """Reports on submissions without code, which need no run."""

    def take(self, submission: Submission) -> SubmissionJob | GradeReport:
        """Return a submission's job; its report if it has no code or its suite is invalid."""
        try:
            job = self._maker.make(submission)
        except Exception as error:  # noqa: BLE001 - a bug of ours is logged below
            # One submission must not fail the others that are submitted with it.
            if not isinstance(error, GraderError):
                _log.exception(
                    "grading submission %s failed because of a bug in the client", submission.id
                )
            return not_graded(f"{type(error).__name__}: {error}", self._settings)
        return self._without_sandbox.grade(submission) if job is None else job


class _AbsentSandbox:
    """The sandbox of a grader that runs nothing: it only reports on completions without code."""

    name = "none"

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Refuse."""
        message = f"a grader that runs nothing was asked for a slot ({image}, {memory_bytes} bytes)"
        raise ConfigurationError(message)

    def layers(self) -> Mapping[str, str]:
        """Return that there are none."""
        return {}

    def environment(self, image: str) -> str:
        """Return the variant; see `Sandbox.environment`."""
        return image

    def close(self) -> None:
        """Do nothing."""
