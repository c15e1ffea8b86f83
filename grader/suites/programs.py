"""Reads the programs of a suite that decide about outputs: checkers and interactors."""

from collections.abc import Mapping

from grader.model import Checker, CheckerKind, Interactor
from grader.model.errors import LabelError
from grader.suites.fields import require_known

_KEYS = ("source", "kind")


def read_checker(given: object, name: str) -> Checker:
    """Return the checker of a label; `name` is its field, for errors.

    Raises:
        LabelError: It is not an object with a `source` and perhaps a `kind`.
    """
    source, kind = _read(given, name)
    return Checker(source=source, kind=kind)


def read_interactor(given: object, name: str) -> Interactor:
    """Return the interactor of a label; a bare text is its source.

    Raises:
        LabelError: It is neither text nor an object with a `source` and perhaps a `kind`.
    """
    source, kind = _read({"source": given} if isinstance(given, str) else given, name)
    return Interactor(source=source, kind=kind)


def _read(given: object, name: str) -> tuple[str, CheckerKind]:
    if not isinstance(given, Mapping):
        message = f"{name} must be an object, but is {given!r}"
        raise LabelError(message)
    require_known(given, _KEYS, name)
    source = given.get("source")
    if not isinstance(source, str):
        message = f"{name}.source must be text, but is {source!r}"
        raise LabelError(message)
    return source, _kind(given.get("kind", CheckerKind.FUNCTION), name)


def _kind(value: object, name: str) -> CheckerKind:
    try:
        return CheckerKind(str(value))
    except ValueError:
        message = f"{name}.kind must be one of {', '.join(CheckerKind)}, but is {value!r}"
        raise LabelError(message) from None
