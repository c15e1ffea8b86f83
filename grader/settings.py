"""Everything that can be set, in one frozen record that is read once and passed down.

A setting has one dotted key, such as `limits.cpu_time_s`. The same key names it in the
TOML file (`[limits]`, `cpu_time_s = 5`), on the command line (`--set limits.cpu_time_s=5`)
and, in capitals with underscores, in the environment (`GRADER_LIMITS_CPU_TIME_S`). Later
sources win: defaults, file, environment, command line.

The sources are read here rather than by pydantic-settings, whose import alone takes 150 ms
of the command's start, and which knows neither where a value came from nor which name a
misspelt one was meant to be.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, get_args

from grader.cores import usable_cores
from grader.errors import ConfigurationError
from grader.limits import CALIBRATION_DESCRIPTIONS, CalibrationSettings
from grader.model import Limits, MiB
from grader.reward_settings import (
    REWARD_DESCRIPTIONS,
    REWARD_GROUPS,
    AgentSettings,
    ConversationSettings,
    MathSettings,
    RewardSettings,
    Task,
)
from grader.rules import ExtractionRule, GradingRules
from grader.server_settings import SERVER_DESCRIPTIONS, SERVER_GROUPS, KeepSettings, ServerSettings
from grader.sizes import parse_size
from grader.verdict import Integrity

ENV_PREFIX = "GRADER_"
CONFIG_VARIABLE = "GRADER_CONFIG"
"""The variable that names the TOML file; not a setting itself."""
DEFAULT_CONFIG = Path("grader.toml")
"""Read from the current directory where it exists and `GRADER_CONFIG` is not set."""


class SandboxChoice(StrEnum):
    """Which backend runs the submissions."""

    AUTO = "auto"
    """Docker where an engine and the image are there, else native."""
    DOCKER = "docker"
    NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """How the Docker backend reaches its engine."""

    host: str | None = None
    """None: what the Docker client itself would use (`DOCKER_HOST`, else the local socket)."""
    runtime: str | None = None
    """None: the engine's default runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """The image that each variant of the sandbox runs."""

    python: str = "grader-sandbox:python"
    science: str = "grader-sandbox:science"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """How clients and workers use the queue; both sides of one queue should agree on these."""

    images: str = "python"
    """The image variants that a worker serves, with commas between them."""
    deadline_s: float = 600.0
    in_flight: int = 512
    chunk: int = 16
    lease_s: float = 10.0
    visibility_timeout_s: float = 7200.0
    result_ttl_s: float = 3600.0
    cache_bytes: int = 256 * MiB
    cache_ttl_s: float = 86400.0
    worker_deaths: int = 2
    drain_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is in force. Building one directly gives plain defaults and reads nothing."""

    sandbox: SandboxChoice = SandboxChoice.AUTO
    slots: int = field(default_factory=usable_cores)
    policy: str = "graded"
    stop_early: bool | None = None
    """None: as the policy needs it."""
    extraction: ExtractionRule | None = None
    """None: the rule of each suite."""
    require_integrity: Integrity | None = None
    """None: any; else what is less is refused with an internal error."""
    retries: int = 2
    outage_s: float = 60.0
    problems: Path | None = None
    limits: Limits = field(default_factory=Limits)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)
    docker: DockerSettings = DockerSettings()
    images: ImageSettings = ImageSettings()
    broker: str | None = field(default=None, repr=False)
    """None: no queue; submissions go to `url`, or are graded in this process."""
    url: str | None = field(default=None, repr=False)
    """None: no service; where there is a broker, it wins."""
    queue: QueueSettings = QueueSettings()
    task: Task = Task.AUTO
    debug: bool = False
    reward: RewardSettings = field(default_factory=RewardSettings)
    math: MathSettings = field(default_factory=MathSettings)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    keep: KeepSettings = field(default_factory=KeepSettings)

    def under(self, rules: GradingRules) -> "Settings":
        """Return the settings for a submission that brings rules of its own."""
        given = {
            rule.name: value
            for rule in fields(rules)
            if (value := getattr(rules, rule.name)) is not None
        }
        return replace(self, **given) if given else self

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        if self.slots < 1:
            message = f"slots is {self.slots}; expected at least 1"
            raise ConfigurationError(message)
        if self.retries < 0:
            message = f"retries is {self.retries}; expected 0 or more"
            raise ConfigurationError(message)
        if not 0 <= self.outage_s < math.inf:
            message = f"outage_s is {self.outage_s}; expected 0 or more"
            raise ConfigurationError(message)
        for table in ("limits", "calibration"):
            for name, value in asdict(getattr(self, table)).items():
                if isinstance(value, int | float) and not 0 < value < math.inf:  # Neither is NaN.
                    message = f"{table}.{name} is {value}; expected a number above 0"
                    raise ConfigurationError(message)
        for setting in fields(self.queue):
            value = getattr(self.queue, setting.name)
            least = 0 if setting.name in ("cache_bytes", "drain_s") else 1
            if not isinstance(value, str) and not least <= value < math.inf:
                message = f"queue.{setting.name} is {value}; expected at least {least}"
                raise ConfigurationError(message)


DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "sandbox": "backend that runs submissions: auto, docker or native",
        "slots": "submissions graded at once; default: the cores this process may use",
        "policy": "how verdicts become a reward: graded, binary, fraction or ladder",
        "stop_early": "stop a submission at its first failing case; default: as the policy needs",
        "extraction": "rule that finds the code in a completion; default: the rule of each suite",
        "require_integrity": "least separation of tests and submission: isolated, split or shared",
        "retries": "times a submission is tried again after an internal error",
        "outage_s": "seconds that an engine which worked may be away before that is an error",
        "problems": "file of problems that labels and rows may name by id",
        "limits.cpu_time_s": "seconds of CPU time of a case, its child processes included",
        "limits.wall_time_s": "seconds on the clock; a backstop for sleepers and deadlocks",
        "limits.memory_bytes": "bytes of memory of all processes of a case together",
        "limits.output_bytes": "bytes kept of standard output and of standard error, each",
        "limits.processes": "processes and threads alive at once",
        "limits.work_bytes": "bytes that fit into the private work area",
        "limits.work_files": "files and folders that fit into the private work area",
        **CALIBRATION_DESCRIPTIONS,
        "docker.host": "address of the Docker engine; default: what the Docker client uses",
        "docker.runtime": "container runtime, such as runsc; default: the engine's own",
        "images.python": "name of the plain sandbox image",
        "images.science": "name of the sandbox image with numpy, pandas and their like",
        "broker": "redis:// address of the queue; default: none",
        "url": "http:// address of a running grader serve, for clients without a broker; "
        "default: none, this process grades",
        "queue.images": "image variants that a worker serves, with commas between them",
        "queue.deadline_s": "seconds from a call to its report, unless the call says otherwise",
        "queue.in_flight": "submissions that a client has in the queue at once",
        "queue.chunk": "submissions of a batch that travel together at most",
        "queue.lease_s": "seconds of silence after which a worker is taken for dead",
        "queue.visibility_timeout_s": "seconds after which Celery sends a message anew; more than "
        "the longest submission takes",
        "queue.result_ttl_s": "seconds that jobs and reports stay in Redis where nobody takes them",
        "queue.cache_bytes": "bytes of finished verdicts that Redis keeps; 0 for none",
        "queue.cache_ttl_s": "seconds that a finished verdict may be used again",
        "queue.worker_deaths": "workers that may die of one submission before it is given up",
        "queue.drain_s": "seconds that a stopping worker may finish what it runs",
        **REWARD_DESCRIPTIONS,
        **SERVER_DESCRIPTIONS,
    }
)
"""Every setting's dotted key, with its meaning and unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, and where each value came from."""

    settings: Settings
    origins: Mapping[str, str]
    """By dotted key, for those that are not at their default: "GRADER_SLOTS", a path, "--slots"."""


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
    """Return the dotted key that `key` means; a limit may be named without its table.

    Raises:
        ConfigurationError: There is no such setting; the message names the nearest.
    """
    for candidate in (key, f"limits.{key}"):
        if candidate in DESCRIPTIONS:
            return candidate
    message = f"there is no setting {key!r}{_nearest(key, DESCRIPTIONS)}"
    raise ConfigurationError(message)


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, tuple[Any, str]] | None = None,
) -> LoadedSettings:
    """Read the settings from their sources.

    Args:
        environ: Default: the environment of this process.
        overrides: By dotted key, a value and the name of where it came from.

    Raises:
        ConfigurationError: An unknown name, a value that does not fit, or a file that does
            not read; the message names the source, what was found and what was expected.
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
    keys = {variable(key): key for key in DESCRIPTIONS}
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
    import tomllib  # Takes 10 ms, and most runs have no file.

    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ConfigurationError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path} is not TOML: {error}"
        raise ConfigurationError(message) from error
    found: dict[str, tuple[Any, str]] = {}
    for key, value in _flatten(tables):
        if key not in DESCRIPTIONS:
            hint = _nearest(key, DESCRIPTIONS)
            message = f"{path} sets {key!r}, which is no setting{hint}"
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


def _nearest(name: str, known: Mapping[str, str]) -> str:
    import difflib  # Only for a message.

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else "; `grader config` lists them all"


def _build(found: Mapping[str, tuple[Any, str]]) -> Settings:
    """Put what was found into the fields, each converted to its field's type."""
    tables: dict[str, dict[str, Any]] = {"": {}}
    for key, (value, origin) in found.items():
        table, _, name = key.rpartition(".")
        try:
            tables.setdefault(table, {})[name] = _converted(key, value)
        except ValueError as error:
            message = f"{origin} gives {key} = {value!r}: {error} ({DESCRIPTIONS[key]})"
            raise ConfigurationError(message) from error
    groups = {name: _GROUPS[name](**values) for name, values in tables.items() if name}
    return Settings(**tables[""], **groups)


_GROUPS: Mapping[str, type] = MappingProxyType(
    {
        "limits": Limits,
        "calibration": CalibrationSettings,
        "docker": DockerSettings,
        "images": ImageSettings,
        "queue": QueueSettings,
        **SERVER_GROUPS,
        **REWARD_GROUPS,
    }
)
_TRUTH = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _converted(key: str, value: Any) -> Any:
    """Return the value in its field's type, which may also be given as text.

    Done by hand: importing pydantic would cost a fifth of the time to the first verdict.
    """
    table, _, name = key.rpartition(".")
    record = _GROUPS.get(table, Settings)
    declared = next(f.type for f in fields(record) if f.name == name)
    kind = next(k for k in (*get_args(declared), declared) if k is not NoneType)
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
