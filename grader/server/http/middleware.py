"""ASGI middleware: gives each request an id, checks its access, and reads its body.

If a token is set, only requests with the token have access. A second token may open the metrics,
and nothing else.

Without a token, the service listens to its own machine only. But a browser there can still reach
it, for a page of any site, in two ways:

- directly; the browser then says so in `Sec-Fetch-Site`, or at least in `Origin`
- under a host name that the owner of the site has pointed at this machine (DNS rebinding); `Host`
  then has that name

The middleware also reads the bodies (`grader.server.http.bodies`). Only here can a client be made
to wait instead of being refused.
"""

import base64
import binascii
import contextlib
import hmac
import ipaddress
import json
import re
import secrets
import time
from collections.abc import Iterator

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.config.server import ServerSettings
from grader.process.garbage import RareCollection
from grader.process.tracing import span, trace_fields
from grader.server.http.bodies import BodyRoom, BufferedReceive, Refusal, read_body
from grader.server.http.request_context import RequestContext, enter_request
from grader.server.metrics import Metrics

OPEN_TO_ALL = frozenset(
    {"/", "/healthz", "/readyz", "/v1/ping", "/docs", "/openapi.json", "/docs/oauth2-redirect"}
)
"""Paths that need no token: their responses say nothing about submissions or their numbers."""
ASSETS_PATH = "/assets/"
"""Paths that begin so need no token either: the files of the service's page."""
METRICS_PATH = "/metrics"
"""The only path that `server.metrics_token` opens."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({b"same-origin", b"none"})
"""`Sec-Fetch-Site` of requests from our own page or from the address bar. Only browsers send it."""
_ID_CHARS = 128
_CALLER_CHARS = 64


class RequestMiddleware:
    """The middleware; see the module."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        metrics: Metrics,
        collection: RareCollection,
    ) -> None:
        """Wrap `app`."""
        self._app = app
        self._collection = collection
        self._settings = settings
        self._metrics = metrics
        self._token = None if settings.token is None else settings.token.encode()
        self._metrics_token = (
            None if settings.metrics_token is None else settings.metrics_token.encode()
        )
        self._room = BodyRoom(settings.held_bytes)
        self._trusts_names = settings.token is not None or settings.anonymous

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        context = RequestContext(
            id=_request_id(headers), endpoint=scope["path"], caller=self._caller(scope, headers)
        )
        response = _Response(send, context)
        leave_request = enter_request(context)
        # Each request is served by a task of its own, so this need not be undone.
        structlog.contextvars.bind_contextvars(request=context.id)
        self._metrics.open_requests.inc()
        try:
            with contextlib.ExitStack() as held:
                try:
                    _check_site(scope["method"], headers)
                    self._check_name(scope["path"], headers)
                    self._check_token(scope["path"], headers)
                    receive = await self._read(headers, receive, held)
                except Refusal as refusal:
                    await _refuse(response, refusal)
                    return
                with _span(headers, context):
                    await self._app(scope, receive, response)
        finally:
            leave_request()
            self._metrics.open_requests.dec()
            name = _endpoint(scope)
            self._metrics.request(name, response.status, time.monotonic() - context.arrived)

    def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        """Return the address of a request, with the name in its login, if that is checked."""
        login = _login(headers.get(b"authorization", b"")) if self._token else None
        name = "" if login is None else login[0].decode("latin-1")[:_CALLER_CHARS]
        address = (scope.get("client") or ("",))[0]
        # Without what separates callers, clients and classes in the ledger.
        return re.sub(r"[^\w.:@-]", "_", f"{name}@{address}" if name else address, flags=re.ASCII)

    def _check_token(self, path: str, headers: dict[bytes, bytes]) -> None:
        if self._token is None or _is_open(path):
            return
        shown = _shown_token(headers.get(b"authorization", b""))
        if _is_same(shown, self._token):
            return
        if not _is_same(shown, self._metrics_token):
            reason = "a token is needed: Authorization: Bearer TOKEN, or http://any:TOKEN@host"
            raise Refusal(401, reason)
        if path != METRICS_PATH:
            raise Refusal(403, f"this token opens {METRICS_PATH} only")

    def _check_name(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request whose `Host` is a name that an attacker may have made up."""
        if self._trusts_names or _is_open(path):
            return
        host = headers.get(b"host", b"localhost").decode("latin-1")
        name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
        if name != self._settings.host and not _is_plain(name.strip("[]")):
            reason = f"this machine is not known as {name[:80]!r} here; use its address"
            raise Refusal(403, reason)

    async def _read(
        self, headers: dict[bytes, bytes], receive: Receive, held: contextlib.ExitStack
    ) -> Receive:
        """Read the body; return a `receive` that hands it to the application."""
        most = self._settings.body_bytes
        declared = headers.get(b"content-length")
        if declared is None and b"transfer-encoding" not in headers:
            return receive
        if declared is not None and int(declared) > most:
            reason = f"the body has {int(declared)} bytes; at most {most} are taken"
            raise Refusal(413, f"{reason} (server.body_bytes)")
        lease = held.enter_context(self._room.lease())
        # At the end, when most of what was made of the body is free.
        held.callback(lambda: self._collection.count(lease.held))
        body = await read_body(receive, lease, self._settings)
        return BufferedReceive(body, receive)


@contextlib.contextmanager
def _span(headers: dict[bytes, bytes], context: RequestContext) -> Iterator[None]:
    with contextlib.ExitStack() as held:
        # FastAPI may have made a span itself. Probes get none: they would fill any store of traces.
        if not (trace_fields() or _is_open(context.endpoint)):
            parent = headers.get(b"traceparent", b"").decode("latin-1")
            ids = {"endpoint": context.endpoint, "request": context.id}
            held.enter_context(span("request", parent=parent, **ids))
        structlog.contextvars.bind_contextvars(**trace_fields())
        yield


def _is_open(path: str) -> bool:
    return path in OPEN_TO_ALL or path.startswith(ASSETS_PATH)


def _is_plain(name: str) -> bool:
    """Tell whether a host is an address, or the only name that DNS cannot redefine."""
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_site(method: str, headers: dict[bytes, bytes]) -> None:
    """Refuse a request that a page of another site makes a browser send: it would run code here."""
    if method in _READING:
        return
    site = headers.get(b"sec-fetch-site")
    is_own = _is_own_origin(headers) if site is None else site in _OWN_SITES
    if not is_own:
        raise Refusal(403, "a page of another site may not send this")


def _is_own_origin(headers: dict[bytes, bytes]) -> bool:
    """Tell whether `Origin`, which old browsers send alone, names the host of the request."""
    origin = headers.get(b"origin")
    if origin is None:
        return True  # It is not from a page.
    _, _, host = origin.lower().partition(b"://")
    return _without_usual_port(host) == _without_usual_port(headers.get(b"host", b"").lower())


def _without_usual_port(host: bytes) -> bytes:
    return host.removesuffix(b":80").removesuffix(b":443")


class _Response:
    """Passes a response on with the request's id, and notes its status."""

    def __init__(self, send: Send, context: RequestContext) -> None:
        self._send = send
        self._context = context
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = (b"x-request-id", self._context.id.encode())
            message = {**message, "headers": [*message.get("headers", ()), own]}
        await self._send(message)


def _endpoint(scope: Scope) -> str:
    """Return the route under which a request is counted: there are too many different paths."""
    path: str = scope["path"]
    if path in OPEN_TO_ALL:
        return path
    if "endpoint" not in scope:
        return "none"
    for name, value in reversed(scope.get("path_params", {}).items()):
        before, found, after = path.rpartition(f"/{value}")
        if found:
            path = f"{before}/{{{name}}}{after}"
    return path


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"detail": refusal.reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        # The unread rest of the body must not be taken for the next request.
        (b"connection", b"close"),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    if 0 < len(given) <= _ID_CHARS and given.isascii() and given.isprintable():
        return given
    return secrets.token_hex(8)


def _is_same(shown: bytes | None, token: bytes | None) -> bool:
    return shown is not None and token is not None and hmac.compare_digest(shown, token)


def _shown_token(authorization: bytes) -> bytes | None:
    """Return the token of a header: a bearer token, or the password of an address that has one."""
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    login = _login(authorization)
    return None if login is None else login[1]


def _login(authorization: bytes) -> tuple[bytes, bytes] | None:
    """Return the name and the password of a header; None if it has none."""
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name, _, password = base64.b64decode(rest, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    return name, password
