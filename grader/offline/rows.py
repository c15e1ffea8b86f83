"""Reading input rows and making output rows, without I/O.

A row holds a completion. Its tests come from its label, from the problem with its id, or from the
row itself. A label may also ask for an answer or for the rating of a model. If the completion is a
list, each item is a sample of the problem and becomes its own output row.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from grader import languages
from grader.config.rewards import RewardTask
from grader.model import GradeReport, LimitOverrides, Submission, TestSuite
from grader.model.errors import GraderError, InputError, MissingFieldError
from grader.model.verdict import Verdict
from grader.model.wire import json_bytes, report_json
from grader.offline.finder import PROBLEM_KEYS, SuiteFinder
from grader.offline.source import Row
from grader.source.files import join_files
from grader.suites.deciding import with_language
from grader.suites.plans import GradingPlan, plan_for

COMPLETION_KEYS = ("completion", "response", "solution", "query")
"""Fields that may hold the completion, in this order."""
_LIKELY_KEYS = (
    *("output", "outputs", "generation", "completions", "responses", "text", "code"),
    "files",
)
"""Further fields that look like a completion. Only an error names them, as what to choose."""
ANSWER_KEYS = ("label", "answer", "ground_truth")
"""Fields that may hold a label that is not code, in this order."""
REPORT_KEY = "report"
ORIGIN_KEY = "_grader"
"""The field of an output row that describes its input row, for `--resume`."""

_SHOWN_FIELDS = 12
_LONGEST_LANGUAGE_CODE = 2
_RAW_TEXT_CHARS = 2000
"""Characters of a line that is not JSON that its output row keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRules:
    """How rows are read."""

    run: str
    """The key of the settings; see `grader.offline.resume.run_key`."""
    completion_key: str | None = None
    """None: the first of `COMPLETION_KEYS` in the row."""
    label_key: str | None = None
    """None: `label`, or the first of `ANSWER_KEYS` if the task is not code."""
    task: RewardTask = RewardTask.AUTO
    """The task of rows whose label names none."""
    limits: LimitOverrides = field(default_factory=LimitOverrides)
    """They override the limits of suites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedCompletion:
    """A completion that tests alone do not grade."""

    text: str
    prompt: str
    label: object
    """Asks for an answer, for the rating of a model, or for several graders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSample:
    """One completion of a row."""

    row: Row
    index: int | None
    """The index of the completion in a list; None if the row has a single one."""
    head: bytes
    """The JSON of the output row up to the report."""
    origin: bytes
    """The JSON of `ORIGIN_KEY`."""
    id: str
    problem_id: str | None = None
    """Samples of one problem share it."""
    submission: Submission | None = None
    """Given if tests grade it."""
    rated: RatedCompletion | None = None
    """Given if tests alone do not grade it. If neither is given, `problem` says why."""
    problem: str = ""
    is_misread: bool = False
    """Whether it is not JSON or lacks a field. If all rows are like that, the file is misread."""


def samples(row: Row, finder: SuiteFinder, rules: RowRules) -> list[RowSample]:
    """Return the samples of a row, at least one. Never raises.

    A row that cannot be graded is one sample with the reason in `problem`, because bad input is
    not the model's fault and must not stop the run.
    """
    crc = zlib.crc32(row.text)
    try:
        found = row.fields()
    except InputError as error:
        text = row.text.decode("utf-8", "replace")[:_RAW_TEXT_CHARS]
        origin = _origin(row, None, crc, rules, text=text)
        return [_refused(row, b"{", origin, str(row.number), error)]
    row_id = id_of(found, row.number)
    try:
        key, completions, several = _completions(found, rules.completion_key)
        label = _label(found, rules)
        suite = _suite(found, plan_for(label, rules.task), finder, rules, len(row.text))
        if suite is not None:
            suite = _in_language(suite, found, completions)
    except GraderError as error:
        origin = _origin(row, None, crc, rules)
        return [_refused(row, _head(row, found, {}), origin, row_id, error)]
    prompt = found.get("prompt")
    if suite is not None and not isinstance(prompt, str):
        prompt = ""  # A completion cannot continue a chat.
    prompt = _text(prompt, role="user") or ""
    problem_id = (suite.problem_id if suite else None) or _problem_id(found) or row_id
    return [
        RowSample(
            row=row,
            index=index if several else None,
            head=_head(row, found, {key: completion} if several else {}),
            origin=_origin(
                row, index if several else None, crc, rules, problem=problem_id, field=key
            ),
            id=row_id,
            problem_id=problem_id,
            submission=None
            if suite is None
            else Submission(id=row_id, completion=completion, suite=suite, prompt=prompt),
            rated=RatedCompletion(text=completion, prompt=prompt, label=label)
            if suite is None
            else None,
        )
        for index, completion in enumerate(completions)
    ]


def output_line(sample: RowSample, report: GradeReport) -> bytes:
    """Return an output row as a line of JSON with its newline."""
    comma = b"" if sample.head == b"{" else b","
    return b'%s%s"report":%s,"%s":%s}\n' % (
        sample.head,
        comma,
        report_json(report),
        ORIGIN_KEY.encode(),
        sample.origin,
    )


def refusal(sample: RowSample, policy: str) -> GradeReport:
    """Return the report of a row that cannot be graded."""
    return GradeReport(
        verdict=Verdict.INTERNAL_ERROR,
        score=0.0,
        reward=0.0,
        graded=False,
        passed=0,
        total=0,
        feedback=f"row {sample.row.number}: {sample.problem}",
        policy=policy,
    )


def id_of(row: Mapping[str, Any], number: int) -> str:
    """Return the id of a row: its own, else its problem's, else its number."""
    own = row.get("id")
    return str(own) if own is not None else _problem_id(row) or str(number)


def completion_of(row: Mapping[str, Any]) -> str:
    """Return the completion of an output row; "" if it has none."""
    origin = row.get(ORIGIN_KEY)
    field = origin.get("field") if isinstance(origin, dict) else None
    keys = (field,) if isinstance(field, str) else COMPLETION_KEYS
    return next((text for key in keys if (text := _text(row.get(key))) is not None), "")


# ---------------------------------------------------------------- inside


def _problem_id(row_fields: Mapping[str, Any]) -> str | None:
    ids = (row_fields.get(key) for key in PROBLEM_KEYS)
    return next((str(value) for value in ids if value is not None), None)


def _label(row: Mapping[str, Any], rules: RowRules) -> object:
    """Return a row's label; None if it has none.

    Raises:
        InputError: It has none, but the task needs one.
    """
    is_code = rules.task in (RewardTask.AUTO, RewardTask.CODE)
    usual = ("label",) if is_code else ANSWER_KEYS
    keys = usual if rules.label_key is None else (rules.label_key,)
    label = next((row[key] for key in keys if row.get(key) is not None), None)
    is_needed = rules.task is RewardTask.MATH or rules.label_key is not None
    if label is None and is_needed and rules.task is not RewardTask.CONVERSATION:
        raise _missing(row, keys, "label", "--label-key", is_named=rules.label_key is not None)
    return label


def _suite(
    row: Mapping[str, Any], plan: GradingPlan, finder: SuiteFinder, rules: RowRules, size: int
) -> TestSuite | None:
    """Return the tests of a row; None if tests alone do not grade it."""
    if not plan.is_tests:
        return None
    tests = plan.parts[0].label
    suite = finder.find(row if tests is row.get("label") else {**row, "label": tests}, size)
    if rules.limits == LimitOverrides():
        return suite
    return replace(suite, limits=suite.limits.override(rules.limits))


def _in_language(suite: TestSuite, row: Mapping[str, Any], completions: list[str]) -> TestSuite:
    """Return the suite for the language beside the label, if it is that of the code.

    It may also be that of the prompt, such as "en". So a language that is not graded, and a name of
    two letters, which could be Polish or Perl, count only if a completion's fence names it too.

    Raises:
        LabelError: Code in that language is not graded, or not by tests of this kind.
    """
    given = row.get("language")
    if not isinstance(given, str) or not given.strip() or suite.language != languages.PYTHON:
        return suite
    name = given.strip().lower()
    is_code = len(name) > _LONGEST_LANGUAGE_CODE and languages.find(name) is not None
    fence = re.compile(rf"```\s*{re.escape(name)}(?![\w+#-])", re.IGNORECASE)
    if is_code or any(fence.search(text) for text in completions):
        return with_language(suite, given)
    return suite


def _names(row: Mapping[str, Any]) -> str:
    return ", ".join(list(row)[:_SHOWN_FIELDS]) or "none"


def _completions(row: Mapping[str, Any], key: str | None) -> tuple[str, list[str], bool]:
    """Return the field of the completions, the completions, and whether they are a list."""
    keys = COMPLETION_KEYS if key is None else (key,)
    found = next((k for k in keys if row.get(k) is not None), None)
    if found is None:
        like = next((f", as in --completion-key {k}" for k in _LIKELY_KEYS if row.get(k)), "")
        option = f"--completion-key{like}"
        raise _missing(row, keys, "completion", option, is_named=key is not None)
    value = row[found]
    if (text := _text(value)) is not None:
        return found, [text], False
    texts = [_text(item) for item in value] if isinstance(value, list) else []
    known = [text for text in texts if text is not None]
    if not known or len(known) < len(texts):
        message = (
            f"the field {found} holds {_what(value)}; expected text, a chat, an object of texts by "
            "path, or a list of these; name another field by --completion-key"
        )
        raise MissingFieldError(message)
    return found, known, True


def _missing(
    row: Mapping[str, Any], keys: Sequence[str], what: str, option: str, *, is_named: bool
) -> InputError:
    if null := next((key for key in keys if key in row), None):
        return InputError(f"no {what}: the field {null} is null")
    hint = f", which {option} names" if is_named else f"; name the field by {option}"
    return MissingFieldError(
        f"no {what}: found the fields {_names(row)}; expected {' or '.join(keys)}{hint}"
    )


def _what(value: object) -> str:
    if value == []:
        return "an empty list"
    if _is_chat(value):
        return "a chat without a message of the role assistant"
    if isinstance(value, list):
        return f"a list with {_what(next(item for item in value if _text(item) is None))} in it"
    return {dict: "an object", bool: "a truth value"}.get(type(value), "a number")


def _text(value: object, role: str = "assistant") -> str | None:
    """Return the text of a string, of files by path, or of a chat's last message of a role."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and _are_files(value):
        return join_files(value)
    if not _is_chat(value):
        return None
    said = [m["content"] for m in value if m.get("role", role) == role]
    return said[-1] if said else None


def _is_chat(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return (
        isinstance(value, list)
        and value != []
        and all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in value)
    )


def _are_files(value: Mapping[object, object]) -> bool:
    paths = [str(path) for path in value]
    texts = value.values()
    return (
        bool(paths)
        and all("." in path for path in paths)
        and all(isinstance(text, str) for text in texts)
    )


def _head(row: Row, found: Mapping[str, Any], changes: Mapping[str, Any]) -> bytes:
    """Return the row's JSON without its closing brace.

    The text is kept byte for byte, unless a field must change.
    """
    if not changes and REPORT_KEY not in found and ORIGIN_KEY not in found:
        return row.text[:-1].rstrip() if found else b"{"
    kept = {k: v for k, v in found.items() if k not in (REPORT_KEY, ORIGIN_KEY)}
    return json_bytes({**kept, **changes})[:-1]


def _origin(row: Row, index: int | None, crc: int, rules: RowRules, **more: str) -> bytes:
    origin: dict[str, Any] = {"line": row.number}
    if index is not None:
        origin["sample"] = index
    return json_bytes({**origin, "input": f"{crc:08x}", "run": rules.run, **more})


def _refused(row: Row, head: bytes, origin: bytes, row_id: str, problem: GraderError) -> RowSample:
    return RowSample(
        row=row,
        index=None,
        head=head,
        origin=origin,
        id=row_id,
        problem=str(problem),
        is_misread=head == b"{" or isinstance(problem, MissingFieldError),
    )
