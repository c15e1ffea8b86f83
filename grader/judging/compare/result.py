"""What every comparison answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Whether an output is right and, where it is not, where it first differs."""

    equal: bool
    difference: str = ""
    """One short, inert line; empty where equal."""
    share: float | None = None
    """Of the case's points, above 0 and below 1: right in part. None: all of them or none."""


EQUAL = CheckResult(equal=True)


def right_in_part(share: float) -> CheckResult:
    """Return the result of a program of the suite that gave a part of the points, perhaps all.

    Args:
        share: In [0, 1].
    """
    if share == 1:
        return EQUAL
    words = f"{share:.4g} of the points, by the suite's own program"
    return CheckResult(equal=False, difference=words, share=share or None)


def different(difference: str, *, share: float | None = None) -> CheckResult:
    """Return the result of a comparison that found `difference`."""
    return CheckResult(equal=False, difference=difference, share=share)
