"""Try again what a sandbox failed to do."""

import logging
from collections.abc import Callable
from typing import TypeVar

from grader.model.errors import SandboxError

T = TypeVar("T")

_log = logging.getLogger(__name__)


def retrying(work: Callable[[], T], *, retries: int) -> T:
    """Do something, at most `retries` times more if a sandbox fails.

    Raises:
        SandboxError: It failed the last time, too, or will fail each time.
    """
    left = retries
    while True:
        try:
            return work()
        except SandboxError as error:
            if not error.retryable or left == 0:
                raise
            left -= 1
            _log.warning("trying again after a sandbox failed: %s", error)
