"""A submission as a job of the queue: what is sent, and the key by which equal ones are one."""

import functools
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from grader import languages
from grader.config.settings import Settings
from grader.grading.pipeline import find_code, not_graded
from grader.model import GradeReport, LimitOverrides, LimitsFrom, Submission, TestSuite, wire
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity
from grader.queueing.ledger import Ticket
from grader.scoring import calibration
from grader.suites.files import check_files

_SUITES_REMEMBERED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a submission's code and its limits were found."""

    rule: ExtractionRule
    note: str
    limits_from: LimitsFrom

    def tell(self, report: GradeReport) -> GradeReport:
        """Return a job's report with this in it; the job has seen no text around the code."""
        if report.conditions is None:
            return report
        conditions = replace(
            report.conditions,
            extraction=self.rule,
            extraction_note=self.note,
            limits_from=self.limits_from,
        )
        return replace(report, conditions=conditions)


class Reader(Protocol):
    """Makes what a caller gets from what a worker says, or from why it said nothing."""

    def decode(self, body: bytes) -> Any:
        """Read an answer.

        Raises:
            WireError: It is none.
        """

    def failure(self, reason: str) -> Any:
        """Return what stands for an answer that there is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportReader:
    """Reads reports of one submission."""

    found: Found
    settings: Settings = field(repr=False)

    def decode(self, body: bytes) -> GradeReport:
        """Read a report; see `Reader.decode`."""
        return self.found.tell(wire.decode_report(body))

    def failure(self, reason: str) -> GradeReport:
        """Return the report of an internal error."""
        return not_graded(reason, self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something to be done by a worker, such as a submission whose code was found."""

    key: str
    """Equal for all submissions that must get the same report."""
    code: str
    suite: "EncodedSuite"
    settings: str
    reader: Reader = field(compare=False)
    """Does not travel."""

    def ticket(self, timeout_s: float) -> Ticket:
        """Return the job for the ledger, to be done within `timeout_s` seconds."""
        return Ticket(
            key=self.key,
            suite=self.suite.digest,
            image=self.suite.image,
            timeout_s=timeout_s,
            settings=self.settings,
            code=self.code.encode(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionJob(Job):
    """A submission whose code was found, ready to be sent."""

    found: Found
    """Does not travel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSuite:
    """A suite as it travels: once, however many submissions it judges."""

    digest: str
    image: str
    message: bytes
    limits_from: LimitsFrom = LimitsFrom.SETTINGS
    """Does not travel."""


class JobMaker:
    """Makes jobs under one set of settings. Safe for many threads.

    The code is extracted here, so that samples which differ only in the words around it are one
    job and no reasoning travels.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._calibration = calibration.find(settings)
        self._lock = threading.Lock()
        self._suites: OrderedDict[tuple[int, str], tuple[TestSuite, EncodedSuite]] = OrderedDict()

    def make(self, submission: Submission) -> SubmissionJob | None:
        """Return the submission as a job; None where it holds no code.

        Raises:
            WireError: Its suite holds something that is not plain data.
        """
        suite, settings = submission.suite, self._settings.under(submission.rules)
        rule, extraction = find_code(submission, settings)
        code = extraction.code
        if code is None:
            return None
        encoded = self._encode(suite, extraction.language)
        job_settings = _encoded(settings.policy, settings.stop_early, settings.require_integrity)
        digest = hashlib.sha256()
        for part in (code, encoded.digest, job_settings, _version()):
            digest.update(f"{len(part)}:".encode() + part.encode())
        found = Found(rule=rule, note=extraction.note, limits_from=encoded.limits_from)
        return SubmissionJob(
            key=digest.hexdigest(),
            code=code,
            suite=encoded,
            settings=job_settings,
            reader=ReportReader(found=found, settings=self._settings),
            found=found,
        )

    def _encode(self, suite: TestSuite, language: str) -> EncodedSuite:
        key = id(suite), language
        with self._lock:
            # The suite is kept along, so its id stays its own.
            known = self._suites.get(key)
            if known is not None:
                self._suites.move_to_end(key)
                return known[1]
        in_force = self._calibration.in_force(suite, self._settings.limits)
        resolved = replace(
            suite,
            limits=LimitOverrides(**asdict(in_force.limits)),
            extraction=ExtractionRule.VERBATIM,
            continues_prompt=False,
            language=language,
            image=languages.image_of(suite, language),
        )
        message = wire.encode_submission(Submission(id="", completion="", suite=resolved))
        encoded = EncodedSuite(
            digest=hashlib.sha256(message).hexdigest(),
            image=resolved.image,
            message=message,
            limits_from=in_force.limits_from,
        )
        with self._lock:
            self._suites[key] = (suite, encoded)
            if len(self._suites) > _SUITES_REMEMBERED:
                self._suites.popitem(last=False)
        return encoded


class SuiteReader:
    """Decodes suites, each once for all the submissions that it judges. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._suites: OrderedDict[str, TestSuite] = OrderedDict()

    def knows(self, digest: str) -> bool:
        """Tell whether `read` needs no message."""
        with self._lock:
            return digest in self._suites

    def read(self, digest: str, message: bytes) -> TestSuite:
        """Return the suite of a digest; `message` may be empty where it is known.

        Raises:
            WireError: The message is none of this version.
            LabelError: Its files lead out of their folder.
        """
        with self._lock:
            known = self._suites.get(digest)
            if known is not None:
                self._suites.move_to_end(digest)
                return known
        suite = check_files(wire.decode_submission(message).suite)
        with self._lock:
            self._suites[digest] = suite
            if len(self._suites) > _SUITES_REMEMBERED:
                self._suites.popitem(last=False)
        return suite


def apply(job_settings: Mapping[str, Any], settings: Settings) -> Settings:
    """Return a worker's settings with what the client chose for its job.

    Raises:
        LookupError: The job lacks one of them.
        ValueError: The job comes from another version and names something unknown.
        TypeError: One of them is of another type.
    """
    policy, stop_early = job_settings["policy"], job_settings["stop_early"]
    if not isinstance(policy, str) or not isinstance(stop_early, bool | None):
        message = (
            f"policy is {policy!r}, stop_early {stop_early!r}; expected text, and true or false"
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
    """Return what `apply` reads."""
    return json.dumps(
        {"policy": policy, "stop_early": stop_early, "require_integrity": require_integrity}
    )


@functools.cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("grader-rl")
    except PackageNotFoundError:
        installed = "0"
    return f"{wire.WIRE_VERSION}/{installed}"
