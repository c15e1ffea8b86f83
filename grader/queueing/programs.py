"""Programs as jobs of the queue: they run once on a worker, for their output, not for a verdict."""

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
from grader.queueing.jobs import EncodedSuite, Job
from grader.sandbox.contract import Commands, Program, RunOutcome
from grader.sandbox.contract import Job as SandboxJob

_MARK = "program"
_SETTINGS = json.dumps({_MARK: True})
_STREAMS = ("stdout", "stderr", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """What became of a program."""

    outcome: RunOutcome | None = None
    reason: str = ""
    """Why there is no outcome; nothing that the program did."""


class _ResultReader:
    """Makes what callers get from what workers say."""

    def decode(self, body: bytes) -> ProgramResult:
        """Read an answer.

        Raises:
            WireError: It is none.
        """
        return decode_result(body)

    def failure(self, reason: str) -> ProgramResult:
        """Say why there is none."""
        return ProgramResult(reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOrder:
    """What a worker is to run."""

    job: SandboxJob
    image: str
    clock_s: float
    """Seconds from when it has its slot after which it is out of wall time; infinity for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedProgram:
    """A program that was sent to the workers."""

    key: str
    result: "Future[ProgramResult]"
    """Never fails."""


def make_program_job(job: SandboxJob, image: str, clock_s: float) -> Job:
    """Return a job that equals no other: what a program prints may differ every time."""
    return Job(
        key=secrets.token_hex(32),
        code=_encode_program(job, image, clock_s),
        # The ledger wants one; the program itself must not stay in Redis as long as tests do.
        suite=EncodedSuite(digest=_MARK, image=image, message=_MARK.encode()),
        settings=_SETTINGS,
        reader=_ResultReader(),
    )


def is_program(settings: Mapping[str, Any]) -> bool:
    """Tell whether a job's settings are those of a program."""
    return settings.get(_MARK) is True


def _encode_program(job: SandboxJob, image: str, clock_s: float) -> str:
    return json.dumps(
        {
            "image": image,
            "clock_s": clock_s,
            "program": job.program,
            "source": job.source,
            "source_path": job.source_path,
            "runs": [_text(run) for run in job.runs],
            "files": [[file.path, _text(file.content)] for file in job.files],
            "limits": asdict(job.limits),
            "commands": None if job.commands is None else asdict(job.commands),
        }
    )


def decode_program(text: str) -> ProgramOrder:
    """Return what a program's job says is to be run.

    Raises:
        WireError: It says no such thing.
    """
    try:
        told = json.loads(text)
        job = SandboxJob(
            program=Program(told["program"]),
            source=str(told["source"]),
            source_path=str(told["source_path"]),
            runs=tuple(_bytes(run) for run in told["runs"]),
            files=tuple(
                SuiteFile(path=str(path), content=_bytes(content))
                for path, content in told["files"]
            ),
            limits=Limits(**told["limits"]),
            commands=_commands(told.get("commands")),
        )
        # A client of an earlier release says nothing of a clock.
        clock_s = float(told.get("clock_s", math.inf))
        if not clock_s > 0:
            message = f"a clock of {clock_s} s; expected more than 0"
            raise WireError(message)
        return ProgramOrder(job=job, image=str(told["image"]), clock_s=clock_s)
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
        environment={str(name): str(value) for name, value in told["environment"].items()},
    )


def encode_result(result: ProgramResult) -> bytes:
    """Return what a worker answers."""
    outcome = result.outcome
    if outcome is None:
        return json.dumps({"reason": result.reason}).encode()
    told = {name: value for name, value in asdict(outcome).items() if name != "dialogue"}
    for name in _STREAMS:
        told[name] = _text(told[name])
    return json.dumps({"outcome": told}).encode()


def decode_result(body: bytes) -> ProgramResult:
    """Return what a worker answered.

    Raises:
        WireError: It is no answer to a program.
    """
    try:
        answer = json.loads(body)
        if "outcome" not in answer:
            return ProgramResult(reason=str(answer["reason"]))
        told: dict[str, Any] = answer["outcome"]
        told |= {name: _bytes(told[name]) for name in _STREAMS}
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


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
