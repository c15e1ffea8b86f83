"""Integers as text: counts, and numbers with more digits than `int` accepts.

The latter can be right answers. Python refuses more than 4,300 digits, because `int` takes
quadratic time. A library should not change that limit for the whole process.
"""

import json
import re
from typing import Any

MAX_DIGITS = 315_000
"""Reading takes time that grows faster than their number: a sixth of a second for these."""

PIECE_DIGITS = 4000
"""Digits that `int` always accepts."""
_INTEGER = re.compile(r"\s*([+-]?)([0-9]+)\s*")


def read(text: str) -> int:
    """Return the integer of a text of decimal digits, such as one in JSON.

    Raises:
        ValueError: The text is not an integer, or has more than `MAX_DIGITS` digits.
    """
    if len(text) <= PIECE_DIGITS:
        return int(text)
    integer = _INTEGER.fullmatch(text)
    if integer is None:
        message = f"not an integer: {text[:40]!r}"
        raise ValueError(message)
    sign, digits = integer.groups()
    if len(digits) > MAX_DIGITS:
        message = f"an integer of {len(digits)} digits; at most {MAX_DIGITS} are read"
        raise ValueError(message)
    return -_joined(digits) if sign == "-" else _joined(digits)


def _joined(digits: str) -> int:
    if len(digits) <= PIECE_DIGITS:
        return int(digits)
    low = len(digits) // 2
    power: int = 10**low
    return _joined(digits[:-low]) * power + _joined(digits[-low:])


def load_json(text: str | bytes) -> Any:
    """Like `json.loads`, but accept integers of up to `MAX_DIGITS` digits.

    Raises:
        ValueError: The text is not JSON, or has an integer with more digits.
        RecursionError: The JSON is nested too deeply.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # An integer that `int` refuses; `read` is slower, so it is only used now.
        return json.loads(text, parse_int=read)


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: "1 sample", "2,000 samples"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
