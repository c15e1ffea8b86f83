"""Reading fields of rows that nobody has checked: every surprise is a LabelError that names it."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, cast

from grader.errors import LabelError, SuiteError
from grader.model import LimitOverrides, Limits, MiB
from grader.suites.format import Row

_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]*)")
_PYTHON_NAMES = frozenset({"", "py", "python", "python3", "python 3", "pypy3"})


def text(row: Row, name: str) -> str:
    """Return a field that must be text, as `clean` makes it.

    Raises:
        LabelError: It is missing, or no text.
    """
    value = row.get(name)
    if not isinstance(value, str):
        raise _wrong(name, value, "text")
    return clean(value)


def optional_text(row: Row, name: str) -> str | None:
    """Return a field that may be missing, null or empty; then None.

    Raises:
        LabelError: It holds something else than text.
    """
    return text(row, name) or None if row.get(name) is not None else None


def any_text(row: Row, *names: str) -> str:
    """Return the first of `names` that holds text, else an empty text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return clean(value)
    return ""


def texts(row: Row, name: str) -> tuple[str, ...]:
    """Return a field that must be a list of texts; missing or null is an empty list.

    Raises:
        LabelError: It holds something else.
    """
    value = row.get(name)
    if value is None:
        return ()
    if not is_list(value) or not all(isinstance(item, str) for item in value):
        raise _wrong(name, value, "a list of texts")
    return tuple(clean(item) for item in value)


def mapping(row: Row, name: str) -> Row:
    """Return a field that must be an object, or JSON text of one.

    Raises:
        LabelError: It holds something else.
    """
    value = structure(row.get(name), name)
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "an object")
    return value


def items(row: Row, name: str) -> Sequence[object]:
    """Return a field that must be a list, or JSON text of one.

    Raises:
        LabelError: It holds something else.
    """
    value = structure(row.get(name), name)
    if not is_list(value):
        raise _wrong(name, value, "a list")
    return value


def structure(value: object, name: str) -> object:
    """Return `value`, decoded where it is JSON text.

    Raises:
        LabelError: The text is no JSON.
    """
    return load_json(value, name) if isinstance(value, str) else value


def load_json(value: str, name: str) -> object:
    """Decode JSON text; `name` says in errors where it came from.

    Raises:
        LabelError: It does not decode, or nests or counts past what Python decodes.
    """
    try:
        return cast("object", json.loads(value))
    except (ValueError, RecursionError) as error:
        message = f"{name} is not JSON: {error}; it starts with {value[:40]!r}"
        raise LabelError(message) from error


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether `value` is a list as JSON or a table reader gives it."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def clean(value: str) -> str:
    """Return `value` with CRLF line ends made LF and without a byte order mark.

    Raises:
        SuiteError: It has lone surrogates, which no program can be given as UTF-8.
    """
    if not value.isascii():
        value = value.removeprefix("\ufeff")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            message = f"the tests hold text that is not Unicode: {error}"
            raise SuiteError(message) from error
    return value.replace("\r\n", "\n") if "\r" in value else value


def identifier(row: Row, *names: str) -> str | None:
    """Return the first of `names` that holds an id: a text, or a number as text."""
    for name in names:
        value = row.get(name)
        if (isinstance(value, str) and value) or type(value) is int:
            return str(value)
    return None


def require_python(language: object) -> None:
    """Refuse tests of another language.

    Raises:
        LabelError: `language` names something else than Python 3.
    """
    if isinstance(language, str) and language.lower() not in _PYTHON_NAMES:
        message = f"language not supported: {language!r}; only Python 3 can be graded"
        raise LabelError(message)


def time_limits(cpu_time_s: float, *, memory_bytes: int | None = None) -> LimitOverrides:
    """Return overrides for a CPU time, with a wall-time backstop that it fits into."""
    needed_s = 2 * cpu_time_s
    wall_time_s = needed_s if needed_s > Limits().wall_time_s else None
    return LimitOverrides(cpu_time_s=cpu_time_s, wall_time_s=wall_time_s, memory_bytes=memory_bytes)


def limits(row: Row) -> LimitOverrides:
    """Read the limits of a contest problem's row.

    `time_limit` is seconds, {seconds, nanos} (CodeContests) or a text such as "2.0 seconds"
    (TACO). Memory is `memory_limit_bytes`, or `memory_limit` in megabytes, also as text. Zero
    and null mean "not given", as in the files that have these fields.

    Raises:
        LabelError: A limit is none of these.
    """
    memory_bytes = round(_amount(row, "memory_limit_bytes", {}))
    megabytes = _amount(row, "memory_limit", {"megabytes": 1, "mb": 1})
    memory = memory_bytes or round(megabytes * MiB) or None
    seconds = _amount(row, "time_limit", {"seconds": 1, "second": 1, "s": 1, "ms": 1e-3})
    return (
        time_limits(seconds, memory_bytes=memory)
        if seconds
        else LimitOverrides(memory_bytes=memory)
    )


def _amount(row: Row, name: str, units: Mapping[str, float]) -> float:
    """Return a field that is a number, or a text of a number and one of `units`; else 0."""
    value = row.get(name)
    factor = 1.0
    if isinstance(value, str) and (found := _QUANTITY.fullmatch(value.strip())):
        factor = units.get(found[2].lower(), math.nan) if found[2] else 1.0
        value = float(found[1])
    elif isinstance(value, Mapping):
        whole, nanos = value.get("seconds") or 0, value.get("nanos") or 0
        if isinstance(whole, int | float) and isinstance(nanos, int | float):
            value = whole + nanos / 1e9
    elif value is None:
        return 0.0
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value * factor < 1e15
    ):
        raise _wrong(name, row.get(name), "a number with a known unit")
    return value * factor


def _wrong(name: str, value: object, wanted: str) -> LabelError:
    found = "nothing" if value is None else f"{type(value).__name__} {_short(value)}"
    return LabelError(f"{name} must hold {wanted}, but holds {found}")


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
