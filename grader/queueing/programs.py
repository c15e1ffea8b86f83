"""Programs as jobs. A worker runs each once and answers with its output, not a verdict."""

import base64
import json
import secrets
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

from grader.model.adapters import adapter
from grader.model.errors import WireError
from grader.process.request_id import caller, request_id
from grader.process.tracing import traceparent
from grader.queueing.jobs import JobOrigin, QueuedJob
from grader.sandbox.contract import RunBatch, RunOutcome
from grader.suites.cache import EncodedSuite
from sandbox_images.harness.wire import values

_MARK = "program"
_SETTINGS = json.dumps({_MARK: True})

_Record = TypeVar("_Record", "ProgramOrder", "ProgramResult")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """The result of a program."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    outcome: RunOutcome | None
    reason: str = ""
    """Why there is no outcome. The program itself cannot cause this."""


class _ResultReader:
    """See `AnswerReader`."""

    def decode(self, body: bytes) -> ProgramResult:
        """Return the result of the program.

        Raises:
            WireError: The answer cannot be decoded.
        """
        return decode_result(body)

    def failure(self, reason: str) -> ProgramResult:
        """Return a result without an outcome."""
        return ProgramResult(outcome=None, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOrder:
    """A program as the worker gets it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    batch: RunBatch
    image: str
    clock_s: float
    """Wall time limit in seconds, counted from when the program has a slot; may be infinite."""

    def __post_init__(self) -> None:
        if not self.clock_s > 0:
            message = f"clock_s is {self.clock_s}; expected more than 0"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedProgram:
    """A program that the client has submitted."""

    key: str
    result: "Future[ProgramResult]"
    """Never raises."""


def make_program_job(batch: RunBatch, image: str, clock_s: float) -> QueuedJob:
    """Return a job with a random key, because each run of a program may print something else."""
    return QueuedJob(
        key=secrets.token_hex(32),
        code=_encode(ProgramOrder(batch=batch, image=image, clock_s=clock_s)),
        # The ledger requires a suite. It is not the program, because suites stay longer in Redis.
        suite=EncodedSuite(digest=_MARK, message=_MARK.encode()),
        image=image,
        settings=_SETTINGS,
        reader=_ResultReader(),
        origin=JobOrigin(request=request_id.get(), traceparent=traceparent()),
        caller=caller.get(),
    )


def is_program(settings: Mapping[str, Any]) -> bool:
    """Return whether a job is a program, by its settings."""
    return settings.get(_MARK) is True


def decode_program(text: str) -> ProgramOrder:
    """Return the program that a job's code describes.

    Raises:
        WireError: It describes no valid program.
    """
    return _decode(ProgramOrder, text)


def encode_result(result: ProgramResult) -> bytes:
    """Return a result as a worker sends it."""
    return _encode(result).encode()


def decode_result(body: bytes) -> ProgramResult:
    """Return the result that a worker sent.

    Raises:
        WireError: It is not a valid result.
    """
    return _decode(ProgramResult, body)


def _encode(record: ProgramOrder | ProgramResult) -> str:
    # Not by `grader.model.wire`, which replaces lone surrogates in texts.
    return json.dumps(values.encode(asdict(record)))


def _decode(kind: type[_Record], text: str | bytes) -> _Record:
    try:
        return adapter(kind).validate_python(values.decode(json.loads(text)))
    except values.UNDECODABLE as error:
        message = f"not a {kind.__name__}: {type(error).__name__}: {error}"
        raise WireError(message) from error


def text_of(data: bytes) -> str:
    """Return bytes as a text for JSON."""
    return base64.b64encode(data).decode()


def bytes_of(text: str) -> bytes:
    """Return the bytes that `text_of` was given.

    Raises:
        ValueError: The text is not such.
    """
    return base64.b64decode(text, validate=True)
