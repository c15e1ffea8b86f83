"""Serve the report of a graded file over HTTP: the page, and each sample on request.

It is meant for one person at their own machine. Without a token, only requests whose `Host` is a
loopback address are served, so that no page of another site can read the report.
"""

import os
import secrets
import socket
import threading
from typing import TYPE_CHECKING

from grader.model.errors import ConfigurationError, InputError
from grader.model.wire import json_bytes
from grader.report.document import Document
from grader.report.pages import SERVED_HEADERS, assets

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.requests import Request

_COOKIE = "grader_report"
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def new_token() -> str:
    """Return a random token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class _Shown:
    """What is served of a report."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.page = document.page("static/").encode()
        self.tables = json_bytes(document.tables())
        self.entries = {entry.line: entry for entry in document.file.entries}


def make_app(document: Document, token: str | None) -> "Starlette":
    """Return the application.

    Args:
        document: The report. Its page and tables are made here, before the first request, and
            again if the page is asked for and its files have grown.
        token: The token that the address must carry once; None: no token, but loopback addresses
            only.

    Raises:
        ConfigurationError: starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import RedirectResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        message = "serving needs starlette and uvicorn: pip install 'grader-rl[report,server]'"
        raise ConfigurationError(message) from error

    shown = _Shown(document)
    lock = threading.Lock()

    def read_on() -> None:
        """Show the rows that were added since, as by a training that goes on."""
        nonlocal shown
        with lock:
            try:
                newer = document.read_on()
            except InputError:
                return  # Such as a file that is gone: what was read is still shown.
            if newer is not None:
                shown = _Shown(newer)

    def respond(body: bytes | str, kind: str, status: int = 200) -> Response:
        headers = {**SERVED_HEADERS, "Cache-Control": "no-store"}
        return Response(body, status, headers, media_type=kind)

    def refusal(request: "Request") -> Response | None:
        """Return the response to a request without access; None if it has access."""
        if token is None:
            host = request.headers.get("host", "")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name in _LOOPBACK_NAMES:
                return None
            return respond("This is served to loopback addresses only.\n", "text/plain", 421)
        given = request.query_params.get("token")
        if given is not None and secrets.compare_digest(given.encode(), token.encode()):
            response = RedirectResponse(request.url.path, 303)
            response.set_cookie(_COOKIE, token, httponly=True, samesite="strict")
            return response
        kept = request.cookies.get(_COOKIE, "")
        if secrets.compare_digest(kept.encode(), token.encode()):
            return None
        words = "Open the address that the command printed: it carries a token.\n"
        return respond(words, "text/plain", 401)

    def guarded(show: "Callable[[Request], Response]") -> "Callable[[Request], Response]":
        def answer(request: "Request") -> Response:
            try:
                return refusal(request) or show(request)
            except InputError:
                return respond("The file has changed since it was read.\n", "text/plain", 409)

        return answer

    def show_page(_: "Request") -> Response:
        read_on()
        return respond(shown.page, "text/html; charset=utf-8")

    def show_tables(_: "Request") -> Response:
        return respond(shown.tables, "application/json")

    def show_asset(request: "Request") -> Response:
        found = assets().get(request.path_params["name"])
        if found is None:
            return respond("There is no such file.\n", "text/plain", 404)
        return respond(found.text, found.content_type)

    def show_sample(request: "Request") -> Response:
        entry = shown.entries.get(request.path_params["line"])
        if entry is None:
            return respond("There is no such row.\n", "text/plain", 404)
        return respond(shown.document.sample(entry), "text/html; charset=utf-8")

    def show_found(request: "Request") -> Response:
        lines = shown.document.lines_with(request.query_params.get("text", ""))
        return respond(json_bytes(lines), "application/json")

    pages = {
        "/": show_page,
        "/tables.json": show_tables,
        "/static/{name}": show_asset,
        "/found": show_found,
        "/sample/{line:int}": show_sample,
    }
    return Starlette(routes=[Route(path, guarded(show)) for path, show in pages.items()])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; `port` 0 means any free port.

    Raises:
        ConfigurationError: The address is in use, or does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        message = f"cannot listen at {host}, port {port}: {reason}"
        raise ConfigurationError(message) from error


def run(app: "Starlette", listening: socket.socket) -> None:
    """Serve until a signal ends the process.

    Raises:
        ConfigurationError: uvicorn is not installed.
    """
    try:
        import uvicorn
    except ImportError as error:
        message = "serving needs uvicorn: pip install 'grader-rl[report,server]'"
        raise ConfigurationError(message) from error
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])
