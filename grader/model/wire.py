"""Records as JSON bytes, and back.

The dataclasses of `grader.model` are the schema; pydantic validates against them, so the
models are declared once. JSON cannot hold every value: bytes are encoded as base64, and the
arguments and results of calls by `sandbox_images.harness.wire.values`, so that a tuple, a set or
NaN arrives unchanged.

JSON is UTF-8 here. UTF-8 cannot encode lone surrogates, so they are sent as U+FFFD; a pair of
surrogates is sent as its character.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from grader.model import CallCase, CallTests, GradeReport, Submission, TestSuite
from grader.model.adapters import adapter
from grader.model.errors import WireError
from sandbox_images.harness.wire import values

if TYPE_CHECKING:
    from pydantic import ValidationError

WIRE_VERSION = 9
"""Raised with every change that older receivers would misread."""

_Record = TypeVar("_Record", Submission, GradeReport)
_Message = TypeVar("_Message", "_SubmissionMessage", "_ReportMessage")


def encode_submission(submission: Submission) -> bytes:
    """Return the submission as a message.

    Raises:
        WireError: A call case holds a value that is not plain data.
    """
    try:
        suite = _with_values(submission.suite, values.encode)
    except values.UnencodableError as error:
        message = f"submission {submission.id!r}: {error}"
        raise WireError(message) from error
    return _seal(b"submission", _dump(Submission, replace(submission, suite=suite)))


def decode_submission(message: bytes) -> Submission:
    """Return the submission of a message.

    Raises:
        WireError: The message is invalid, or of another version. Names the wrong field.
    """
    submission = _open(_SubmissionMessage, message).submission
    try:
        suite = _with_values(submission.suite, values.decode)
    except values.ValueDecodeError as error:
        text = f"submission.suite.tests.cases: {error}"
        raise WireError(text) from error
    return replace(submission, suite=suite)


def encode_suite(suite: TestSuite) -> bytes:
    """Return the suite as a message for `decode_suite`.

    Raises:
        WireError: It holds a value that is not plain data, or a lone surrogate.
    """
    from pydantic_core import PydanticSerializationError

    try:
        return adapter(TestSuite).dump_json(_with_values(suite, values.encode))
    except (values.UnencodableError, PydanticSerializationError) as error:
        message = f"the suite cannot be encoded: {error}"
        raise WireError(message) from error


def decode_suite(message: bytes) -> TestSuite:
    """Return the suite of a message that `encode_suite` of this version wrote."""
    return _with_values(adapter(TestSuite).validate_json(message), values.decode)


def encode_report(report: GradeReport) -> bytes:
    """Return the report as a message."""
    return _seal(b"report", report_json(report))


def decode_report(message: bytes) -> GradeReport:
    """Return the report of a message.

    Raises:
        WireError: The message is invalid, or of another version. Names the wrong field.
    """
    return _open(_ReportMessage, message).report


def report_json(report: GradeReport) -> bytes:
    """Return the report as one line of JSON without a version, as in the rows of a graded file."""
    return _dump(GradeReport, report)


def prepare() -> None:
    """Load the encoder of reports, which takes 100 ms, before the first report is ready."""
    adapter(GradeReport)


def report_of(value: object) -> GradeReport:
    """Return the report in a row of a graded file.

    Args:
        value: The report as `json` has decoded it.

    Raises:
        WireError: It is not a valid report. Names the wrong field.
    """
    from pydantic import ValidationError

    try:
        return adapter(GradeReport).validate_python(value)
    except ValidationError as error:
        raise WireError(_complaint(error)) from error


def json_bytes(value: object) -> bytes:
    """Return `value` as one line of JSON; for lone surrogates, see the module.

    Raises:
        TypeError: `value` holds a value that JSON cannot hold.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


# ---------------------------------------------------------------- inside


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubmissionMessage:
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    v: int
    submission: Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportMessage:
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    v: int
    report: GradeReport


def _dump(kind: type[_Record], record: _Record) -> bytes:
    from pydantic_core import PydanticSerializationError

    try:
        return adapter(kind).dump_json(record)
    except PydanticSerializationError:
        # It holds lone surrogates, which only the standard library can encode.
        return json_bytes(_base64_bytes(adapter(kind).dump_python(record)))


def _base64_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return values.encode(value)["b"]
    if isinstance(value, dict):
        return {key: _base64_bytes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_base64_bytes(item) for item in value]
    return value


def _seal(name: bytes, body: bytes) -> bytes:
    return b'{"v":%d,"%s":%s}' % (WIRE_VERSION, name, body)


def _open(kind: type[_Message], message: bytes) -> _Message:
    from pydantic import ValidationError

    try:
        opened = adapter(kind).validate_json(message)
    except ValidationError as error:
        # If the version differs, that explains all other errors.
        _check_version(_version_of(message))
        raise WireError(_complaint(error)) from error
    _check_version(opened.v)
    return opened


def _complaint(error: "ValidationError") -> str:
    # Every member of a union that does not match adds errors. The deepest error comes from the
    # member that matches best.
    worst = max(error.errors(include_url=False), key=lambda e: len(e["loc"]))
    path = ".".join(str(part) for part in worst["loc"]) or "message"
    return f"{path}: {worst['msg']}"


def _version_of(message: bytes) -> int:
    try:
        return int(json.loads(message)["v"])
    except (ValueError, TypeError, LookupError):
        return WIRE_VERSION  # It has no version; then the error lies elsewhere.


def _check_version(version: int) -> None:
    if version != WIRE_VERSION:
        text = f"the message has version {version}; expected version {WIRE_VERSION}"
        raise WireError(text)


def _with_values(suite: TestSuite, convert: Callable[[Any], Any]) -> TestSuite:
    tests = suite.tests
    if not isinstance(tests, CallTests):
        return suite
    cases = tuple(_convert_case(case, convert) for case in tests.cases)
    return replace(suite, tests=replace(tests, cases=cases))


def _convert_case(case: CallCase, convert: Callable[[Any], Any]) -> CallCase:
    return replace(
        case,
        args=tuple(convert(arg) for arg in case.args),
        kwargs={name: convert(arg) for name, arg in case.kwargs.items()},
        expected=convert(case.expected),
        alternatives=tuple(convert(value) for value in case.alternatives),
    )
