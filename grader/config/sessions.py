"""The settings of sessions; part of `Settings`."""

from dataclasses import dataclass
from typing import Annotated

from grader.model.setting import Setting, check_ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How many sessions there may be, how large, and for how long."""

    most: Annotated[
        int,
        Setting(
            "sessions open at once in a process; each takes a slot of its own, beside those that "
            "grade",
            least=1,
        ),
    ] = 16
    # A step starts from one state and leads to another, and the first state always stays.
    states: Annotated[
        int,
        Setting(
            "states of a session that are kept as processes, so that a branch from one costs "
            "nothing",
            least=3,
            most=512,
        ),
    ] = 128
    idle_s: Annotated[
        float, Setting("seconds without a step after which a session is closed", least=1)
    ] = 600.0

    def __post_init__(self) -> None:
        check_ranges(self, "sessions")
