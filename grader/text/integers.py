"""Integers of more digits than `int` reads, which are right answers like any other.

Python refuses more than 4,300 digits, as reading them takes quadratic time. To lift that for the
whole process is not for a library to do.
"""

import json
import re
from typing import Any

MAX_DIGITS = 315_000
"""Reading takes time that grows faster than their number: a sixth of a second for these."""

PIECE_DIGITS = 4000
"""What `int` reads in any case."""
_INTEGER = re.compile(r"\s*([+-]?)([0-9]+)\s*")


def read(text: str) -> int:
    """Return the integer that a text of decimal digits stands for, such as one in JSON.

    Raises:
        ValueError: It is none, or of more than `MAX_DIGITS` digits.
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
    """Return what `json.loads` does, with integers of up to `MAX_DIGITS` digits.

    Raises:
        ValueError: It is not JSON, or has an integer of more.
        RecursionError: It is nested too deeply.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:  # an integer that `int` refuses; by `read`, all of them take longer
        return json.loads(text, parse_int=read)
