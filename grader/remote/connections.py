"""Connections to one service, kept for the next request, and cut off by whoever gives up."""

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
"""Less than the service keeps one, so that it is rarely closed under our hands."""
_PROBES = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""A host that vanished without a word is noticed within half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer, read whole."""

    status: int
    body: bytes
    retry_after_s: float | None
    """What it asks for before the next try."""


class CutOffError(Exception):
    """Whoever wanted an answer has given up."""


class Line:
    """One caller's way to be cut off, from any thread, whatever it waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False
        self.cut_off = threading.Event()
        """Set once nobody waits any more."""

    def hold(self, held: socket.socket | None) -> None:
        """Have `cut` shut a socket down; None: none any more.

        Raises:
            CutOffError: `cut` was called already.
        """
        with self._lock:
            self._socket = held
            if self._is_cut and held is not None:
                raise CutOffError

    def cut(self) -> None:
        """Give up: the service sees a client who hung up. Repeats harmlessly."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
        self.cut_off.set()


class Connections:
    """Connections to one address. Safe for many threads."""

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self._address = address
        self._tls = ssl.create_default_context() if address.is_tls else None
        self._lock = threading.Lock()
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, deadline: float, line: Line
    ) -> Response:
        """Send a request and wait for its answer.

        Args:
            path: Of the endpoint.
            body: JSON.
            headers: Besides those that every request has.
            deadline: Of `time.monotonic`.
            line: By which the caller may be cut off.

        Raises:
            OSError: There was no answer: no connection, one that broke, the deadline.
            http.client.HTTPException: What came is no HTTP.
            CutOffError: The line was cut.
        """
        connection = self._take_idle()
        if connection is not None:
            try:
                return self._exchange(connection, path, body, headers, deadline, line)
            except (OSError, http.client.HTTPException):
                # It may have been closed while it was idle, which says nothing about the service.
                if line.cut_off.is_set() or time.monotonic() > deadline:
                    raise
        return self._exchange(self._connect(deadline), path, body, headers, deadline, line)

    def close(self) -> None:
        """Close what is idle. Repeats harmlessly."""
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
        line: Line,
    ) -> Response:
        own = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._address.token is not None:
            own["Authorization"] = f"Bearer {self._address.token}"
        is_kept = False
        try:
            line.hold(connection.sock)
            connection.sock.settimeout(max(0.001, deadline - time.monotonic()))
            # A service that refuses a large body need not read it to its end before it says so.
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
            line.hold(None)
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
        return None  # A date, which no service of ours sends.
