"""How a setting is declared: at its field, as `Annotated[type, Setting(...)]`."""

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args

from grader.model.errors import ConfigurationError


@dataclass(frozen=True, eq=False)  # Without slots and comparison, to keep the start fast.
class Setting:
    """What a setting means and which values it takes. Numbers must be finite in any case."""

    meaning: str
    """With the unit; shown by `grader config` and in docs/configuration.md."""
    _: KW_ONLY
    default: str | None = None
    """The default in words, if the value of the field does not say it."""
    least: float | None = None
    above: float | None = None
    """As `least`, but without the number itself."""
    most: float | None = None
    shown: Callable[[str], str] | None = None
    """Makes a value that may hold a secret fit to be shown."""

    @property
    def description(self) -> str:
        """The meaning, with the default if it needs words."""
        return self.meaning if self.default is None else f"{self.meaning}; default: {self.default}"

    def check(self, key: str, value: Any) -> None:
        """Check the range of a number; any other value fits.

        Raises:
            ConfigurationError: The number is out of range.
        """
        if not isinstance(value, int | float) or isinstance(value, bool):
            return
        if (
            (isinstance(value, float) and not math.isfinite(value))
            or (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
        ):
            found: object = value
            if isinstance(value, int) and value.bit_length() > 128:
                # Python does not write integers of more than 4,300 digits.
                found = f"a number of {value.bit_length()} bits"
            message = f"{key} is {found}; expected {self._range()}"
            raise ConfigurationError(message)

    def _range(self) -> str:
        bounds = {"at least": self.least, "a number above": self.above, "at most": self.most}
        given = [f"{words} {bound}" for words, bound in bounds.items() if bound is not None]
        return " and ".join(given) or "a finite number"


@cache
def declared(record: type) -> tuple[tuple[str, Any, Setting], ...]:
    """Return the settings of a record and of the records in it: key, type, declaration."""
    return tuple(_declared(record, ""))


@cache
def _choices(record: type) -> tuple[tuple[str, frozenset[Enum]], ...]:
    """Return the settings of a record that name one of several things, and these things."""
    kinds = ((name, (kind, *get_args(kind))) for name, kind, _ in declared(record))
    return tuple(
        (name, frozenset(each))
        for name, alternatives in kinds
        for each in alternatives
        if "." not in name and isinstance(each, type) and issubclass(each, Enum)
    )


def check_ranges(record: object, table: str = "") -> None:
    """Check the values of a record's own settings, not of those in records inside it.

    Args:
        record: A dataclass whose fields are declared by `Setting`.
        table: The first part of its settings' keys.

    Raises:
        ConfigurationError: A number is out of its range, or a name is unknown.
    """
    prefix = f"{table}." if table else ""
    kind: type = type(record)
    for name, _, setting in declared(kind):
        if "." not in name:
            setting.check(prefix + name, getattr(record, name))
    for name, known in _choices(kind):
        value = getattr(record, name)
        if value is not None and value not in known:
            expected = ", ".join(sorted(str(each.value) for each in known))
            message = f"{prefix}{name} is {value!r}; expected one of {expected}"
            raise ConfigurationError(message)


def _declared(record: type, prefix: str) -> Iterator[tuple[str, Any, Setting]]:
    for field in fields(record):
        if isinstance(field.type, type) and is_dataclass(field.type):
            yield from _declared(field.type, f"{field.name}.")
        else:
            kind, setting = get_args(field.type)
            yield prefix + field.name, kind, setting
