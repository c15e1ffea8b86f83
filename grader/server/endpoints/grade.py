"""`POST /v1/grade`: reports for one submission or many."""

import asyncio
import hashlib
import time
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Body, Header, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from grader.grading.pipeline import not_graded
from grader.model import GradeReport, Submission
from grader.model.errors import GraderError
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.verdict import Integrity
from grader.model.wire import json_bytes, report_json
from grader.scoring.policies import POLICIES
from grader.server.engine import Engine
from grader.server.http.idempotency import Answer, KeyReusedError
from grader.server.http.problems import REFUSALS, Problem
from grader.server.http.request_context import Visit, current_visit
from grader.server.observed import error_kind
from grader.server.samples import GradedSample

_log = structlog.stdlib.get_logger(__name__)

_MAX_DEADLINE_S = 86_400.0
_MANY_PER_STEP = 64
"""Submissions of one request that are prepared before the event loop looks at others."""

_DEADLINE = Field(
    default=None,
    gt=0,
    le=_MAX_DEADLINE_S,
    allow_inf_nan=False,
    description="seconds until the answer; what is not graded by then is an internal_error. "
    "Default: the setting queue.deadline_s",
)


class Sample(BaseModel):
    """A completion and its tests."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str = Field(default="", max_length=1000, description="comes back, and stands in the logs")
    completion: str = Field(description="raw model output, or a query that starts with the prompt")
    prompt: str = Field(default="", description="cut off the completion where it starts with it")
    label: Any = Field(default=None, description="the tests, in any known format")
    problem_id: str | None = Field(
        default=None, description="a problem of the file that the setting problems names"
    )
    suite: str | None = Field(
        default=None,
        description="the tests as a client of this package encodes them; instead of a label",
    )
    policy: str | None = Field(
        default=None, description="how verdicts become a reward; default: as the service is set"
    )
    extraction: Annotated[ExtractionRule | None, Field(strict=False)] = Field(
        default=None, description="how the code is found; default: as service or tests are set"
    )
    stop_early: bool | None = Field(
        default=None, description="stop at the first failing case; default: as the policy needs"
    )
    require_integrity: Annotated[Integrity | None, Field(strict=False)] = Field(
        default=None, description="least separation of tests and submission"
    )

    @field_validator("policy")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and name not in POLICIES:
            message = f"there is no policy {name!r}; there are: {', '.join(POLICIES)}"
            raise ValueError(message)
        return name

    @property
    def rules(self) -> GradingRules:
        """What the request decides about its submission."""
        return GradingRules(
            policy=self.policy,
            extraction=self.extraction,
            stop_early=self.stop_early,
            require_integrity=self.require_integrity,
        )


class One(Sample):
    """A request with one submission."""

    deadline_s: float | None = _DEADLINE


class Many(BaseModel):
    """A request with many submissions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    submissions: list[Sample]
    deadline_s: float | None = _DEADLINE


def _kind(body: Any) -> str:
    is_many = "submissions" in body if isinstance(body, dict) else isinstance(body, Many)
    return "many" if is_many else "one"


GradeRequest = Annotated[
    Annotated[One, Tag("one")] | Annotated[Many, Tag("many")], Discriminator(_kind)
]


class OneResult(BaseModel):
    """A submission's report."""

    id: str
    report: GradeReport


class ManyResults(BaseModel):
    """Reports, in the order of the submissions."""

    results: list[OneResult]


def make_router(engine: Engine) -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(tags=["grade"])

    @router.post(
        "/v1/grade",
        summary="Grade one submission, or many",
        response_model=None,
        responses={
            200: {"model": OneResult | ManyResults},
            409: {"model": Problem, "description": "the idempotency key came with another body"},
            **REFUSALS,
        },
    )
    async def grade(
        request: Request,
        body: Annotated[GradeRequest, Body()],
        idempotency_key: Annotated[
            str | None,
            Header(
                min_length=1,
                max_length=200,
                description="requests of one key are graded once and get one answer",
            ),
        ] = None,
    ) -> Response:
        """Grade.

        What cannot be graded gets a report that says so: verdict `internal_error`, `graded`
        false. Only the tests of a single submission that cannot be read are refused with 422.
        """
        work = _Work(engine, body, len(await request.body()))
        visit = current_visit()
        if idempotency_key is None or visit is None:
            waiting = engine.attendance.wait(request, work.do())
            answer = await waiting
        else:
            digest = hashlib.sha256(await request.body()).digest()
            try:
                answer = await engine.attendance.wait(
                    request, engine.replays.answer(idempotency_key, digest, visit, work.do)
                )
            except KeyReusedError:
                reason = "the Idempotency-Key was used for another request"
                raise HTTPException(409, reason) from None
        headers = {}
        if answer.is_replay:
            engine.metrics.replays.inc()
            headers["Idempotency-Replayed"] = "true"
        return Response(answer.body, media_type="application/json", headers=headers)

    return router


class _Work:
    """One request's grading."""

    def __init__(self, engine: Engine, body: One | Many, size: int) -> None:
        self._engine = engine
        self._body = body
        self._size = size

    async def do(self) -> Answer:
        """Grade everything.

        Raises:
            HTTPException: There are too many submissions, or the only one has no tests.
        """
        if isinstance(self._body, One):
            report = await grade_one(self._engine, self._body, self._size)
            return Answer(body=_result(self._body, report), lasts=report.graded)
        most = self._engine.settings.server.submissions
        if len(self._body.submissions) > most:
            reason = (
                f"{len(self._body.submissions)} submissions in one request; at most {most} are "
                "taken (server.submissions)"
            )
            raise HTTPException(422, reason)
        reports = await self._grade_many(self._body)
        results = [
            _result(sample, report)
            for sample, report in zip(self._body.submissions, reports, strict=True)
        ]
        body = b'{"results":[%s]}' % b",".join(results)
        return Answer(body=body, lasts=all(report.graded for report in reports))

    async def _grade_many(self, body: Many) -> list[GradeReport]:
        waiting: list[asyncio.Future[GradeReport] | GradeReport] = []
        for number, sample in enumerate(body.submissions):
            if number % _MANY_PER_STEP == _MANY_PER_STEP - 1:
                await asyncio.sleep(0)
            submission = _read(self._engine, sample, self._size)
            if isinstance(submission, GraderError):
                waiting.append(_refused(self._engine, sample, submission))
            elif isinstance(submission, GradeReport):
                waiting.append(submission)
            else:
                future = self._engine.grader.submit(
                    submission, timeout_s=_time_left_s(self._engine, body), is_batch=True
                )
                waiting.append(asyncio.wrap_future(future))
        return [each if isinstance(each, GradeReport) else await each for each in waiting]


async def grade_one(engine: Engine, sample: One, size: int) -> GradeReport:
    """Grade one submission by its deadline.

    Args:
        engine: What grades.
        sample: The submission.
        size: Of its request, in bytes.

    Raises:
        HTTPException: Its tests cannot be read.
    """
    submission = _read(engine, sample, size)
    if isinstance(submission, GraderError):
        raise HTTPException(422, _words(submission))
    if isinstance(submission, GradeReport):
        return submission
    future = engine.grader.submit(submission, timeout_s=_time_left_s(engine, sample))
    return await asyncio.wrap_future(future)


def _read(engine: Engine, sample: Sample, size: int) -> Submission | GraderError | GradeReport:
    """Return the submission, what is wrong with its tests, or the report of our fault."""
    try:
        if sample.suite is not None:
            suite = engine.labels.decode(sample.suite)
        else:
            suite = engine.labels.read(sample.label, sample.problem_id, size)
    except GraderError as error:
        return error
    except Exception as error:  # noqa: BLE001 - reported and logged, whatever it is
        # Whatever a label does to us must cost its own report only.
        _log.exception("a label met a fault in the grader")
        return _refused(engine, sample, error)
    return Submission(
        id=sample.id or suite.problem_id or "",
        completion=sample.completion,
        prompt=sample.prompt,
        suite=suite,
        rules=sample.rules,
    )


def _refused(engine: Engine, sample: Sample, error: Exception) -> GradeReport:
    report = not_graded(f"{type(error).__name__}: {_words(error)}", engine.settings)
    visit = current_visit()
    engine.metrics.report(report, 0.0)
    engine.samples.add(
        GradedSample(
            id=sample.id,
            problem_id=sample.problem_id,
            prompt=sample.prompt,
            completion=sample.completion,
            report=report,
            endpoint="" if visit is None else visit.endpoint,
            at=time.time(),
            took_s=0.0,
        )
    )
    _log.warning("tests cannot be read", error=error_kind(report.feedback))
    return report


def _time_left_s(engine: Engine, body: One | Many) -> float:
    deadline_s = body.deadline_s
    if deadline_s is None:
        deadline_s = engine.settings.queue.deadline_s
    visit: Visit | None = current_visit()
    spent_s = 0.0 if visit is None else time.monotonic() - visit.arrived
    return max(0.001, deadline_s - spent_s)


def _words(error: Exception) -> str:
    return str(error).encode("utf-8", "replace").decode()


def _result(sample: Sample, report: GradeReport) -> bytes:
    return b'{"id":%s,"report":%s}' % (json_bytes(sample.id), report_json(report))
