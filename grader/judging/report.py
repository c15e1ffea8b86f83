"""Read what a runner wrote on its private descriptor, believing none of it.

In shared mode a submission can write there too: lines may be forged, repeated, cut, endless or
no JSON at all. A line that is not one of the events below does not exist, and neither does
anything past the caps; what an honest run would have had to report is then missing, which never
helps a submission.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

MAX_REPORT_BYTES = 32 * 1024 * 1024
MAX_EVENTS = 50_000
_MAX_TEXT_CHARS = 100_000
_SHORT_BYTES = 4 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An exception as the runner saw it; all of it is the submission's word."""

    type: str = ""
    message: str = ""
    traceback: str = ""
    line: int | None = None
    """Of a compile error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEvent:
    """How one case went, as reported."""

    key: int | str
    """The number of a script's case, or a pytest node id."""
    outcome: str
    trouble: Trouble


@dataclass(slots=True, kw_only=True)
class Report:
    """All that one run reported, in order."""

    compile_error: Trouble | None = None
    exceptions: dict[str, Trouble] = field(default_factory=dict)
    """The first uncaught exception by where it rose: "load", "setup" or "call"."""
    values: list[Any] = field(default_factory=list)
    """Encoded results of a call; honest runs have at most one."""
    unencodable: Trouble | None = None
    """The type of a result that is no plain data, and the reason."""
    collected: list[str] = field(default_factory=list)
    collect_errors: list[tuple[str, Trouble]] = field(default_factory=list)
    """Paths of test modules that pytest could not collect, and why."""
    started: str | None = None
    """The test that pytest began last."""
    cases: list[CaseEvent] = field(default_factory=list)
    done: bool = False
    forged_frame: bool = False
    """Whether the judge met what no honest candidate sends."""
    state_per: str = ""
    """How long a state of the submission lasted, in the judge's words: test, module or suite."""
    crossed: bool = False
    """Whether a test used an object of the submission's that had lasted for an earlier one only."""
    exit_status: int = 0
    """Of the pytest session, where it came to its end."""

    @property
    def uncaught(self) -> Trouble | None:
        """The first uncaught exception outside a case."""
        return next(iter(self.exceptions.values()), None)


def read_report(report: bytes) -> Report:
    """Return the events in `report`; never raises, whatever it holds.

    Shared with others who read the same: not to be changed.
    """
    return _read_short(report) if len(report) <= _SHORT_BYTES else _read(report)


def _read(report: bytes) -> Report:
    found = Report()
    if report:
        for event in _events(report):
            _add(found, event)
    return found


_read_short = lru_cache(maxsize=256)(_read)
"""Several look at a report, and those of submissions that pass are all the same."""


def _events(report: bytes) -> Iterator[Mapping[str, Any]]:
    lines = report[:MAX_REPORT_BYTES].split(b"\n", MAX_EVENTS)
    for line in lines[:MAX_EVENTS]:
        if not line:
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # not JSON, not UTF-8, a number or nesting too large
            continue
        if isinstance(event, dict):
            yield event


def _add(found: Report, event: Mapping[str, Any]) -> None:
    match event.get("e"):
        case "compile_error":
            found.compile_error = found.compile_error or _trouble(event)
        case "exception":
            found.exceptions.setdefault(_text(event, "where"), _trouble(event))
        case "result" if "value" in event:
            found.values.append(event["value"])
        case "unencodable":
            reason = Trouble(type=_text(event, "type"), message=_text(event, "reason"))
            found.unencodable = found.unencodable or reason
        case "collected" if isinstance(event.get("ids"), list):
            found.collected.extend(id for id in event["ids"] if isinstance(id, str))
        case "collect_error":
            found.collect_errors.append((_text(event, "path"), _trouble(event)))
        case "case":
            key = event["i"] if type(event.get("i")) is int else _text(event, "id")
            found.cases.append(
                CaseEvent(key=key, outcome=_text(event, "outcome"), trouble=_trouble(event))
            )
        case "start":
            found.started = _text(event, "id")
        case "done":
            found.done = True
            status = event.get("exit", 0)
            found.exit_status = status if type(status) is int else 1
        case "forged_frame":
            found.forged_frame = True
        case "state":
            found.state_per = _text(event, "per")
        case "crossed":
            found.crossed = True
        case _:
            pass


def _trouble(event: Mapping[str, Any]) -> Trouble:
    line = event.get("line")
    return Trouble(
        type=_text(event, "type"),
        message=_text(event, "message"),
        traceback=_text(event, "traceback", from_end=True),
        line=line if type(line) is int else None,
    )


def _text(event: Mapping[str, Any], key: str, *, from_end: bool = False) -> str:
    text = event.get(key)
    if not isinstance(text, str):
        return ""
    return text[-_MAX_TEXT_CHARS:] if from_end else text[:_MAX_TEXT_CHARS]
