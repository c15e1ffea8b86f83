"""Everything that can be set, in one frozen record that is read once and passed down.

`grader.config.loading` reads it from file, environment and command line.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from grader.config.rewards import (
    REWARD_DESCRIPTIONS,
    AgentSettings,
    ConversationSettings,
    MathSettings,
    RewardSettings,
    Task,
)
from grader.config.server import SERVER_DESCRIPTIONS, KeepSettings, ServerSettings
from grader.model import Limits, MiB
from grader.model.errors import ConfigurationError
from grader.model.limits import CALIBRATION_DESCRIPTIONS, CalibrationSettings
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.verdict import Integrity
from grader.process.cores import usable_cores


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
        "require_integrity": "least separation of tests and submission: isolated, split, confirmed "
        "or shared",
        "retries": "times a submission is tried again after an internal error",
        "outage_s": "seconds that an engine which worked may be away before that is an error",
        "problems": "file of problems that labels and rows may name by id",
        "limits.cpu_time_s": "seconds of CPU time of a case, its child processes included",
        "limits.wall_time_s": "seconds on the clock; a backstop for sleepers and deadlocks",
        "limits.total_time_s": "seconds on the clock of all cases of a submission together, where "
        "each has a process of its own",
        "limits.memory_bytes": "bytes of memory of all processes of a case together",
        "limits.output_bytes": "bytes kept of standard output and of standard error, each; four "
        "times the longest expected output, where that is more",
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
