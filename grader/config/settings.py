"""All settings, in one frozen record that is read once and passed down.

`grader.config.loading` reads it from file, environment and command line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from grader.config.rewards import (
    AgentSettings,
    ConversationSettings,
    MathSettings,
    RewardSettings,
    RewardTask,
)
from grader.config.server import KeepSettings, ServerSettings
from grader.config.sessions import SessionSettings
from grader.model import Limits, MiB
from grader.model.limits import LEAST_TIME_S
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.setting import Setting, check_ranges, declared
from grader.model.verdict import Integrity
from grader.process.cores import usable_cores
from grader.text.redaction import redacted, redacted_all


class ServiceClass(StrEnum):
    """How urgent a client's submissions are compared with those of other clients of the queue."""

    INTERACTIVE = "interactive"
    """A person waits."""
    TRAINING = "training"
    """A trainer waits."""
    BATCH = "batch"
    """Whatever is free will do."""


class SandboxChoice(StrEnum):
    """Which backend runs the submissions."""

    AUTO = "auto"
    """Docker if there are an engine and the image, else native."""
    DOCKER = "docker"
    NATIVE = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSettings:
    """How limits follow from the times of reference solutions; see `grader.scoring.calibration`."""

    file: Annotated[
        Path | None,
        Setting(
            "file of the times that reference solutions took",
            default="the one beside the problems that `grader check --calibrate` wrote",
        ),
    ] = None
    factor: Annotated[
        float,
        Setting("times of the reference's CPU time that become the limit of CPU time", above=0),
    ] = 5.0
    floor_s: Annotated[
        float,
        Setting("least limit of CPU time from a reference, in seconds", least=LEAST_TIME_S),
    ] = 2.0

    def __post_init__(self) -> None:
        check_ranges(self, "calibration")


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """How the Docker backend reaches its engine."""

    host: Annotated[
        str | None,
        Setting(
            "address of the Docker engine",
            default="DOCKER_HOST, else the local socket, as for the Docker client",
        ),
    ] = None
    runtime: Annotated[
        str | None,
        Setting("container runtime, such as runsc", default="the engine's own"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """The image that each variant of the sandbox runs."""

    python: Annotated[str, Setting("name of the plain sandbox image")] = "grader-sandbox:python"
    science: Annotated[
        str, Setting("name of the sandbox image with numpy, pandas and similar packages")
    ] = "grader-sandbox:science"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """How clients and workers use the queue; both sides of one queue should agree on these."""

    images: Annotated[
        str, Setting("image variants that a worker serves, with commas between them")
    ] = "python"
    deadline_s: Annotated[
        float,
        Setting("seconds from a call to its report, unless the call says otherwise", least=1),
    ] = 600.0
    in_flight: Annotated[
        int, Setting("most submissions that a client has in the queue at once", least=1)
    ] = 512
    service_class: Annotated[
        ServiceClass | None,
        Setting(
            "class of a client's submissions, which decides their share of the slots: "
            "interactive, training or batch",
            default="batch for submissions that are sent together, training for single ones",
        ),
    ] = None
    weight: Annotated[
        float, Setting("factor of that share, among clients of the same class", least=0.01)
    ] = 1.0
    lease_s: Annotated[
        float, Setting("seconds of silence after which a worker counts as dead", least=1)
    ] = 10.0
    result_ttl_s: Annotated[
        float,
        Setting("seconds that jobs and reports stay in Redis if no client takes them", least=1),
    ] = 3600.0
    cache_bytes: Annotated[
        int, Setting("bytes of finished verdicts that Redis keeps; 0 for none", least=0)
    ] = 256 * MiB
    cache_ttl_s: Annotated[
        float, Setting("seconds that a finished verdict may be used again", least=1)
    ] = 86400.0
    worker_deaths: Annotated[
        int, Setting("worker deaths after which a submission is given up", least=1)
    ] = 2
    drain_s: Annotated[
        float, Setting("seconds in which a stopping worker may finish running jobs", least=0)
    ] = 20.0

    def __post_init__(self) -> None:
        check_ranges(self, "queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force. `Settings()` has the defaults and reads nothing."""

    sandbox: Annotated[
        SandboxChoice, Setting("backend that runs submissions: auto, docker or native")
    ] = SandboxChoice.AUTO
    slots: Annotated[
        int,
        Setting(
            "submissions graded at once", default="the cores that this process may use", least=1
        ),
    ] = field(default_factory=usable_cores)
    policy: Annotated[
        str,
        Setting(
            "how verdicts become a reward: graded, binary, fraction, ladder, or file.py:function"
        ),
    ] = "graded"
    stop_early: Annotated[
        bool | None,
        Setting("stop a submission at its first failing case", default="as the policy needs"),
    ] = None
    extraction: Annotated[
        ExtractionRule | None,
        Setting("rule that finds the code in a completion", default="the rule of each suite"),
    ] = None
    require_integrity: Annotated[
        Integrity | None,
        Setting(
            "least separation of tests and submission: isolated, split, confirmed or shared; "
            "anything less is an internal error",
            default="none",
        ),
    ] = None
    retries: Annotated[
        int, Setting("times a submission is tried again after an internal error", least=0)
    ] = 2
    outage_s: Annotated[
        float,
        Setting(
            "seconds that a Docker engine which worked before may be away before that is an error",
            least=0,
        ),
    ] = 60.0
    problems: Annotated[
        Path | None,
        Setting("file of problems that labels and rows may name by id", default="none"),
    ] = None
    record: Annotated[
        Path | None,
        Setting(
            "folder in which reward functions and the service record what they grade",
            default="none",
        ),
    ] = None
    record_bytes: Annotated[int, Setting("most bytes that one process records", least=1)] = (
        2048 * MiB
    )
    limits: Limits = field(default_factory=Limits)
    calibration: CalibrationSettings = field(default_factory=CalibrationSettings)
    docker: DockerSettings = DockerSettings()
    images: ImageSettings = ImageSettings()
    broker: Annotated[
        str | None,
        Setting(
            "redis://, rediss:// or sentinel:// address of the queue, or several separated by "
            "spaces; wins over url",
            default="none",
            shown=redacted_all,
        ),
    ] = field(default=None, repr=False)
    url: Annotated[
        str | None,
        Setting(
            "http:// address of a running grader serve, for clients without a broker",
            default="none: this process grades",
            shown=redacted,
        ),
    ] = field(default=None, repr=False)
    queue: QueueSettings = field(default_factory=QueueSettings)
    task: Annotated[
        RewardTask,
        Setting("what grades a sample: auto (as its label says), code, math or conversation"),
    ] = RewardTask.AUTO
    debug: Annotated[
        bool, Setting("print samples of query, answer, verdict and reward to standard error")
    ] = False
    reward: RewardSettings = field(default_factory=RewardSettings)
    math: MathSettings = field(default_factory=MathSettings)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    keep: KeepSettings = field(default_factory=KeepSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)

    def __post_init__(self) -> None:
        check_ranges(self)
        check_ranges(self.limits, "limits")

    def under(self, rules: GradingRules) -> "Settings":
        """Return the settings for a submission that comes with rules of its own."""
        given = {
            rule.name: value
            for rule in fields(rules)
            if (value := getattr(rules, rule.name)) is not None
        }
        return replace(self, **given) if given else self


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {key: setting for key, _, setting in declared(Settings)}
)
"""Every setting's declaration, by its dotted key."""
