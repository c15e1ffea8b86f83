"""The context of a request: all code that works for the request finds it in a context variable."""

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from grader.process.call import Call
from grader.process.request_id import caller, request_id


@dataclass(slots=True, kw_only=True, eq=False)
class RequestContext:
    """A request, and the work for it. Safe for many threads."""

    id: str
    endpoint: str
    """The path of its endpoint, for logs and metrics."""
    caller: str = ""
    """Whose request it is, as the middleware names it."""
    arrived: float = field(default_factory=time.monotonic)
    """By `time.monotonic`."""
    has_begun: bool = False
    """Whether any of its submissions or programs has had a slot."""
    leader: "RequestContext | None" = None
    """The request whose work this one shares, by its idempotency key."""
    call: Call = field(default_factory=Call)
    """Its work, to cancel it."""

    @property
    def is_under_way(self) -> bool:
        """Whether a stopping service should finish it."""
        return self.has_begun or (self.leader is not None and self.leader.has_begun)


_current: ContextVar[RequestContext | None] = ContextVar("context", default=None)


def current_request() -> RequestContext | None:
    """Return the request for which this code runs; None outside of any request."""
    return _current.get()


def enter_request(context: RequestContext) -> Callable[[], None]:
    """Make a request the current one; call the returned function to undo that."""
    token, id_token = _current.set(context), request_id.set(context.id)
    caller_token = caller.set(context.caller)

    def leave() -> None:
        _current.reset(token)
        request_id.reset(id_token)
        caller.reset(caller_token)

    return leave
