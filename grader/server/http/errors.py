"""Error responses, all in one form: a status and a reason in words."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

VARIANTS = ("one", "many")
"""Names by which pydantic tells apart the forms of one body; clients never see them."""

_OF_OURS = "Value error, "
"""What pydantic puts before a message of a check of ours."""
_COMPLAINTS = 5
_WORDS_CHARS = 300


class ErrorResponse(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(frozen=True)

    detail: str = Field(description="what was found and what was expected")


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "the body is not JSON, or a header is malformed"},
    401: {"model": ErrorResponse, "description": "no token, or a wrong one"},
    408: {"model": ErrorResponse, "description": "the body did not come in time"},
    413: {"model": ErrorResponse, "description": "the body is too large"},
    415: {"model": ErrorResponse, "description": "the content type is not JSON"},
    422: {"model": ErrorResponse, "description": "the body has unexpected content"},
    503: {"model": ErrorResponse, "description": "the service is stopping: send it to another"},
}
"""Error responses of every endpoint with a body, for the OpenAPI page."""


def complaint(errors: Sequence[Any]) -> str:
    """Return what is wrong with a body, without quoting its values.

    Args:
        errors: Errors of pydantic or FastAPI.
    """
    lines = [_line(error) for error in errors[:_COMPLAINTS]]
    if len(errors) > _COMPLAINTS:
        lines.append(f"and {len(errors) - _COMPLAINTS} more")
    return "; ".join(lines)


def _line(error: Any) -> str:
    if error.get("type") == "json_invalid":
        return f"body: not JSON: {error['ctx']['error']} at character {error['loc'][-1] + 1}"
    place = ".".join(str(part) for part in error.get("loc", ()) if part not in VARIANTS)
    words = str(error.get("msg", "not valid")).removeprefix(_OF_OURS)[:_WORDS_CHARS]
    # A field's name comes from the client, and may hold lone surrogates.
    return f"{place[:_WORDS_CHARS]}: {words}".encode("utf-8", "replace").decode()
