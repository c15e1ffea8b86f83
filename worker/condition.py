"""Whether this worker's sandbox works: found out when a job failed, and again until it does."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)

_LOOK_S = 2.0
"""Between two tries while the sandbox does not work."""


class Condition:
    """The condition of one worker, which is well at first. Safe for many threads."""

    def __init__(self, try_sandbox: Callable[[], None], on_change: Callable[[], None]) -> None:
        """Try nothing yet.

        Args:
            try_sandbox: Raises if the sandbox does not work.
            on_change: Called whenever `is_sick` has changed.
        """
        self._try_sandbox = try_sandbox
        self._on_change = on_change
        self._lock = threading.Lock()
        self._is_sick = False
        self._closed = threading.Event()
        self._recovery: threading.Thread | None = None

    @property
    def is_sick(self) -> bool:
        """Whether the sandbox did not work when it was last tried."""
        return self._is_sick

    def look(self) -> bool:
        """Try the sandbox, unless it is known not to work; return whether it works."""
        with self._lock:
            if not self._is_sick and not self._works():
                self._is_sick = True
                self._recovery = threading.Thread(target=self._recover, name="sick", daemon=True)
                self._recovery.start()
                self._on_change()
            return not self._is_sick

    def close(self) -> None:
        """Try no more."""
        self._closed.set()
        if self._recovery is not None:
            self._recovery.join()

    def _recover(self) -> None:
        while not self._closed.wait(_LOOK_S):
            if self._works():
                with self._lock:
                    self._is_sick = False
                    self._on_change()
                _log.warning("the sandbox works again; taking jobs")
                return

    def _works(self) -> bool:
        try:
            self._try_sandbox()
        except Exception as error:  # noqa: BLE001 - whatever fails here would fail for a job
            if not self._is_sick:
                _log.error("the sandbox does not work; taking no jobs until it does: %s", error)
            return False
        return True
