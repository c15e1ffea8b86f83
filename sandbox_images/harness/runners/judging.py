"""What the judge's runners share: get the submission loaded elsewhere, and end."""

import os
import sys
from typing import Any, NoReturn

from sandbox_images.harness.confinement import Run
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.split.channel import Channel
from sandbox_images.harness.split.judge import CandidateGone, Judge, Loaded
from sandbox_images.harness.split.proxies import named_identifiers
from sandbox_images.harness.split.statuses import CANDIDATE_GONE

__all__ = ["CANDIDATE_GONE", "connect", "end", "load"]


def connect(run: Run, sources: list[str]) -> Judge:
    """Return the judge's end of the channel; `sources` are the suite's."""
    return Judge(Channel(run.connection), named_identifiers(sources))


def load(judge: Judge, reporter: Reporter) -> Loaded | Exception:
    """Have the submission executed; return what it has, or what it raised.

    Ends the process where there is nothing to test: the source does not compile, or the
    submission ended its own process.
    """
    try:
        loaded = judge.load()
    except CandidateGone:
        end(CANDIDATE_GONE)
    except Exception as error:  # noqa: BLE001 - whatever the submission raised
        return error
    if loaded.compile_error is not None:
        reporter.emit("compile_error", **_as_fields(loaded.compile_error))
        end(0)
    return loaded


def _as_fields(compile_error: dict[str, Any]) -> dict[str, Any]:
    return {name: compile_error.get(name) for name in ("type", "message", "line")}


def end(status: int) -> NoReturn:
    """Flush and leave at once."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a test may have closed or replaced it
            pass
    os._exit(status)
