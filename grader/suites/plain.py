"""Turns what table readers give into plain data of Python's own types."""

from collections.abc import Mapping

from grader.model.errors import LabelError


def plain(value: object) -> object:
    """Return a value with arrays and tuples turned into lists, and NumPy's numbers into Python's.

    UTF-8 bytes become text, and keys become text, as in JSON. Everything else stays as it is.
    Nothing of the value is called but the `tolist` of arrays.

    Raises:
        LabelError: It is nested deeper than Python can follow.
    """
    if isinstance(value, str):
        return value
    try:
        return _plain(value)
    except RecursionError as error:
        message = "the label is nested too deeply"
        raise LabelError(message) from error


def _plain(value: object) -> object:
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return _text(value)
    to_list = getattr(value, "tolist", None)
    return _plain(to_list()) if callable(to_list) else value


def _text(value: bytes) -> object:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
