"""Start, listen and stop: `grader serve`."""

import asyncio
import contextlib
import ctypes
import logging
import resource
import signal
import socket

import structlog
import uvicorn

from grader.config.server import ServerSettings
from grader.config.settings import Settings
from grader.model import KiB
from grader.model.errors import ConfigurationError
from grader.process.logs import show_logs
from grader.server.app import make_app
from grader.server.http.connection import Connection
from grader.server.service import Service
from grader.text.hosts import is_loopback

_log = structlog.stdlib.get_logger(__name__)

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 256 * KiB
_BACKLOG = 4096
_KEEP_ALIVE_S = 75
"""Longer than clients keep an idle connection, so that the client closes it first."""
_LAST_WORDS_S = 5
"""Time to answer the requests that are cancelled at the end of the drain."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then finish the running requests, and return.

    Raises:
        ConfigurationError: Other machines could use the service without a token, or the port
            cannot be bound.
        GraderError: Something that the settings name does not exist or cannot work here.
    """
    check_exposure(settings.server)
    show_logs(logging.DEBUG if settings.server.verbose else logging.INFO, in_background=True)
    _raise_open_files()
    _give_back_memory()
    with _listen(settings.server) as listener:
        app = make_app(settings)
        app.state.service.collection.begin()
        config = uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=int(settings.server.drain_s) + _LAST_WORDS_S,
        )
        _Server(config, app.state.service).serve_on(listener)
    _log.info("stopped")


def check_exposure(settings: ServerSettings) -> None:
    """Check that the service is not exposed to other machines by mistake.

    Raises:
        ConfigurationError: Other machines could use the service without a token.
    """
    if settings.token is not None or settings.anonymous or is_loopback(settings.host):
        return
    message = (
        f"other machines could reach {settings.host or 'all addresses'} and run code here without "
        "a token: set GRADER_SERVER_TOKEN, or GRADER_SERVER_ANONYMOUS=true if the network is "
        "yours alone"
    )
    raise ConfigurationError(message)


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        message = f"cannot listen at {settings.host}, port {settings.port}: {error.strerror}"
        raise ConfigurationError(message) from error
    return listener


def _raise_open_files() -> None:
    """Raise the limit of open files to its hard limit: every open request takes one."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _give_back_memory() -> None:
    """Have large blocks of memory go back to the kernel when they are freed.

    Otherwise glibc keeps blocks of up to 32 MiB for later, once it has seen some, such as bodies.
    """
    with contextlib.suppress(AttributeError):  # Other libraries have no such option.
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


class _Server(uvicorn.Server):
    """Stops in two steps: cancels the requests that have not begun, then, after the drain, all."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def serve_on(self, listener: socket.socket) -> None:
        """Serve until told to stop."""
        # At its end, uvicorn raises the signal again for the handlers from before: the default
        # handlers would kill this process.
        ignored = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGINT)}
        try:
            self.run(sockets=[listener])
        finally:
            for number, handler in ignored.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log the address."""
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            _log.info("listening", host=host, port=port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the running requests."""
        open_requests = self._service.open_requests
        open_requests.drain()
        _log.info("stopping", drain_s=self._service.settings.server.drain_s)
        loop = asyncio.get_running_loop()
        loop.call_later(self._service.settings.server.drain_s, open_requests.cancel_all)
        await super().shutdown(sockets)
