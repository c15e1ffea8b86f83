"""Open the grader that the settings mean: over a queue, at a service, or in this process.

with open_grader(settings) as grader:
    report = grader.grade(submission, timeout_s=30)
"""

from grader.config.settings import Settings
from grader.grading.futures import FutureGrader
from grader.grading.grader import Grader
from grader.queueing.grader import QueueGrader
from grader.queueing.sessions import QueueSlots
from grader.remote.grader import RemoteGrader
from grader.sessions.local import Sessions


def open_grader(settings: Settings | None = None) -> FutureGrader:
    """Return a grader over the queue, at a service, or of this process.

    As the settings say: the queue of their broker, else the `grader serve` at their address.

    Raises:
        ConfigurationError: The settings name something that does not exist or is not installed.
        SandboxError: Without broker and address: the chosen sandbox cannot work here.
    """
    settings = settings or Settings()
    if settings.broker is not None:
        return QueueGrader(settings)
    return Grader(settings) if settings.url is None else RemoteGrader(settings)


def open_sessions(settings: Settings | None = None) -> Sessions:
    """Return sessions on the workers of the settings' broker, or in this process if there is none.

    Raises:
        ConfigurationError: The broker cannot be used.
    """
    settings = settings or Settings()
    if settings.broker is None:
        return Sessions(settings)
    return Sessions(settings, slots=QueueSlots(settings))
