"""What the runners of tests share: begin, talk to the submission's process, and end."""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.split.channel import Channel
from sandbox_images.harness.split.judge import Judge
from sandbox_images.harness.split.statuses import CANDIDATE_GONE, JUDGE_BROKEN


def limit_digits() -> None:
    """Limit the digits of integers as CPython does by default: tests for pytest can see it."""
    os.environ.pop("PYTHONINTMAXSTRDIGITS", None)
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)


@contextmanager
def beginning() -> Iterator[None]:
    """If this block raises an exception, tell the supervisor that it is our fault."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it is
        traceback.print_exc()
        end(JUDGE_BROKEN)


def connect(
    run: ConfinedRun,
    apart: dict[str, Any],
    reporter: Reporter,
    tell_refused: Callable[[str], object] | None = None,
) -> Judge:
    """Return the judge's end of the channel.

    Args:
        run: The judge's run.
        apart: What the tests use of the submission; see `grader.sandbox.payload.Apart`.
        reporter: The run's reporter.
        tell_refused: See `Judge`.
    """
    return Judge(
        Channel(run.connection),
        watched=apart["watched"],
        leave=lambda: end(CANDIDATE_GONE),
        tell_forged=lambda why: reporter.emit("forged_frame", reason=why),
        tell_refused=tell_refused,
    )


def end(status: int) -> NoReturn:
    """Flush and leave at once."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # a test may have closed or replaced it
            pass
    os._exit(status)
