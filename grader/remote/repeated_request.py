"""Repeating a request until the service answers it: which failures are temporary."""

import http.client
import itertools
import json
import random
import time
from collections.abc import Mapping

from grader.remote.connections import Cancellation, Connections, RequestCancelledError, Response

_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""A service that starts or stops sends these, or a proxy that does not reach it."""
_NO_ENDPOINT = frozenset({404, 405, 501})
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_SHOWN_CHARS = 300


class RefusedError(Exception):
    """The service refuses the request, and would refuse it again."""


class RepeatedRequest:
    """One request, repeated until it is answered. For one thread; any thread may cancel it."""

    def __init__(
        self,
        connections: Connections,
        cancellation: Cancellation,
        *,
        deadline: float,
        tries: int | None = None,
    ) -> None:
        """Send nothing yet.

        Args:
            connections: Connections to the service.
            cancellation: Cancels the request.
            deadline: By `time.monotonic`; no try begins later.
            tries: The most tries; None: any number.
        """
        self._connections = connections
        self._cancellation = cancellation
        self._deadline = deadline
        self._tries = tries
        self.last_fault = ""
        """Why the last try failed."""

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> object:
        """Return the decoded JSON of the response.

        Raises:
            RequestCancelledError: It was cancelled, the deadline passed, or all tries failed.
            RefusedError: The service refuses the request, or is not `grader serve`.
        """
        wait_s = _FIRST_WAIT_S
        for number in itertools.count(1):
            asked_s: float | None = None
            try:
                response = self._connections.post(
                    path, body, headers, deadline=self._deadline, cancellation=self._cancellation
                )
            except (OSError, http.client.HTTPException) as error:
                self.last_fault = f"{type(error).__name__}: {error}"
            else:
                if response.status not in _TEMPORARY:
                    return _read(response)
                self.last_fault = _complaint(response)
                asked_s = response.retry_after_s
            if number == self._tries:
                break
            # Random, so that requests that failed together are not repeated together.
            pause_s = (wait_s if asked_s is None else asked_s) * random.uniform(0.7, 1.3)  # noqa: S311
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            if time.monotonic() + pause_s > self._deadline or self._cancellation.event.wait(
                pause_s
            ):
                break
        raise RequestCancelledError


def _read(response: Response) -> object:
    if response.status != http.client.OK:
        raise RefusedError(_complaint(response))
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        message = "this is not grader serve: its response is not JSON"
        raise RefusedError(message) from error


def _complaint(response: Response) -> str:
    """Return the reason that a service gives, on one line."""
    try:
        detail = json.loads(response.body)["detail"]
    except (ValueError, RecursionError, LookupError, TypeError):
        detail = http.client.responses.get(response.status, "")
    hint = "; is this the address of grader serve?" if response.status in _NO_ENDPOINT else ""
    return f"status {response.status}: {' '.join(str(detail).split())[:_SHOWN_CHARS]}{hint}"
