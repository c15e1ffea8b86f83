"""The settings of the HTTP service and of the samples that it keeps; part of `Settings`.

They have a file of their own because they are many and only `grader.server` reads them.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from grader.model import KiB, MiB
from grader.model.errors import ConfigurationError
from grader.model.limits import LEAST_MEMORY_BYTES
from grader.model.setting import Setting, check_ranges
from grader.text.redaction import hidden

_GiB = 1024 * MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where the service listens, which clients it serves, and how much it takes on."""

    host: Annotated[str, Setting("address that the HTTP service listens at")] = "127.0.0.1"
    port: Annotated[
        int,
        Setting("port that the HTTP service listens at; 0 for any free port", least=0, most=65535),
    ] = 8080
    token: Annotated[
        str | None, Setting("secret that clients have to send", default="none", shown=hidden)
    ] = field(default=None, repr=False)
    metrics_token: Annotated[
        str | None, Setting("secret that opens /metrics only", default="none", shown=hidden)
    ] = field(default=None, repr=False)
    anonymous: Annotated[bool, Setting("serve other machines although no token is set")] = False
    body_bytes: Annotated[int, Setting("most bytes of one request's body", least=1)] = 64 * MiB
    held_bytes: Annotated[
        int,
        Setting("most bytes of the bodies of all open requests; more are read later", least=1),
    ] = 1 * _GiB
    body_values: Annotated[
        int, Setting("most JSON values in one request's body; a text is one value", least=1)
    ] = 500_000
    submissions: Annotated[int, Setting("most submissions in one request", least=1)] = 4096
    reward_deadline_s: Annotated[
        float, Setting("most seconds from a /get_reward request to its answer", least=1)
    ] = 170.0
    run_code: Annotated[bool, Setting("whether /run_code runs programs")] = True
    run_image: Annotated[
        str, Setting("image variant in which /run_code runs programs: python or science")
    ] = "python"
    run_wait_s: Annotated[
        float,
        Setting(
            "seconds that a /run_code request waits for a slot before it is answered with 504",
            least=0,
        ),
    ] = 60.0
    max_time_s: Annotated[
        float, Setting("most seconds of CPU or wall time that a request may set as limit", least=1)
    ] = 300.0
    max_memory_bytes: Annotated[
        int,
        Setting("most bytes of memory that a request may set as limit", least=LEAST_MEMORY_BYTES),
    ] = 2 * _GiB
    idempotency_s: Annotated[
        float, Setting("seconds that the answer to an idempotency key is kept", least=0)
    ] = 3600.0
    idempotency_bytes: Annotated[
        int, Setting("most bytes of kept answers to idempotency keys", least=0)
    ] = 64 * MiB
    drain_s: Annotated[
        float, Setting("seconds in which a stopping service may finish running requests", least=0)
    ] = 30.0
    verbose: Annotated[bool, Setting("log debug messages, which may show code and tests")] = False

    def __post_init__(self) -> None:
        check_ranges(self, "server")
        if self.token == "":
            message = "server.token is empty; leave it out if clients need none"
            raise ConfigurationError(message)
        if self.metrics_token is not None:
            _check_metrics_token(self.metrics_token, self.token)
        if self.held_bytes < self.body_bytes:
            message = (
                f"server.held_bytes is {self.held_bytes}, which has no room for one body of "
                f"server.body_bytes, {self.body_bytes}"
            )
            raise ConfigurationError(message)


def _check_metrics_token(metrics_token: str, token: str | None) -> None:
    """Check that the token for /metrics keeps its reader from the rest of the service.

    Raises:
        ConfigurationError: It does not.
    """
    match metrics_token:
        case "":
            message = "server.metrics_token is empty; leave it out if server.token opens /metrics"
        case _ if token is None:
            message = "server.metrics_token needs server.token: without that, every path is open"
        case _ if metrics_token == token:
            message = "server.metrics_token equals server.token, which opens every path"
        case _:
            return
    raise ConfigurationError(message)


class KeepSamples(StrEnum):
    """Which graded samples the service keeps for its page."""

    NONE = "none"
    FAILED = "failed"
    """Those that did not pass, and those that looked like an attack, whatever their verdict."""
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSettings:
    """Which samples the service keeps, how many and for how long: in memory only."""

    samples: Annotated[
        KeepSamples, Setting("samples that the service keeps for its page: none, failed or all")
    ] = KeepSamples.FAILED
    count: Annotated[
        int, Setting("most samples of each kind that the service keeps; the newest stay", least=1)
    ] = 500
    """The kinds: failed, at a limit, like an attack, not graded, passed."""
    total_bytes: Annotated[int, Setting("most bytes of memory that kept samples take", least=1)] = (
        64 * MiB
    )
    """As Python holds them."""
    sample_bytes: Annotated[
        int,
        Setting("most bytes of one kept sample; the middle of longer texts is left out", least=1),
    ] = 256 * KiB
    lifetime_s: Annotated[
        float, Setting("seconds after which a kept sample is dropped", least=1)
    ] = 3600.0

    def __post_init__(self) -> None:
        check_ranges(self, "keep")
