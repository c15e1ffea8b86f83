"""What the judge's runners share: get the submission loaded elsewhere, and end."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sandbox_images.harness.confinement import Run
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.split.channel import Channel
from sandbox_images.harness.split.judge import Judge
from sandbox_images.harness.split.scope import named_identifiers
from sandbox_images.harness.split.statuses import CANDIDATE_GONE, JUDGE_BROKEN
from sandbox_images.harness.split.told import Loaded


@contextmanager
def beginning() -> Iterator[None]:
    """Tell the supervisor of whatever fails here that the submission has nothing to do with it."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it is
        traceback.print_exc()
        end(JUDGE_BROKEN)


def connect(run: Run, sources: list[str], reporter: Reporter) -> Judge:
    """Return the judge's end of the channel; `sources` are the suite's."""
    return Judge(
        Channel(run.connection),
        named_identifiers(sources),
        # At once: a test that expects an exception would take the end of the submission for one.
        leave=lambda: end(CANDIDATE_GONE),
        tell_forged=lambda: reporter.emit("forged_frame"),
        tell_crossed=lambda: _cross(reporter),
    )


def _cross(reporter: Reporter) -> NoReturn:
    reporter.emit("crossed")
    end(0)


def load(judge: Judge, reporter: Reporter) -> Loaded | Exception | SystemExit | None:
    """Have the submission executed; return what it has, or what it raised.

    None where there is nothing to test, which was reported: the source does not compile.
    """
    try:
        loaded = judge.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the submission raised
        return error
    if loaded.compile_error is not None:
        reporter.emit("compile_error", **loaded.compile_error)
        return None
    return loaded


def spoil(judge: Judge, outcome: dict[str, str]) -> dict[str, str]:
    """Return a case's outcome, or why it is none, though the tests may have hidden that."""
    refused = judge.take_refusal()
    if refused is None:
        return outcome
    return {"outcome": "error", "type": "NotServed", "message": refused}


@contextmanager
def branch(judge: Judge | None) -> Iterator[None]:
    """Have a copy of the submission serve what happens in here; without a judge, do nothing."""
    if judge is not None:
        judge.branches.begin()
    yield
    if judge is not None:
        judge.end_branch()


def end(status: int) -> NoReturn:
    """Flush and leave at once."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a test may have closed or replaced it
            pass
    os._exit(status)
