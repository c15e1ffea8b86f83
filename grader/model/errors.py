"""What can go wrong on our side, and what a caller can do about it.

GraderError
├── ConfigurationError          a setting or an argument is wrong
├── InputError                  a file or a row cannot be read
│   └── LabelError              a label is in no known test format
├── SuiteError                  the tests themselves are broken
├── SandboxError
│   ├── SandboxUnavailableError the engine or the jail did not start the program (retryable)
│   └── ImageNotFoundError      the sandbox image is not there
├── SessionLostError            a session is no more
├── SessionsFullError           there are as many sessions as there may be (retryable)
├── WireError                   a message does not decode
├── QueueUnavailableError       the broker cannot be reached, or refuses (retryable)
├── ServiceUnavailableError     a `grader serve` does not answer, or refuses (retryable)
└── GradingStoppedError         nobody waits for this grading any more

What a submission can cause is never one of these: it is a `Verdict` with feedback.
"""

from typing import ClassVar


class GraderError(Exception):
    """Base of every error that this package raises on purpose."""

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed when made again."""


class ConfigurationError(GraderError):
    """A setting or an argument is wrong; the message says what was found and expected."""


class InputError(GraderError):
    """A file or a row of it cannot be used."""


class LabelError(InputError):
    """A label is in no known test format, or in more than one."""


class SuiteError(GraderError):
    """The tests themselves are broken: no case, no parse, a checker that crashed."""


class SandboxError(GraderError):
    """The sandbox failed, through no doing of the submission."""


class SandboxUnavailableError(SandboxError):
    """The engine or the jail did not start the program, or lost it."""

    retryable: ClassVar[bool] = True


class ImageNotFoundError(SandboxError):
    """The sandbox image is missing or was built from another version of the harness."""


class SessionLostError(GraderError):
    """A session is no more: it was closed, has expired, or its processes were killed.

    A cell can bring that about, so that it says nothing against the sandbox.
    """


class SessionsFullError(GraderError):
    """There are as many sessions as there may be."""

    retryable: ClassVar[bool] = True


class WireError(GraderError):
    """A message does not decode to what its receiver expects."""


class QueueUnavailableError(GraderError):
    """The broker of the queue cannot be reached, or refuses what it is told."""

    retryable: ClassVar[bool] = True


class ServiceUnavailableError(GraderError):
    """A running `grader serve` does not answer, or will have nothing to do with us."""

    retryable: ClassVar[bool] = True


class GradingStoppedError(GraderError):
    """A grading was stopped from outside: cancelled, too late, or given to somebody else."""
