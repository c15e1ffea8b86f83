"""Builders of what a run leaves behind."""

import json
from typing import Any

from grader.model import Limits, Usage
from grader.sandbox.contract import RunOutcome

LIMITS = Limits()


def events(*lines: dict[str, Any] | bytes) -> bytes:
    """Return a report of these events; bytes go in as they are."""
    encoded = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return b"".join(line + b"\n" for line in encoded)


def make_outcome(stdout: bytes | str = b"", report: bytes = b"", **overrides: Any) -> RunOutcome:
    """Return the outcome of a run that ended in order."""
    defaults: dict[str, Any] = {
        "index": 0,
        "exit_code": None if {"exit_signal", "limit_hit"} & set(overrides) else 0,
        "exit_signal": None,
        "stdout": stdout.encode() if isinstance(stdout, str) else stdout,
        "stderr": b"",
        "dropped_bytes": 0,
        "report": report,
        "usage": Usage(cpu_time_s=0.5, wall_time_s=0.75, peak_memory_bytes=9 * 1024 * 1024),
    }
    return RunOutcome(**{**defaults, **overrides})
