"""Try again what a sandbox failed to do."""

import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from grader.model.errors import SandboxError

T = TypeVar("T")

_log = logging.getLogger(__name__)

OPENING_S = 10.0
"""How long the first slot is tried again. An engine that does not answer takes a minute each time,
for which nobody who has just started a command should wait more than once."""


def retrying(work: Callable[[], T], *, retries: int, within_s: float = math.inf) -> T:
    """Do something, at most `retries` times more if a sandbox fails.

    Args:
        work: What to do.
        retries: How many times more.
        within_s: How many seconds after the first try the last may begin.

    Raises:
        SandboxError: It failed the last time, too, or will fail each time.
    """
    left, begun = retries, time.monotonic()
    while True:
        try:
            return work()
        except SandboxError as error:
            if not error.retryable or left == 0 or time.monotonic() > begun + within_s:
                raise
            left -= 1
            _log.warning("trying again after a sandbox failed: %s", error)
