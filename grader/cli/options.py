"""Options that several commands share, and the settings that follow from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from grader.config.loading import complete_key, load_settings, value_of
from grader.config.rewards import RewardTask
from grader.config.settings import SandboxChoice, Settings
from grader.model import LimitOverrides
from grader.model.errors import ConfigurationError
from grader.model.verdict import Integrity

SandboxOption = Annotated[
    SandboxChoice | None,
    typer.Option("--sandbox", help="Where submissions run. [default: auto]", show_default=False),
]
IntegrityOption = Annotated[
    Integrity | None,
    typer.Option(
        "--require-integrity",
        help="The least separation of tests and submission: isolated (compared outside the "
        "sandbox), split (tests in a process of their own), confirmed (in one process, and a pass "
        "is confirmed by changed tests) or shared (in one process). Suites that cannot have it are "
        "refused. [default: shared]",
        show_default=False,
    ),
]
SlotsOption = Annotated[
    int | None,
    typer.Option(
        "--slots", metavar="N", min=1, help="Submissions at once. [default: one per core]"
    ),
]
BrokerOption = Annotated[
    str | None,
    typer.Option("--broker", metavar="URL", help="The queue, as redis://[:password@]host:port/n."),
]
TaskOption = Annotated[
    RewardTask | None,
    typer.Option(
        "--task",
        help="What grades rows whose label does not say: code (tests), math (an answer), or "
        "conversation (a model). [default: auto, as the label says, else code]",
        show_default=False,
    ),
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="A running `grader serve`, as http://[any:TOKEN@]host:port."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting, such as cpu_time_s=5 or memory_bytes=1GiB. A limit set here also "
        "wins over the limits that problems bring. Repeatable; `grader config` lists all.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Write over files that exist.")]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show the log: retries, lost slots, faults.")
]
OutPath = Annotated[
    Path,
    typer.Option("-o", "--out", metavar="OUT", help="Where the rows go; - is standard output."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The settings of a command."""

    settings: Settings
    limits: LimitOverrides
    """The limits given by `--set`, which win over those of a suite."""


def choose(sets: Sequence[str] | None = None, **flags: Any) -> Chosen:
    """Return the settings of this run: defaults, file, environment, then its own options.

    Args:
        sets: Texts of the form "key=value".
        flags: The value of the option of each setting; None if it was not given.

    Raises:
        ConfigurationError: A setting is unknown, or a value does not fit.
    """
    given = {
        key: (value, f"--{key.replace('_', '-')}")
        for key, value in flags.items()
        if value is not None
    }
    for text in sets or ():
        name, equals, value = text.partition("=")
        if not equals:
            message = f"--set {text}: expected KEY=VALUE"
            raise ConfigurationError(message)
        given[complete_key(name.strip())] = (value.strip(), f"--set {text}")
    settings = load_settings(overrides=given).settings
    if "url" in given and "broker" not in given:
        # A broker from the environment would win over the address in the option.
        settings = replace(settings, broker=None)
    limits = {
        key.removeprefix("limits."): value_of(settings, key)
        for key in given
        if key.startswith("limits.")
    }
    return Chosen(settings=settings, limits=LimitOverrides(**limits))
