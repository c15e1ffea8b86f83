"""What happens to a submission before anything of it is sent anywhere."""

import logging

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.pipeline import not_graded
from grader.model import GradeReport, Submission
from grader.model.errors import GraderError
from grader.queueing.jobs import JobMaker, SubmissionJob
from grader.sandbox.absent import AbsentSandbox

_log = logging.getLogger(__name__)


class Intake:
    """Makes jobs of submissions, or reports where there is nothing to send. Safe for threads."""

    def __init__(self, settings: Settings) -> None:
        """Check the settings.

        Raises:
            ConfigurationError: They name a policy or an extraction rule that does not exist.
        """
        self._settings = settings
        self._maker = JobMaker(settings)
        self._without_sandbox = GradingEngine(settings, sandbox=AbsentSandbox())
        """Reports on what holds no code, for which nothing has to run."""

    def take(self, submission: Submission) -> SubmissionJob | GradeReport:
        """Return a submission's job; its report where it has no code or its tests are broken."""
        try:
            job = self._maker.make(submission)
        except Exception as error:  # noqa: BLE001 - it may be a fault of ours: logged below
            # Whatever a submission does to us must cost its own report only.
            if not isinstance(error, GraderError):
                _log.exception("submission %s met a fault in the client", submission.id)
            return not_graded(f"{type(error).__name__}: {error}", self._settings)
        return self._without_sandbox.grade(submission) if job is None else job
