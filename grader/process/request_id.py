"""The id of the request for which this code runs; logs and jobs of the queue carry it."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Empty outside of any request."""
