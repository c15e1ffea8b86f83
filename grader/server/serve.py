"""Listening: whom the service may be offered to, and how it starts and stops."""

import asyncio
import contextlib
import ipaddress
import resource
import signal
import socket

import structlog
import uvicorn

from grader.config.server import ServerSettings
from grader.config.settings import Settings
from grader.model.errors import ConfigurationError
from grader.server.app import make_app
from grader.server.engine import Engine
from grader.server.http.connection import Connection
from grader.server.http.logs import show_logs

_log = structlog.stdlib.get_logger(__name__)

_BACKLOG = 4096
_KEEP_ALIVE_S = 75
"""Longer than clients keep an idle connection, so that it is they who close it."""
_LAST_WORDS_S = 5
"""For what is sent away at the end of the drain."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then finish what runs, and return.

    Raises:
        ConfigurationError: The service would be open to everybody, or its port is not to be had.
        GraderError: What the settings name does not exist or cannot work here.
    """
    check_exposure(settings.server)
    show_logs(verbose=settings.server.verbose)
    _raise_open_files()
    with _listen(settings.server) as listener:
        app = make_app(settings)
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
        _Server(config, app.state.engine).serve_on(listener)
    _log.info("stopped")


def check_exposure(settings: ServerSettings) -> None:
    """Make sure that nobody offers the service to others by mistake.

    Raises:
        ConfigurationError: It would be, without a token.
    """
    if settings.token is not None or settings.anonymous or _is_loopback(settings.host):
        return
    message = (
        f"other machines could reach {settings.host} and run code here without a token: set "
        "GRADER_SERVER_TOKEN, or GRADER_SERVER_ANONYMOUS=true where the network is yours alone"
    )
    raise ConfigurationError(message)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # A name may mean any address.


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
    """Allow as many descriptors as may be: every open request has one."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Server(uvicorn.Server):
    """Stops in two steps: sends away what has not begun, and after the drain everybody."""

    def __init__(self, config: uvicorn.Config, engine: Engine) -> None:
        super().__init__(config)
        self._engine = engine

    def serve_on(self, listener: socket.socket) -> None:
        """Serve until told to stop."""
        # uvicorn sends the signal on to whoever had it before; that would be the end of us.
        ignored = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGINT)}
        try:
            self.run(sockets=[listener])
        finally:
            for number, handler in ignored.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say where."""
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            _log.info("listening", host=host, port=port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what runs."""
        attendance = self._engine.attendance
        attendance.finish()
        _log.info("stopping", drain_s=self._engine.settings.server.drain_s)
        loop = asyncio.get_running_loop()
        loop.call_later(self._engine.settings.server.drain_s, attendance.end)
        await super().shutdown(sockets)
