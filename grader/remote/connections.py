"""A pool of connections to one service. Requests can be cancelled from another thread."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from grader.process.exits import keep_from_forks
from grader.remote.address import Address

_CONNECT_S = 10.0
_IDLE_KEPT = 64
_IDLE_S = 60.0
"""Shorter than the service's own timeout, so that the service rarely closes one first."""
_PROBES = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""Keepalive probes: the loss of a host is noticed within half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A complete response."""

    status: int
    body: bytes
    retry_after_s: float | None
    """Seconds to wait before the next try, if the service asks for that."""


class RequestCancelledError(Exception):
    """The request was cancelled, or ran out of time or tries."""


class Cancellation:
    """Cancels one request from any thread, whatever the request waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cancelled = False
        self.event = threading.Event()
        """Set by `cancel`."""

    def hold(self, held: socket.socket | None) -> None:
        """Have `cancel` shut this socket down; None: no socket any more.

        Raises:
            RequestCancelledError: `cancel` was called already.
        """
        with self._lock:
            self._socket = held
            if self._is_cancelled and held is not None:
                raise RequestCancelledError

    def cancel(self) -> None:
        """Hang up, which the service notices. Repeats harmlessly."""
        with self._lock:
            self._is_cancelled = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
        self.event.set()


class Connections:
    """A pool of connections to one address. Safe for many threads."""

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self._address = address
        self._tls = ssl.create_default_context() if address.is_tls else None
        self._lock = threading.Lock()
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    def post(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        deadline: float,
        cancellation: Cancellation,
    ) -> Response:
        """Send a request and wait for its answer.

        Args:
            path: The path of the endpoint.
            body: JSON.
            headers: Added to those that every request has.
            deadline: By `time.monotonic`.
            cancellation: Cancels the request.

        Raises:
            OSError: There was no connection, it broke, or the deadline passed.
            http.client.HTTPException: The response is not valid HTTP.
            RequestCancelledError: The request was cancelled.
        """
        connection = self._take_idle()
        if connection is not None:
            try:
                return self._exchange(connection, path, body, headers, deadline, cancellation)
            except (OSError, http.client.HTTPException):
                # The idle connection may have been closed: try once more with a new one.
                if cancellation.event.is_set() or time.monotonic() > deadline:
                    raise
        return self._exchange(self._connect(deadline), path, body, headers, deadline, cancellation)

    def close(self) -> None:
        """Close the idle connections. Repeats harmlessly."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        deadline: float,
        cancellation: Cancellation,
    ) -> Response:
        own = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._address.token is not None:
            own["Authorization"] = f"Bearer {self._address.token}"
        is_kept = False
        try:
            cancellation.hold(connection.sock)
            connection.sock.settimeout(max(0.001, deadline - time.monotonic()))
            # A service may refuse a large body before it has read all of it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", self._address.path + path, body, {**own, **headers})
            answer = connection.getresponse()
            response = Response(
                status=answer.status,
                body=answer.read(),
                retry_after_s=_seconds(answer.getheader("Retry-After")),
            )
            is_kept = not answer.will_close
        finally:
            cancellation.hold(None)
            if is_kept:
                self._keep(connection)
            else:
                connection.close()
        return response

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        timeout_s = max(0.001, min(_CONNECT_S, deadline - time.monotonic()))
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(
                self._address.host, self._address.port, timeout=timeout_s
            )
        else:
            connection = http.client.HTTPSConnection(
                self._address.host, self._address.port, timeout=timeout_s, context=self._tls
            )
        connection.connect()
        keep_from_forks(connection.sock)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _PROBES:
            if hasattr(socket, name):
                connection.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return connection

    def _take_idle(self) -> http.client.HTTPConnection | None:
        fresh = time.monotonic() - _IDLE_S
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, connection = self._idle.pop()
            if since > fresh:
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_KEPT:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def _seconds(header: str | None) -> float | None:
    try:
        return None if header is None else max(0.0, float(header))
    except ValueError:
        return None  # A date, which `grader serve` never sends.
