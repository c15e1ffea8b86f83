"""Programs as jobs. A worker runs each once and answers with its output, not a verdict."""

import base64
import json
import math
import secrets
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

from grader.model import SuiteFile, Usage
from grader.model.errors import WireError
from grader.model.limits import Limits
from grader.model.verdict import LimitKind
from grader.process.request_id import caller, request_id
from grader.process.tracing import traceparent
from grader.queueing.jobs import JobOrigin, QueuedJob
from grader.sandbox.contract import Commands, Program, RunBatch, RunOutcome
from grader.suites.cache import EncodedSuite

_MARK = "program"
_SETTINGS = json.dumps({_MARK: True})
_STREAMS = ("stdout", "stderr", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """The result of a program."""

    outcome: RunOutcome | None = None
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
        return ProgramResult(reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOrder:
    """A program as the worker gets it."""

    batch: RunBatch
    image: str
    clock_s: float
    """Wall time limit in seconds, counted from when the program has a slot; may be infinite."""


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
        code=_encode_program(batch, image, clock_s),
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


def _encode_program(batch: RunBatch, image: str, clock_s: float) -> str:
    return json.dumps(
        {
            "image": image,
            "clock_s": clock_s,
            "program": batch.program,
            "source": batch.source,
            "source_path": batch.source_path,
            "runs": [text_of(run) for run in batch.runs],
            "files": [[file.path, text_of(file.content)] for file in batch.files],
            "limits": asdict(batch.limits),
            "commands": None if batch.commands is None else asdict(batch.commands),
        }
    )


def decode_program(text: str) -> ProgramOrder:
    """Return the program that a job's code describes.

    Raises:
        WireError: It describes no valid program.
    """
    try:
        told = json.loads(text)
        batch = RunBatch(
            program=Program(told["program"]),
            source=str(told["source"]),
            source_path=str(told["source_path"]),
            runs=tuple(bytes_of(run) for run in told["runs"]),
            files=tuple(
                SuiteFile(path=str(path), content=bytes_of(content))
                for path, content in told["files"]
            ),
            limits=Limits(**told["limits"]),
            commands=_commands(told.get("commands")),
        )
        # Clients of earlier releases send no clock_s.
        clock_s = float(told.get("clock_s", math.inf))
        if not clock_s > 0:
            message = f"clock_s is {clock_s}; expected more than 0"
            raise WireError(message)
        return ProgramOrder(batch=batch, image=str(told["image"]), clock_s=clock_s)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        message = f"not a program: {type(error).__name__}: {error}"
        raise WireError(message) from error


def _commands(told: Mapping[str, Any] | None) -> Commands | None:
    if told is None:
        return None
    return Commands(
        run=tuple(map(str, told["run"])),
        compile=tuple(map(str, told["compile"])),
        compile_limits=Limits(**told["compile_limits"]),
        only_checks=bool(told.get("only_checks", False)),
        environment={str(name): str(value) for name, value in told["environment"].items()},
    )


def encode_result(result: ProgramResult) -> bytes:
    """Return a result as a worker sends it."""
    outcome = result.outcome
    if outcome is None:
        return json.dumps({"reason": result.reason}).encode()
    # A program has no interactor, and nothing asks for what its compiler made.
    told = {n: value for n, value in asdict(outcome).items() if n not in ("dialogue", "product")}
    for name in _STREAMS:
        told[name] = text_of(told[name])
    return json.dumps({"outcome": told}).encode()


def decode_result(body: bytes) -> ProgramResult:
    """Return the result that a worker sent.

    Raises:
        WireError: It is not a valid result.
    """
    try:
        answer = json.loads(body)
        if "outcome" not in answer:
            return ProgramResult(reason=str(answer["reason"]))
        told: dict[str, Any] = answer["outcome"]
        told |= {name: bytes_of(told[name]) for name in _STREAMS}
        hit = told.pop("limit_hit")
        return ProgramResult(
            outcome=RunOutcome(
                usage=Usage(**told.pop("usage")),
                limit_hit=None if hit is None else LimitKind(hit),
                forbidden_calls=tuple(told.pop("forbidden_calls")),
                **told,
            )
        )
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        message = f"not the result of a program: {type(error).__name__}: {error}"
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
