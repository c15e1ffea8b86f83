"""The HTTP request for which this code runs: its id, and on whose behalf it came."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Empty outside of any request. Logs and jobs of the queue carry it."""

caller: ContextVar[str] = ContextVar("caller", default="")
"""Empty outside of any request. The work of different callers takes turns. Without blanks."""
