"""Plain requests to busy endpoints, answered without FastAPI's layers.

To find an endpoint and gather its arguments takes FastAPI longer than most endpoints take
themselves. Almost all requests of a trainer need none of that: their only argument is a body of
JSON. All other requests, and all with something wrong, go on to FastAPI, which knows what to
answer.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from fastapi import APIRouter, FastAPI, Response
from fastapi.params import Header
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from grader.server.http.bodies import BufferedReceive

_BODY = "body"
"""The parameter of an endpoint that is its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectEndpoint:
    """An endpoint that may be called without FastAPI."""

    call: Callable[[Request, Any], Awaitable[Response]]
    """The endpoint's function. Parameters other than request and body have defaults."""
    body: TypeAdapter[Any]
    headers: frozenset[bytes]
    """The headers that are parameters, in lower case."""

    def suits(self, scope: Scope) -> bool:
        """Tell whether the body can be the only argument of a request, and is JSON."""
        kind = b""
        for name, value in scope["headers"]:
            if name in self.headers:
                return False
            if name == b"content-type":
                kind = kind or value
        is_json = kind.partition(b";")[0] == b"application/json"
        return is_json and scope["method"] == "POST" and not scope["query_string"]


def direct_endpoints(
    routers: Iterable[APIRouter], paths: Collection[str]
) -> dict[str, DirectEndpoint]:
    """Return the endpoints of routers that are at some paths, by their paths."""
    return {
        route.path: _direct(route.endpoint)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and route.path in paths
    }


def _direct(call: Callable[..., Any]) -> DirectEndpoint:
    parameters = inspect.signature(call, eval_str=True).parameters
    headers = {
        name.replace("_", "-").encode()
        for name, parameter in parameters.items()
        if any(isinstance(each, Header) for each in get_args(parameter.annotation))
    }
    body = TypeAdapter(parameters[_BODY].annotation)
    return DirectEndpoint(call=call, body=body, headers=frozenset(headers))


class DirectRequests:
    """ASGI middleware that answers plain requests; see the module. It gets buffered bodies."""

    def __init__(
        self, app: ASGIApp, fastapi: FastAPI, endpoints: Mapping[str, DirectEndpoint]
    ) -> None:
        """Wrap `app`.

        Args:
            app: Answers all other requests.
            fastapi: Has the handlers of the errors that endpoints raise.
            endpoints: The endpoints by their paths.
        """
        self._app = app
        self._handlers = fastapi.exception_handlers
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        endpoint = self._endpoints.get(scope.get("path", ""))
        if (
            endpoint is None
            or not isinstance(receive, BufferedReceive)
            or receive.body is None
            or not endpoint.suits(scope)
        ):
            await self._app(scope, receive, send)
            return
        try:
            body = endpoint.body.validate_python(json.loads(receive.body))
        except (ValueError, RecursionError):
            await self._app(scope, receive, send)
            return
        scope["endpoint"] = endpoint.call
        request = Request(scope, receive)
        try:
            response = await endpoint.call(request, body)
        except Exception as error:
            known = (self._handlers.get(kind) for kind in type(error).__mro__)
            handle: Any = next(filter(None, known), None)
            if handle is None:
                raise
            response = await handle(request, error)
        await response(scope, receive, send)
