"""Insisting on an answer: what of a service's failures passes, and is worth another try."""

import http.client
import itertools
import json
import random
import time
from collections.abc import Mapping

from grader.remote.connections import Connections, CutOffError, Line, Response

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Of a service that stops, starts, or is behind a proxy that does not find it."""
_NO_ENDPOINT = frozenset({404, 405, 501})
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_SHOWN_CHARS = 300


class RefusedError(Exception):
    """The service answers, and will not do it: trying again changes nothing."""


class Delivery:
    """One request, sent as often as it takes. For one thread; `line` may be cut by any."""

    def __init__(
        self,
        connections: Connections,
        line: Line,
        *,
        deadline: float,
        tries: int | None = None,
    ) -> None:
        """Send nothing yet.

        Args:
            connections: To the service.
            line: By which the caller may be cut off.
            deadline: Of `time.monotonic`, until which it is tried.
            tries: How often at most; None: as often as there is time for.
        """
        self._connections = connections
        self._line = line
        self._deadline = deadline
        self._tries = tries
        self.last_fault = ""
        """Why there is no answer yet."""

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> object:
        """Return the JSON that the service answers.

        Raises:
            CutOffError: The line was cut, the deadline has passed, or all tries have failed.
            RefusedError: The service refuses, or is no such service.
        """
        wait_s = _FIRST_WAIT_S
        for number in itertools.count(1):
            asked_s: float | None = None
            try:
                response = self._connections.post(
                    path, body, headers, deadline=self._deadline, line=self._line
                )
            except (OSError, http.client.HTTPException) as error:
                self.last_fault = f"{type(error).__name__}: {error}"
            else:
                if response.status not in _PASSING:
                    return _read(response)
                self.last_fault = _complaint(response)
                asked_s = response.retry_after_s
            if number == self._tries:
                break
            # Many that failed at once must not come back at once.
            pause_s = (wait_s if asked_s is None else asked_s) * random.uniform(0.7, 1.3)  # noqa: S311
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            if time.monotonic() + pause_s > self._deadline or self._line.cut_off.wait(pause_s):
                break
        raise CutOffError


def _read(response: Response) -> object:
    if response.status != http.client.OK:
        raise RefusedError(_complaint(response))
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        message = "what answers there is no grader: its answer is no JSON"
        raise RefusedError(message) from error


def _complaint(response: Response) -> str:
    """Return what a service says about its refusal, on one line."""
    try:
        detail = json.loads(response.body)["detail"]
    except (ValueError, RecursionError, LookupError, TypeError):
        detail = http.client.responses.get(response.status, "")
    hint = "; is this the address of grader serve?" if response.status in _NO_ENDPOINT else ""
    return f"status {response.status}: {' '.join(str(detail).split())[:_SHOWN_CHARS]}{hint}"
