"""Read the settings from their sources.

A setting has one dotted key, such as `limits.cpu_time_s`. The same key names it in the
TOML file (`[limits]`, `cpu_time_s = 5`), on the command line (`--set limits.cpu_time_s=5`)
and, in capitals with underscores, in the environment (`GRADER_LIMITS_CPU_TIME_S`). Later
sources win: defaults, file, environment, command line.

pydantic-settings is not used: its import alone adds 150 ms to the start of the command, and it
knows neither where a value came from nor which setting a misspelt name was meant to be.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, get_args

from grader.config.settings import SETTINGS, Settings
from grader.model import KiB, MiB
from grader.model.errors import ConfigurationError
from grader.model.setting import declared

ENV_PREFIX = "GRADER_"
CONFIG_VARIABLE = "GRADER_CONFIG"
"""The variable that names the TOML file. It is not a setting."""
DEFAULT_CONFIG = Path("grader.toml")
"""Read from the current directory if it exists and `GRADER_CONFIG` is not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, and where each value came from."""

    settings: Settings
    origins: Mapping[str, str]
    """By dotted key, for values that are given: "GRADER_SLOTS", a path, "--slots"."""


def variable(key: str) -> str:
    """Return the environment variable of a dotted key."""
    return ENV_PREFIX + key.replace(".", "_").upper()


def value_of(settings: Settings, key: str) -> Any:
    """Return the value of a dotted key.

    Raises:
        AttributeError: There is no such key.
    """
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def complete_key(key: str) -> str:
    """Return the full key of a setting; a limit may be named without its table.

    Raises:
        ConfigurationError: There is no such setting; the message names the nearest.
    """
    for candidate in (key, f"limits.{key}"):
        if candidate in SETTINGS:
            return candidate
    message = f"there is no setting {key!r}{_nearest(key, SETTINGS)}"
    raise ConfigurationError(message)


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, tuple[Any, str]] | None = None,
) -> LoadedSettings:
    """Read the settings from their sources.

    Args:
        environ: Default: the environment of this process.
        overrides: By dotted key, a value and the name of its source.

    Raises:
        ConfigurationError: A name is unknown, a value does not fit, or a file cannot be read;
            the message names the source, what was found and what was expected.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, tuple[Any, str]] = {
        **_from_file(environ),
        **_from_environment(environ),
        **(overrides or {}),
    }
    return LoadedSettings(
        settings=_build(found),
        origins=MappingProxyType({key: origin for key, (_, origin) in found.items()}),
    )


# ---------------------------------------------------------------- sources


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    keys = {variable(key): key for key in SETTINGS}
    found: dict[str, tuple[Any, str]] = {}
    for name, text in environ.items():
        if not name.startswith(ENV_PREFIX) or name == CONFIG_VARIABLE:
            continue
        if name not in keys:
            hint = _nearest(name, keys)
            message = f"there is no setting for the variable {name}{hint}"
            raise ConfigurationError(message)
        if text:
            found[keys[name]] = (text, name)
    return found


def _from_file(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    named = environ.get(CONFIG_VARIABLE)
    path = Path(named) if named else DEFAULT_CONFIG
    if not named and not path.is_file():
        return {}
    import tomllib  # Here, since it takes 10 ms and most runs have no file.

    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ConfigurationError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path} is not TOML: {error}"
        raise ConfigurationError(message) from error
    found: dict[str, tuple[Any, str]] = {}
    for key, value in _flatten(tables):
        if key not in SETTINGS:
            hint = _nearest(key, SETTINGS)
            message = f"{path} sets {key!r}, which is not a setting{hint}"
            raise ConfigurationError(message)
        found[key] = (value, str(path))
    return found


def _flatten(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            flat += _flatten(value, f"{prefix}{name}.")
        else:
            flat.append((prefix + name, value))
    return flat


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib  # Here, since only this message needs it.

    known = list(known)
    if inside := next((each for each in known if each.startswith(f"{name}.")), None):
        return f", but a table of settings, such as {inside}"
    prefix = ENV_PREFIX if name.startswith(ENV_PREFIX) else ""  # In it, all variables are alike.
    bare = [each.removeprefix(prefix) for each in known]
    close = difflib.get_close_matches(name.removeprefix(prefix), bare, n=1, cutoff=0.5)
    return f"; did you mean {prefix}{close[0]}?" if close else "; `grader config` lists them all"


def _build(found: Mapping[str, tuple[Any, str]]) -> Settings:
    """Build the settings, each value converted to the type of its field."""
    tables: dict[str, dict[str, Any]] = {"": {}}
    for key, (value, origin) in found.items():
        table, _, name = key.rpartition(".")
        try:
            tables.setdefault(table, {})[name] = _converted(key, value)
        except ValueError as error:
            message = f"{origin} gives {key} = {value!r}: {error} ({SETTINGS[key].description})"
            raise ConfigurationError(message) from error
    groups = {name: _GROUPS[name](**values) for name, values in tables.items() if name}
    return Settings(**tables[""], **groups)


_GROUPS: Mapping[str, type] = MappingProxyType(
    {f.name: f.type for f in fields(Settings) if isinstance(f.type, type) and is_dataclass(f.type)}
)
_KINDS: Mapping[str, Any] = MappingProxyType(
    {
        key: next(kind for kind in (*get_args(type_), type_) if kind is not NoneType)
        for key, type_, _ in declared(Settings)
    }
)
"""The type of each setting's value, None aside."""
_TRUTH = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _converted(key: str, value: Any) -> Any:
    """Return the value in its field's type; it may be given as text.

    pydantic is not used: importing it would take a fifth of the time to the first verdict.

    Raises:
        ValueError: The value does not fit; the message says what was expected.
    """
    kind = _KINDS[key]
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise ValueError(_expectation(kind))
    try:
        return _from_text(kind, value, is_size=key.endswith("_bytes"))
    except ValueError as error:
        raise ValueError(_expectation(kind, is_size=key.endswith("_bytes"))) from error


def _from_text(kind: Any, text: str, *, is_size: bool) -> Any:
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    return parse_size(text) if is_size else kind(text)


def _expectation(kind: Any, *, is_size: bool = False) -> str:
    if is_size:
        return "expected a number of bytes, or such as 512MiB"
    if issubclass(kind, StrEnum):
        return f"expected {' or '.join(kind)}"
    names = {int: "a whole number", float: "a number", bool: "true or false"}
    return f"expected {names.get(kind, 'text')}"


_SIZE_UNITS = {
    "": 1,
    "b": 1,
    "k": KiB,
    "kib": KiB,
    "m": MiB,
    "mib": MiB,
    "g": 1024 * MiB,
    "gib": 1024 * MiB,
}
_SIZE = r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*"


def parse_size(text: str) -> int:
    """Return the bytes that a size such as "512MiB", "64k" or "1048576" means.

    Raises:
        ValueError: It is not a size.
    """
    match = re.fullmatch(_SIZE, text)
    if match is None or match[2].lower() not in _SIZE_UNITS:
        message = f"{text!r} is not a size"
        raise ValueError(message)
    return int(float(match[1]) * _SIZE_UNITS[match[2].lower()])
