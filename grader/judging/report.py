"""Reads what a runner wrote to its private descriptor, without trusting it.

If tests and submission share a process, the submission can write there, too: lines may be forged,
repeated, cut, endless or not JSON. Lines that are not one of the events below, and everything past
the caps, are ignored. Then something is missing that an honest run reports, which never helps a
submission. The values of a line are counted in its bytes before it is decoded, since decoding takes
about 50 times its memory.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from grader.sandbox.contract import RunOutcome

MAX_REPORT_BYTES = 32 * 1024 * 1024
MAX_EVENTS = 50_000
MAX_NODES = 500_000
"""Limit for the values in all lines together; reading this many takes 0.1 s."""
_LONG_NUMBER = b"0" * 1000
_TO_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_ESCAPED = (b"\\\\", b'\\"')
_QUOTES_PER_NODE = 4
"""The quotes of a field with a name and a text."""
_MAX_TEXT_CHARS = 100_000
_SHORT_BYTES = 4 * 1024
_MAX_LINES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An exception as the runner reported it; the submission may have made up all of it."""

    type: str = ""
    message: str = ""
    traceback: str = ""
    line: int | None = None
    """The line of a compile error."""
    lines: frozenset[int] | None = None
    """The lines of the tests that the exception went through; None if they are unknown."""
    inside: bool = False
    """Whether it was raised in a call of the submission's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvent:
    """How one case went, as reported."""

    key: int | str
    """The number of a script's case, or a pytest node id."""
    outcome: str
    trouble: Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one run reported, in order."""

    compile_error: Trouble | None = None
    uncaught: Trouble | None = None
    """The first uncaught exception outside a case."""
    values: tuple[Any, ...] = ()
    """Encoded results of a call; honest runs have at most one."""
    unencodable: Trouble | None = None
    """The type of a result that is not plain data, and the reason."""
    collected: tuple[str, ...] = ()
    collect_errors: tuple[tuple[str, Trouble], ...] = ()
    """Paths of test modules that pytest could not collect, and why."""
    started: str | None = None
    """The test that pytest began last."""
    cases: tuple[CaseEvent, ...] = ()
    done: bool = False
    oversized: bool = False
    """Whether a line was left out because there would have been too many values."""
    forged_frame: bool = False
    """Whether the judge got something that an honest candidate never sends."""
    looked: frozenset[str] = frozenset()
    """What the submission looked at: frames, objects, tests."""
    refused: str | None = None
    """Why the tests need more of the submission than plain data."""
    exit_status: int = 0
    """The status of the pytest session, if that came to its end."""


class ReadRun(NamedTuple):
    """A run whose report was read. That is done once, since a report may be long."""

    outcome: RunOutcome
    report: Report
    max_nodes: int = MAX_NODES
    """See `read_report`."""


def read_run(outcome: RunOutcome) -> ReadRun:
    """Return a run with its report."""
    return ReadRun(outcome, read_report(outcome.report))


def read_report(report: bytes, *, max_nodes: int = MAX_NODES) -> Report:
    """Return the events in `report`. Never raises.

    Args:
        report: What the runner wrote.
        max_nodes: Limit for the values in all lines together; at least the 4,096 that fit into a
            short report.
    """
    return _read_short(report) if len(report) <= _SHORT_BYTES else _read(report, max_nodes)


_Events = defaultdict[str, list[Mapping[str, Any]]]


def _read(report: bytes, max_nodes: int = MAX_NODES) -> Report:
    events: _Events = defaultdict(list)
    left, is_oversized = max_nodes, False
    for line in _lines(report):
        nodes = _count_nodes(line, left)
        if nodes > left:
            is_oversized = True
            continue
        left -= nodes
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # not JSON, not UTF-8, a number or nesting too large
            continue
        if isinstance(event, dict) and isinstance(kind := event.get("e"), str):
            events[kind].append(event)
    return _report(events, is_oversized=is_oversized)


_read_short = lru_cache(maxsize=256)(_read)
"""Cached, since the reports of passing submissions are equal: 2 µs, and 65 µs to read one anew."""


def _lines(report: bytes) -> Iterator[bytes]:
    lines = report[:MAX_REPORT_BYTES].split(b"\n", MAX_EVENTS)
    return filter(None, lines[:MAX_EVENTS])


def _count_nodes(line: bytes, most: int) -> int:
    """Return about how many values some JSON has; any number above `most` if there are more.

    A line with a number of 1,000 digits has too many: no runner writes one, and reading it may take
    quadratic time.
    """
    nodes = _count_separators(line)
    if nodes <= most and not _has_long_number(line):
        return nodes
    for escaped in _ESCAPED:
        line = line.replace(escaped, b"")
    if line.count(b'"') > _QUOTES_PER_NODE * most:
        return most + 1
    bare = b"".join(line.split(b'"')[::2])  # without the contents of texts
    return most + 1 if _has_long_number(bare) else _count_separators(bare)


def _count_separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _has_long_number(text: bytes) -> bool:
    return _LONG_NUMBER in text.translate(_TO_ZEROS)


def _report(events: _Events, *, is_oversized: bool) -> Report:
    """Return the report of events by their kind. Missing and repeated events are tolerated."""
    status = next((event.get("exit", 0) for event in reversed(events["done"])), 0)
    return Report(
        compile_error=next(map(_trouble, events["compile_error"]), None),
        uncaught=next(map(_trouble, events["exception"]), None),
        values=tuple(event["value"] for event in events["result"] if "value" in event),
        unencodable=next(map(_unencodable, events["unencodable"]), None),
        collected=tuple(id for event in events["collected"] for id in _texts(event, "ids")),
        collect_errors=tuple((_text(e, "path"), _trouble(e)) for e in events["collect_error"]),
        started=next((_text(event, "id") for event in reversed(events["start"])), None),
        cases=tuple(map(_case, events["case"])),
        done=bool(events["done"]),
        oversized=is_oversized,
        forged_frame=bool(events["forged_frame"]),
        looked=frozenset(_text(event, "at")[:20] for event in events["looked"]),
        refused=next((_text(event, "reason") for event in reversed(events["refused"])), None),
        exit_status=status if type(status) is int else 1,
    )


def _case(event: Mapping[str, Any]) -> CaseEvent:
    key = event["i"] if type(event.get("i")) is int else _text(event, "id")
    return CaseEvent(key=key, outcome=_text(event, "outcome"), trouble=_trouble(event))


def _unencodable(event: Mapping[str, Any]) -> Trouble:
    return Trouble(type=_text(event, "type"), message=_text(event, "reason"))


def _texts(event: Mapping[str, Any], key: str) -> list[str]:
    texts = event.get(key)
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []


def _trouble(event: Mapping[str, Any]) -> Trouble:
    line = event.get("line")
    return Trouble(
        type=_text(event, "type"),
        message=_text(event, "message"),
        traceback=_text(event, "traceback", from_end=True),
        line=line if type(line) is int else None,
        lines=_lines_of(event.get("lines")),
        inside=event.get("inside") is True,
    )


def _lines_of(found: Any) -> frozenset[int] | None:
    if not isinstance(found, list):
        return None
    return frozenset(line for line in found[:_MAX_LINES] if type(line) is int)


def _text(event: Mapping[str, Any], key: str, *, from_end: bool = False) -> str:
    text = event.get(key)
    if not isinstance(text, str):
        return ""
    return text[-_MAX_TEXT_CHARS:] if from_end else text[:_MAX_TEXT_CHARS]
