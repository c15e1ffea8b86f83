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
from grader.model.errors import GraderError, ReaderLostError
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.verdict import Integrity
from grader.model.wire import json_bytes, report_json
from grader.process.logs import error_kind
from grader.scoring.policies import POLICIES
from grader.server.http.errors import REFUSALS, ErrorResponse
from grader.server.http.idempotency import KeyedResponse, KeyReusedError
from grader.server.http.request_context import RequestContext, current_request
from grader.server.observed import GRADE_PATH
from grader.server.samples import GradedSample
from grader.server.service import Service

_log = structlog.stdlib.get_logger(__name__)

_MAX_DEADLINE_S = 86_400.0
_STEP_S = 0.005
"""How long submissions of one request are prepared before the event loop serves other requests."""

_DEADLINE = Field(
    default=None,
    gt=0,
    le=_MAX_DEADLINE_S,
    allow_inf_nan=False,
    description="seconds until the answer; a submission not graded by then is an internal_error. "
    "Default: the setting queue.deadline_s",
)


class SubmissionItem(BaseModel):
    """A completion and its tests."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str = Field(default="", max_length=1000, description="is returned, and is in the logs")
    completion: str = Field(description="raw model output, or a query that starts with the prompt")
    prompt: str = Field(default="", description="removed if the completion starts with it")
    label: Any = Field(default=None, description="the tests, in any known format")
    problem_id: str | None = Field(
        default=None, description="the id of a problem in the file that the setting problems names"
    )
    suite: str | None = Field(
        default=None,
        description="the tests as a client of this package encodes them, in place of a label",
    )
    policy: str | None = Field(
        default=None, description="how verdicts become a reward; default: the service's setting"
    )
    extraction: Annotated[ExtractionRule | None, Field(strict=False)] = Field(
        default=None,
        description="how the code is found; default: the setting of the service, else of the tests",
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
        """The rules that the request sets for its submission."""
        return GradingRules(
            policy=self.policy,
            extraction=self.extraction,
            stop_early=self.stop_early,
            require_integrity=self.require_integrity,
        )


class OneSubmission(SubmissionItem):
    """A request with one submission."""

    deadline_s: float | None = _DEADLINE


class ManySubmissions(BaseModel):
    """A request with many submissions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    submissions: list[SubmissionItem]
    deadline_s: float | None = _DEADLINE


def _kind(body: Any) -> str:
    is_many = "submissions" in body if isinstance(body, dict) else isinstance(body, ManySubmissions)
    return "many" if is_many else "one"


GradeRequest = Annotated[
    Annotated[OneSubmission, Tag("one")] | Annotated[ManySubmissions, Tag("many")],
    Discriminator(_kind),
]


class SubmissionReport(BaseModel):
    """A submission's report."""

    id: str
    report: GradeReport


class SubmissionReports(BaseModel):
    """Reports, in the order of the submissions."""

    results: list[SubmissionReport]


def make_router(service: Service) -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(tags=["grade"])

    @router.post(
        GRADE_PATH,
        summary="Grade one submission, or many",
        response_model=None,
        responses={
            200: {"model": SubmissionReport | SubmissionReports},
            409: {
                "model": ErrorResponse,
                "description": "the idempotency key had another body",
            },
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
                description="requests with the same key are graded once and get the same response",
            ),
        ] = None,
    ) -> Response:
        """Grade.

        A submission that cannot be graded gets a report with the verdict `internal_error` and
        `graded` false. A request with a single submission whose tests cannot be read is refused
        with 422.
        """
        work = _Work(service, body, len(await request.body()))
        context = current_request()
        if idempotency_key is None or context is None:
            waiting = service.open_requests.wait(request, work.do())
            answer = await waiting
        else:
            digest = hashlib.sha256(await request.body()).digest()
            try:
                answer = await service.open_requests.wait(
                    request, service.idempotency.respond(idempotency_key, digest, context, work.do)
                )
            except KeyReusedError:
                reason = "the Idempotency-Key was used for another request"
                raise HTTPException(409, reason) from None
        headers = {}
        if answer.is_replay:
            service.metrics.replays.inc()
            headers["Idempotency-Replayed"] = "true"
        return Response(answer.body, media_type="application/json", headers=headers)

    return router


class _Work:
    """The grading of one request."""

    def __init__(self, service: Service, body: OneSubmission | ManySubmissions, size: int) -> None:
        self._service = service
        self._body = body
        self._size = size

    async def do(self) -> KeyedResponse:
        """Grade everything.

        Raises:
            HTTPException: There are too many submissions, or the tests of a single submission
                cannot be read.
        """
        if isinstance(self._body, OneSubmission):
            report = await grade_one(self._service, self._body, self._size)
            return KeyedResponse(body=_result(self._body, report), may_be_stored=report.graded)
        most = self._service.settings.server.submissions
        if len(self._body.submissions) > most:
            reason = (
                f"{len(self._body.submissions)} submissions in one request; at most {most} are "
                "taken (server.submissions)"
            )
            raise HTTPException(422, reason)
        reports = await self._grade_many(self._body)
        results = [
            _result(item, report)
            for item, report in zip(self._body.submissions, reports, strict=True)
        ]
        body = b'{"results":[%s]}' % b",".join(results)
        return KeyedResponse(body=body, may_be_stored=all(report.graded for report in reports))

    async def _grade_many(self, body: ManySubmissions) -> list[GradeReport]:
        waiting: list[asyncio.Future[GradeReport] | GradeReport] = []
        pause = time.monotonic() + _STEP_S
        for item in body.submissions:
            if time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + _STEP_S
            # One after another, so that no request takes all processes that read labels.
            left_s = _time_left_s(self._service, body)
            submission = await _read(self._service, item, self._size, left_s)
            if isinstance(submission, GraderError):
                waiting.append(_refused(self._service, item, submission))
            elif isinstance(submission, GradeReport):
                waiting.append(submission)
            else:
                future = self._service.grader.submit(
                    submission, timeout_s=_time_left_s(self._service, body), is_bulk=True
                )
                waiting.append(asyncio.wrap_future(future))
        return [each if isinstance(each, GradeReport) else await each for each in waiting]


async def grade_one(service: Service, item: OneSubmission, size: int) -> GradeReport:
    """Grade one submission by its deadline.

    Args:
        service: The service that grades.
        item: The submission.
        size: The size of its request in bytes.

    Raises:
        HTTPException: The tests cannot be read.
    """
    submission = await _read(service, item, size, _time_left_s(service, item))
    if isinstance(submission, GraderError):
        raise HTTPException(422, _words(submission))
    if isinstance(submission, GradeReport):
        return submission
    future = service.grader.submit(submission, timeout_s=_time_left_s(service, item))
    return await asyncio.wrap_future(future)


async def _read(
    service: Service, item: SubmissionItem, size: int, left_s: float
) -> Submission | GraderError | GradeReport:
    """Return the submission, the error in its tests, or a report of a fault of ours."""
    try:
        async with asyncio.timeout(left_s):
            if item.suite is not None:
                suite = await service.labels.decode(item.suite)
            else:
                suite = await service.labels.read(item.label, item.problem_id, size)
    except TimeoutError:
        return _refused(service, item, TimeoutError("the tests were not read by the deadline"))
    except ReaderLostError as error:
        return _refused(service, item, error)
    except GraderError as error:
        return error
    except Exception as error:  # noqa: BLE001 - logged, and the submission's report says so
        # A label that hits a fault of ours must not affect the other submissions.
        _log.exception("a label hit a fault in the grader")
        return _refused(service, item, error)
    return Submission(
        id=item.id or suite.problem_id or "",
        completion=item.completion,
        prompt=item.prompt,
        suite=suite,
        rules=item.rules,
    )


def _refused(service: Service, item: SubmissionItem, error: Exception) -> GradeReport:
    report = not_graded(f"{type(error).__name__}: {_words(error)}", service.settings)
    context = current_request()
    service.metrics.report(report, 0.0)
    service.samples.add(
        GradedSample(
            id=item.id,
            problem_id=item.problem_id,
            prompt=item.prompt,
            completion=item.completion,
            report=report,
            endpoint="" if context is None else context.endpoint,
            at=time.time(),
            took_s=0.0,
        )
    )
    _log.warning("tests cannot be read", error=error_kind(report.feedback))
    return report


def _time_left_s(service: Service, body: OneSubmission | ManySubmissions) -> float:
    deadline_s = body.deadline_s
    if deadline_s is None:
        deadline_s = service.settings.queue.deadline_s
    context: RequestContext | None = current_request()
    spent_s = 0.0 if context is None else time.monotonic() - context.arrived
    return max(0.001, deadline_s - spent_s)


def _words(error: Exception) -> str:
    return str(error).encode("utf-8", "replace").decode()


def _result(item: SubmissionItem, report: GradeReport) -> bytes:
    return b'{"id":%s,"report":%s}' % (json_bytes(item.id), report_json(report))
