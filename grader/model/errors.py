"""The errors of the grader, and which of them a caller may retry.

GraderError
├── ConfigurationError          a setting or an argument is wrong
├── InputError                  a file or a row cannot be read
│   ├── MissingFieldError       a row has no field with its completion, or with its tests
│   └── LabelError              a label has no known test format
├── SuiteError                  the suite is broken
├── ReaderLostError             the process that read a label died (retryable)
├── SandboxError
│   ├── SandboxUnavailableError the engine or the jail did not start the program (retryable)
│   └── ImageNotFoundError      the sandbox image is missing or outdated
├── SessionLostError            a session has ended
├── SessionsFullError           the limit of open sessions is reached (retryable)
├── WireError                   a message cannot be decoded
├── QueueUnavailableError       the broker cannot be reached, or refuses (retryable)
├── ServiceUnavailableError     a `grader serve` does not answer, or refuses (retryable)
└── GradingStoppedError         a grading was stopped from outside

A submission can cause none of these. What it causes is a `Verdict` with feedback.
"""

from typing import ClassVar


class GraderError(Exception):
    """Base of every error that this package raises on purpose."""

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed if it is repeated."""


class ConfigurationError(GraderError):
    """A setting or an argument is wrong; the message says what was found and expected."""


class InputError(GraderError):
    """A file, or a row of it, cannot be used."""


class MissingFieldError(InputError):
    """A row has no field with its completion, or none with its tests or answer."""


class LabelError(InputError):
    """A label has no known test format, or fits more than one."""


class SuiteError(GraderError):
    """The suite is broken: it has no case, does not parse, or its checker crashed."""


class ReaderLostError(GraderError):
    """The process that read a label was killed or cannot start; the label is not the cause."""

    retryable: ClassVar[bool] = True


class SandboxError(GraderError):
    """The sandbox failed; the submission is not the cause."""


class SandboxUnavailableError(SandboxError):
    """The container engine or the jail did not start the program, or lost it."""

    retryable: ClassVar[bool] = True


class ImageNotFoundError(SandboxError):
    """The sandbox image is missing or was built from another version of the harness."""


class SessionLostError(GraderError):
    """A session has ended: it was closed, expired, or its processes were killed.

    A cell can cause this, so it does not count as a failure of the sandbox.
    """


class SessionsFullError(GraderError):
    """The limit of open sessions is reached."""

    retryable: ClassVar[bool] = True


class WireError(GraderError):
    """A message cannot be decoded to what its receiver expects."""


class QueueUnavailableError(GraderError):
    """The broker of the queue cannot be reached, or refuses a command."""

    retryable: ClassVar[bool] = True


class ServiceUnavailableError(GraderError):
    """A running `grader serve` does not answer, or refuses requests."""

    retryable: ClassVar[bool] = True


class GradingStoppedError(GraderError):
    """A grading was stopped: cancelled, past its deadline, or given to another worker."""
