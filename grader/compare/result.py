"""What every comparison answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Whether an output is right and, where it is not, where it first differs."""

    equal: bool
    difference: str = ""
    """One short, inert line; empty where equal."""


EQUAL = CheckResult(equal=True)


def different(difference: str) -> CheckResult:
    """Return the result of a comparison that found `difference`."""
    return CheckResult(equal=False, difference=difference)
