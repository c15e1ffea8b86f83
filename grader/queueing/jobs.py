"""Jobs: what is sent for a submission, and the key that equal submissions share."""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, Self

from grader import languages
from grader.config.settings import ServiceClass, Settings
from grader.grading.pipeline import find_code, not_graded
from grader.model import (
    GradeReport,
    LimitOverrides,
    Limits,
    LimitsFrom,
    MiB,
    Submission,
    TestSuite,
    wire,
)
from grader.model.errors import ConfigurationError, SuiteError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, Verdict
from grader.process.request_id import caller, request_id
from grader.process.tracing import traceparent
from grader.queueing.ledger_values import LedgerEntry
from grader.scoring import calibration
from grader.scoring.own import policy_to_send
from grader.scoring.policies import marked, score_report
from grader.suites.cache import EncodedSuite, EncodedSuites
from grader.suites.files import check_foreign

_MOST_BYTES = 512 * MiB
"""Of a value in Redis, unless `proto-max-bulk-len` is set there. It cuts the connection if it gets
more, and says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConditions:
    """The conditions of a report that the worker cannot know.

    The client extracts the code and resolves the limits, and sends only the results.
    """

    rule: ExtractionRule
    note: str
    limits_from: LimitsFrom
    policy: str

    def add_to(self, report: GradeReport) -> GradeReport:
        """Return a worker's report with these conditions, and with the policy's reward.

        If the policy is the user's own and gives no reward, it is an internal error.
        """
        try:
            report = marked(report, self.policy)
        except ConfigurationError as error:
            reason = f"{type(error).__name__}: {error}"
            report = score_report(
                verdict=Verdict.INTERNAL_ERROR, cases=(), policy=self.policy, feedback=reason
            )
        if report.conditions is None:
            return report
        conditions = replace(
            report.conditions,
            extraction=self.rule,
            extraction_note=self.note,
            limits_from=self.limits_from,
        )
        return replace(report, conditions=conditions)


class AnswerReader(Protocol):
    """Turns a worker's answer into the result of a future."""

    def decode(self, body: bytes) -> Any:
        """Return the result.

        Raises:
            WireError: The answer cannot be decoded.
        """

    def failure(self, reason: str) -> Any:
        """Return the result if there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportReader:
    """Reads the report of one submission."""

    conditions: ClientConditions
    settings: Settings = field(repr=False)

    def decode(self, body: bytes) -> GradeReport:
        """Return the report; see `AnswerReader.decode`."""
        return self.conditions.add_to(wire.decode_report(body))

    def failure(self, reason: str) -> GradeReport:
        """Return a report of an internal error."""
        return not_graded(reason, self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrigin:
    """By which ids the logs of client and worker name a job. They decide nothing.

    If several submissions are one job, these are the ids of the first.
    """

    request: str = ""
    """Of the HTTP request that it came with; empty if it did not come over HTTP."""
    submission: str = ""
    """As the client chose it."""
    traceparent: str = ""
    """Of the span in which it was sent; empty if the client makes no traces."""

    @classmethod
    def of(cls, job_settings: Mapping[str, Any]) -> Self:
        """Return the origin in a job's settings; empty if a client of another build sent none."""
        told = job_settings.get("origin")
        if not isinstance(told, dict):
            return cls()
        known = {name: told.get(name) for name in ("request", "submission", "traceparent")}
        return cls(**{name: text for name, text in known.items() if isinstance(text, str)})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A submission or a program for a worker."""

    key: str
    """Submissions with the same key get the same report."""
    code: str
    suite: EncodedSuite
    image: str
    settings: str
    """A JSON object."""
    reader: AnswerReader = field(compare=False)
    """Is not sent."""
    origin: JobOrigin = field(default_factory=JobOrigin, compare=False)
    caller: str = field(default="", compare=False)
    """See `grader.process.request_id.caller`."""

    def ledger_entry(
        self, timeout_s: float, service_class: ServiceClass = ServiceClass.TRAINING
    ) -> LedgerEntry:
        """Return the job as the ledger takes it, to be done within `timeout_s` seconds."""
        return LedgerEntry(
            key=self.key,
            suite=self.suite.digest,
            image=self.image,
            timeout_s=timeout_s,
            settings=json.dumps({**json.loads(self.settings), "origin": asdict(self.origin)}),
            code=self.code.encode(),
            service_class=service_class,
            caller=self.caller,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionJob(QueuedJob):
    """A submission whose code was found."""

    conditions: ClientConditions
    """Are not sent."""


class JobMaker:
    """Makes jobs of submissions under one set of settings. Safe for many threads.

    The client extracts the code, so submissions that differ only in the text around it are one
    job, and no reasoning is sent.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._calibration = calibration.find(settings)
        self._suites = EncodedSuites()

    def make(self, submission: Submission) -> SubmissionJob | None:
        """Return the submission as a job; None if its completion holds no code.

        Raises:
            WireError: Its suite holds a value that is not plain data.
            SuiteError: Its suite is too large for a queue.
        """
        suite, settings = submission.suite, self._settings.under(submission.rules)
        rule, extraction = find_code(submission, settings)
        code = extraction.code
        if code is None:
            return None
        language = extraction.language
        in_force = self._calibration.in_force(suite, self._settings.limits)
        encoded = self._suites.get(
            suite, lambda: encode_suite(suite, in_force.limits, language), language=language
        )
        job_settings = _encoded(
            policy_to_send(settings.policy), settings.stop_early, settings.require_integrity
        )
        digest = hashlib.sha256()
        for part in (code, encoded.digest, job_settings):
            digest.update(f"{len(part)}:".encode() + part.encode())
        conditions = ClientConditions(
            rule=rule,
            note=extraction.note,
            limits_from=in_force.limits_from,
            policy=settings.policy,
        )
        return SubmissionJob(
            key=digest.hexdigest(),
            code=code,
            suite=encoded,
            image=languages.image_of(suite, language),
            settings=job_settings,
            reader=ReportReader(conditions=conditions, settings=self._settings),
            origin=JobOrigin(
                request=request_id.get(), submission=submission.id, traceparent=traceparent()
            ),
            caller=caller.get(),
            conditions=conditions,
        )


def encode_suite(suite: TestSuite, limits: Limits, language: str) -> bytes:
    """Return the message for `decode_suite`, for submissions whose code was extracted.

    Args:
        suite: The suite.
        limits: In force for it.
        language: Of the code.

    Raises:
        WireError: It holds a value that is not plain data.
        SuiteError: It is larger than a value in Redis may be.
    """
    resolved = replace(
        suite,
        limits=LimitOverrides(**asdict(limits)),
        extraction=ExtractionRule.VERBATIM,
        continues_prompt=False,
        language=language,
        image=languages.image_of(suite, language),
    )
    message = wire.encode_submission(Submission(id="", completion="", suite=resolved))
    if len(message) > _MOST_BYTES:
        too_large = f"the suite has {len(message)} bytes; a queue takes at most {_MOST_BYTES}"
        raise SuiteError(too_large)
    return message


def decode_suite(message: bytes) -> TestSuite:
    """Return the suite of a message.

    Raises:
        WireError: The message cannot be decoded, or has another version.
        LabelError: The path of one of its files leads out of the work area.
    """
    return check_foreign(wire.decode_submission(message).suite)


def apply(job_settings: Mapping[str, Any], settings: Settings) -> Settings:
    """Return a worker's settings with those that the client chose for its job.

    Raises:
        LookupError: One of the client's settings is missing.
        ValueError: One of them has an unknown value; the client may have another version.
        TypeError: One of them has a wrong type.
    """
    policy, stop_early = job_settings["policy"], job_settings["stop_early"]
    if not isinstance(policy, str) or not isinstance(stop_early, bool | None):
        message = (
            f"policy is {policy!r} and stop_early {stop_early!r}; "
            "expected a string, and true, false or null"
        )
        raise TypeError(message)
    least = job_settings["require_integrity"]
    return replace(
        settings,
        policy=policy,
        stop_early=stop_early,
        require_integrity=None if least is None else Integrity(least),
        extraction=None,
    )


@functools.lru_cache(maxsize=64)
def _encoded(policy: str, stop_early: bool | None, require_integrity: Integrity | None) -> str:
    """Return a job's settings as JSON. On the worker, `apply` reads them."""
    return json.dumps(
        {"policy": policy, "stop_early": stop_early, "require_integrity": require_integrity}
    )
