"""Reads the fields of unchecked rows; whatever is unexpected becomes a LabelError that names it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeGuard, TypeVar, cast

from grader import languages
from grader.model import LimitOverrides, Limits, MiB
from grader.model.errors import LabelError, SuiteError
from grader.suites import pickled
from grader.suites.format import Row
from grader.suites.literals import read_literal
from grader.text import integers

_Choice = TypeVar("_Choice", bound=Enum)
_SHOWN_CHARS = 60
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]*)")


def wrong(value: object, name: str, wanted: str) -> LabelError:
    """Return the error that a field `name` does not hold what is wanted."""
    shown = "null" if value is None else repr(value)
    if len(shown) > _SHOWN_CHARS:
        shown = f"{shown[: _SHOWN_CHARS - 3]}..."
    return LabelError(f"{name} must be {wanted}, but is {shown}")


def choice(kind: type[_Choice], value: object, name: str) -> _Choice:
    """Return the member of an enumeration that a field `name` has the value of.

    Raises:
        LabelError: There is none.
    """
    try:
        return kind(value)
    except ValueError:
        raise wrong(value, name, f"one of {', '.join(str(m.value) for m in kind)}") from None


def text(row: Row, name: str) -> str:
    """Return a field that must be text, cleaned by `clean`.

    Raises:
        LabelError: It is missing, or not text.
    """
    value = row.get(name)
    if not isinstance(value, str):
        raise wrong(value, name, "text")
    return clean(value)


def optional_text(row: Row, name: str) -> str | None:
    """Return a text field; None if it is missing, null or empty.

    Raises:
        LabelError: It is not text.
    """
    return text(row, name) or None if row.get(name) is not None else None


def any_text(row: Row, *names: str) -> str:
    """Return the text of the first of the fields `names` that has any, else an empty text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return clean(value)
    return ""


def texts(row: Row, name: str) -> tuple[str, ...]:
    """Return a field that must be a list of texts; no items if it is missing or null.

    Raises:
        LabelError: It holds something else.
    """
    value = row.get(name)
    if value is None:
        return ()
    if not is_list(value) or not all(isinstance(item, str) for item in value):
        raise wrong(value, name, "a list of texts")
    return tuple(clean(item) for item in value)


def mapping(row: Row, name: str) -> Row:
    """Return a field that must be an object, or text of one as `load_data` reads it.

    Raises:
        LabelError: It holds something else.
    """
    value = structure(row.get(name), name)
    if not isinstance(value, Mapping):
        raise wrong(value, name, "an object")
    return value


def items(row: Row, name: str) -> Sequence[object]:
    """Return a field that must be a list, or text of one as `load_data` reads it.

    Raises:
        LabelError: It holds something else.
    """
    value = structure(row.get(name), name)
    if not is_list(value):
        raise wrong(value, name, "a list")
    return value


def structure(value: object, name: str) -> object:
    """Return `value`, decoded by `load_data` if it is text.

    Raises:
        LabelError: The text does not decode.
    """
    return load_data(value, name) if isinstance(value, str) else value


def holds_data(value: str) -> bool:
    """Return whether a text looks like data for `load_data`, rather than source."""
    first = value.lstrip()[:1]
    return first in ("[", "{") or pickled.is_packed(value)


def load_data(value: str, name: str) -> object:
    """Decode JSON text, a Python literal, or base64(zlib(pickle(...))) of plain data or such text.

    Raises:
        LabelError: The text has another form, is damaged, or is larger than Python decodes.
    """
    if pickled.is_packed(value):
        data = pickled.decode(value.strip())
        return load_data(data, name) if isinstance(data, str) else data
    try:
        return load_json(value, name)
    except LabelError as error:
        try:
            return read_literal(value)
        except LabelError:
            raise error from None  # most such texts are meant to be JSON


def load_json(value: str, name: str) -> object:
    """Decode JSON text; `name` says in errors where it came from.

    Raises:
        LabelError: It does not decode, or is nested deeper or has longer numbers than Python reads.
    """
    try:
        return cast("object", integers.load_json(value))
    except (ValueError, RecursionError) as error:
        message = f"{name} is not JSON: {error}; it starts with {value[:40]!r}"
        raise LabelError(message) from error


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether `value` is a list, as JSON or a table reader makes it."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def clean(value: str) -> str:
    """Return `value` with CRLF line ends made LF and without a byte order mark.

    Raises:
        SuiteError: It has lone surrogates, which have no UTF-8 form that a program could read.
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
    """Return the id in the first of the fields `names` that has one: a text or an integer."""
    for name in names:
        value = row.get(name)
        if (isinstance(value, str) and value) or type(value) is int:
            return str(value)
    return None


def require_python(language: object) -> None:
    """Refuse tests in another language than Python 3.

    Raises:
        LabelError: `language` is the name of another language.
    """
    if isinstance(language, str) and language.lower() not in languages.PYTHON_NAMES:
        message = f"language not supported: {language!r}; such tests can be graded in Python 3 only"
        raise LabelError(message)


def require_known(given: Row, known: tuple[str, ...], name: str) -> None:
    """Refuse an object with other fields than `known`; `name` says in errors which object it is.

    Raises:
        LabelError: It has others.
    """
    if unknown := sorted(set(given) - set(known)):
        message = f"{name} has no {', '.join(unknown)}; it has {', '.join(known)}"
        raise LabelError(message)


def time_limits(cpu_time_s: float, *, memory_bytes: int | None = None) -> LimitOverrides:
    """Return overrides for a CPU time; they raise the wall time if it would end a run first.

    Raises:
        LabelError: A limit is out of its range.
    """
    needed_s = 2 * cpu_time_s
    wall_time_s = needed_s if needed_s > Limits().wall_time_s else None
    return limit_overrides(
        cpu_time_s=cpu_time_s, wall_time_s=wall_time_s, memory_bytes=memory_bytes
    )


def limit_overrides(**values: Any) -> LimitOverrides:
    """Return overrides with the values of a label.

    Raises:
        LabelError: A limit is out of its range.
    """
    try:
        return LimitOverrides(**values)
    except ValueError as error:
        raise LabelError(str(error)) from error


def limits(row: Row) -> LimitOverrides:
    """Read the limits of a contest problem's row.

    A field is a number, or a text of a number and its unit ("2 sec", "256 MiB"); the unit may be
    in the field's name instead (`time_limit_ms`, `memory_limit_bytes`). CodeContests has {seconds,
    nanos}. Without a unit, a time is in seconds or, from 1000 on, in milliseconds, and memory is in
    megabytes or, from 16 MiB on, in bytes. Zero and null mean that no limit is given, as in the
    datasets that have these fields.

    Raises:
        LabelError: A limit has another form, is too large for the unit that it would have, or is
            out of its range.
    """
    memory = round(_limit(row, _MEMORY_FIELD, _MEMORY_UNITS, _guess_memory, _BARE_SIZES)) or None
    seconds = _limit(row, _TIME_FIELD, _TIME_UNITS, _guess_time, _BARE_TIMES)
    return (
        time_limits(seconds, memory_bytes=memory)
        if seconds
        else limit_overrides(memory_bytes=memory)
    )


_TIME_FIELD = re.compile(r"(?:test_)?time_limit(?:_(\w+))?")
_TIME_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
}
_MEMORY_FIELD = re.compile(r"memory_limit(?:_(\w+))?")
_MEMORY_UNITS = {
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **dict.fromkeys(("k", "kb", "kib", "kilobyte", "kilobytes"), 1024.0),
    **dict.fromkeys(("m", "mb", "mib", "megabyte", "megabytes"), float(MiB)),
    **dict.fromkeys(("g", "gb", "gib", "gigabyte", "gigabytes"), 1024.0 * MiB),
}
"""Contest sites mean powers of two by all of these names."""

_MOST_SECONDS = 100
_LEAST_MILLISECONDS = 1000
_MOST_MEGABYTES = 1 << 14
_LEAST_BYTES = 16 * MiB


_BARE_TIMES = (
    f"up to {_MOST_SECONDS} for seconds, or from {_LEAST_MILLISECONDS} on for milliseconds"
)
_BARE_SIZES = f"up to {_MOST_MEGABYTES} for megabytes, or from {_LEAST_BYTES} on for bytes"


def _guess_time(value: float) -> str | None:
    if value <= _MOST_SECONDS:
        return "s"
    return "ms" if _LEAST_MILLISECONDS <= value <= 1000 * _MOST_SECONDS else None


def _guess_memory(value: float) -> str | None:
    if value <= _MOST_MEGABYTES:
        return "mb"
    return "b" if value >= _LEAST_BYTES else None


def _limit(
    row: Row,
    field: re.Pattern[str],
    units: Mapping[str, float],
    guess: Callable[[float], str | None],
    bare: str,
) -> float:
    """Return the first limit in a row in seconds or bytes, 0 if there is none.

    `guess` returns the unit of a number without one, and `bare` says in errors what it accepts.
    Fields with a unit in their name come first. A name with anything else behind it, such as
    `time_limit_per_language`, says something else.
    """
    found = [match for name in row if (match := field.fullmatch(name))]
    for match in sorted(found, key=lambda each: (each[1] is None, len(each[0]))):
        unit = match[1] and match[1].lower()
        if unit is not None and unit not in units:
            continue
        value, own_unit = _quantity(row[match[0]])
        factor = units.get(own_unit or unit or guess(value) or "", math.nan)
        if not 0 <= value * factor < 1e15:
            known = ", ".join(units)
            wanted = f"a number with a known unit ({known}), or one without: {bare}"
            raise wrong(row[match[0]], match[0], wanted)
        if value:
            return value * factor
    return 0.0


def _quantity(value: object) -> tuple[float, str]:
    """Return the number in a value, and its unit if it has one; NaN for anything else."""
    if value is None:
        return 0.0, ""
    if isinstance(value, str) and (found := _QUANTITY.fullmatch(value.strip())):
        return float(found[1]), found[2].lower()
    if isinstance(value, Mapping):
        whole, nanos = value.get("seconds") or 0, value.get("nanos") or 0
        if isinstance(whole, int | float) and isinstance(nanos, int | float):
            return whole + nanos / 1e9, "s"
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 1e18:
        return float(value), ""
    return math.nan, ""
