"""The settings of the HTTP service and of what it keeps of samples; part of `Settings`.

They are apart from it because they are many and nobody but `grader.server` reads them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType

from grader.model import KiB, MiB
from grader.model.errors import ConfigurationError

_GiB = 1024 * MiB
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where the service listens, whom it serves, and how much it takes on."""

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = field(default=None, repr=False)
    """None: nobody has to show one."""
    anonymous: bool = False
    body_bytes: int = 64 * MiB
    held_bytes: int = 1 * _GiB
    submissions: int = 4096
    reward_deadline_s: float = 170.0
    run_code: bool = True
    run_image: str = "python"
    run_wait_s: float = 60.0
    max_time_s: float = 300.0
    max_memory_bytes: int = 2 * _GiB
    idempotency_s: float = 3600.0
    idempotency_bytes: int = 64 * MiB
    drain_s: float = 30.0
    verbose: bool = False

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, str | bool) or value is None:
                continue
            least = 0 if setting.name in _FROM_ZERO else 1
            if not least <= value < math.inf:  # Nor is NaN.
                message = f"server.{setting.name} is {value}; expected at least {least}"
                raise ConfigurationError(message)
        if self.port > _MAX_PORT:
            message = f"server.port is {self.port}; expected at most {_MAX_PORT}"
            raise ConfigurationError(message)
        if self.token == "":
            message = "server.token is empty; leave it out where none is needed"
            raise ConfigurationError(message)
        if self.held_bytes < self.body_bytes:
            message = (
                f"server.held_bytes is {self.held_bytes}, which has no room for one body of "
                f"server.body_bytes, {self.body_bytes}"
            )
            raise ConfigurationError(message)


_FROM_ZERO = frozenset({"port", "idempotency_s", "idempotency_bytes", "drain_s", "run_wait_s"})


class KeepSamples(StrEnum):
    """Which graded samples the service keeps to be looked at on its page."""

    NONE = "none"
    FAILED = "failed"
    """Those that did not pass, and those that looked like an attack whatever their verdict."""
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSettings:
    """What the service keeps of samples, how much of it and for how long: in memory only."""

    samples: KeepSamples = KeepSamples.FAILED
    count: int = 500
    """Of each kind: failed, at a limit, like an attack, not graded, passed."""
    total_bytes: int = 64 * MiB
    """Of all kinds together, as Python holds them."""
    sample_bytes: int = 256 * KiB
    lifetime_s: float = 3600.0

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        for setting in fields(self):
            value = getattr(self, setting.name)
            if not isinstance(value, str) and not 1 <= value < math.inf:  # Nor is NaN.
                message = f"keep.{setting.name} is {value}; expected at least 1"
                raise ConfigurationError(message)


SERVER_GROUPS: Mapping[str, type] = MappingProxyType(
    {"server": ServerSettings, "keep": KeepSettings}
)
"""The record of every table."""

SERVER_DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "server.host": "address that the HTTP service listens at",
        "server.port": "its port; 0 for any that is free",
        "server.token": "secret that clients have to show; default: none",
        "server.anonymous": "serve other machines although no token is set",
        "server.body_bytes": "bytes of one request's body at most",
        "server.held_bytes": "bytes of the bodies of all open requests; more are read later",
        "server.submissions": "submissions in one request at most",
        "server.reward_deadline_s": "seconds from a /get_reward request to its answer at most",
        "server.run_code": "whether /run_code runs programs",
        "server.run_image": "image variant in which /run_code runs programs: python or science",
        "server.run_wait_s": "seconds that a /run_code request waits for a slot before a 504",
        "server.max_time_s": "seconds that a request may set as a limit of CPU or wall time",
        "server.max_memory_bytes": "bytes that a request may set as a limit of memory",
        "server.idempotency_s": "seconds that the answer to an idempotency key is kept",
        "server.idempotency_bytes": "bytes of such answers that are kept",
        "server.drain_s": "seconds that a stopping service may finish what it runs",
        "server.verbose": "log debug messages, which may show code and tests",
        "keep.samples": "samples that the service keeps for its page: none, failed or all",
        "keep.count": "samples that it keeps of each kind at most; the newest stay",
        "keep.total_bytes": "bytes of memory that they all take at most",
        "keep.sample_bytes": "bytes of one of them; of longer texts the middle is left out",
        "keep.lifetime_s": "seconds after which a sample is forgotten",
    }
)
"""Every setting's dotted key, with its meaning and unit."""
