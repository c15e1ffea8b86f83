"""Make hostile text and values short and inert, for feedback that a person or a model reads.

Whatever a submission printed, raised or returned goes into feedback on one line, of bounded length,
without control characters, bidirectional marks or anything else that could pass for the grader's
own words on a terminal or in a log.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

FEEDBACK_CHARS = 500
"""The longest feedback of a case or of a report."""

EXCERPT_CHARS = 100
"""The longest excerpt of one text or value inside feedback."""

_MAX_SHOWN_DEPTH = 6
_MAX_SHOWN_INT_BITS = 1024
_MAX_SORTED_SET = 50


def inert(text: str | bytes, limit: int = EXCERPT_CHARS) -> str:
    """Return `text` on one line, with unprintable characters escaped, cut to `limit` characters.

    Takes time in proportion to `limit`, not to the length of the text.
    """
    if isinstance(text, bytes):
        text = text[: 4 * limit].decode("utf-8", "backslashreplace")
    return shorten(_escaped(text[: limit + 1]), limit)


def quote(text: str | bytes, limit: int = EXCERPT_CHARS) -> str:
    r"""Return `text` in double quotes, escaped as in Python source; with its length if cut."""
    if isinstance(text, bytes):
        size = f"{len(text)} bytes"
        text = text[: 4 * limit].decode("utf-8", "backslashreplace")
    else:
        size = f"{len(text)} characters"
    head = text[: limit + 1].replace("\\", "\\\\").replace('"', '\\"')
    escaped = _escaped(head)
    if len(escaped) <= limit:
        return f'"{escaped}"'
    return f'"{escaped[:limit]}"… ({size})'


def shorten(text: str, limit: int = FEEDBACK_CHARS) -> str:
    """Return `text`; if it is longer than `limit`, an ellipsis replaces its end."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def show(value: Any, limit: int = EXCERPT_CHARS) -> str:
    """Return plain data as Python would write it, in at most `limit` characters.

    Reads no more of the value than it shows, so that large or deep values cost little.
    """
    pieces: list[str] = []
    room = limit
    for piece in _pieces(value, limit, 0):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            break
    return shorten("".join(pieces), limit)


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _pieces(value: Any, limit: int, depth: int) -> Iterator[str]:
    if type(value) is str:
        yield quote(value, limit)
    elif type(value) in (list, tuple, set, frozenset, dict):
        yield from _container_pieces(value, limit, depth)
    else:
        yield _leaf(value, limit)


def _container_pieces(value: Any, limit: int, depth: int) -> Iterator[str]:
    kind = type(value)
    opening, closing = _brackets(value)
    if depth == _MAX_SHOWN_DEPTH:
        yield f"{opening}…{closing}"
        return
    yield opening
    if kind in (set, frozenset) and len(value) <= _MAX_SORTED_SET:
        # Sorted, since the order of a set of strings differs between processes.
        value = [_Verbatim(text) for text in sorted(show(item, limit) for item in value)]
    for number, item in enumerate(value):
        if number:
            yield ", "
        yield from _pieces(item, limit, depth + 1)
        if kind is dict:
            yield ": "
            yield from _pieces(value[item], limit, depth + 1)
    if kind is tuple and len(value) == 1:
        yield ","
    yield closing


class _Verbatim(str):
    """Text that is already shown, and is not quoted again."""

    __slots__ = ()


def _brackets(value: Any) -> tuple[str, str]:
    match value:
        case list():
            return "[", "]"
        case tuple():
            return "(", ")"
        case frozenset():
            return "frozenset({", "})"
        case set() if not value:
            return "set(", ")"
        case _:
            return "{", "}"


def _leaf(value: Any, limit: int) -> str:
    if isinstance(value, _Verbatim):
        return value
    if type(value) is int and value.bit_length() > _MAX_SHOWN_INT_BITS:
        # Decimal takes quadratic time, and Python refuses more than 4,300 digits.
        return f"an int of {value.bit_length()} bits"
    if type(value) in (bytes, bytearray):
        return repr(value[:limit])
    if type(value) is Fraction:
        return f"Fraction({_leaf(value.numerator, limit)}, {_leaf(value.denominator, limit)})"
    if type(value) is Decimal:
        return f"Decimal({inert(str(value), limit)!r})"
    return inert(repr(value), limit)
