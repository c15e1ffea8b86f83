"""Refusals, all of one form: a status and a reason in words."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

VARIANTS = ("one", "many")
"""Names of the forms that one body may have; no part of what a client sends."""

_COMPLAINTS = 5
_WORDS_CHARS = 300


class Problem(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(frozen=True)

    detail: str = Field(description="what was found and what was expected")


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the body is no JSON, or a header makes no sense"},
    401: {"model": Problem, "description": "no token, or a wrong one"},
    408: {"model": Problem, "description": "the body did not come in time"},
    413: {"model": Problem, "description": "the body is too large"},
    415: {"model": Problem, "description": "the body is not called JSON"},
    422: {"model": Problem, "description": "the body is not what is expected"},
    503: {"model": Problem, "description": "the service is stopping: send it again, elsewhere"},
}
"""What every endpoint with a body may answer, for the OpenAPI page."""


def complaint(errors: Sequence[Any]) -> str:
    """Return what is wrong with a body, without what it holds.

    Args:
        errors: Of pydantic or FastAPI.
    """
    lines = [_line(error) for error in errors[:_COMPLAINTS]]
    if len(errors) > _COMPLAINTS:
        lines.append(f"and {len(errors) - _COMPLAINTS} more")
    return "; ".join(lines)


def _line(error: Any) -> str:
    place = ".".join(str(part) for part in error.get("loc", ()) if part not in VARIANTS)
    words = str(error.get("msg", "not valid"))[:_WORDS_CHARS]
    # A field's name comes from the client, and may hold what no text can be encoded from.
    return f"{place[:_WORDS_CHARS]}: {words}".encode("utf-8", "replace").decode()
