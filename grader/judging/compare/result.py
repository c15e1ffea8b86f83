"""The result of a comparison."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Whether an output is right and, if not, its first difference."""

    equal: bool
    difference: str = ""
    """One short, inert line; empty if equal."""
    share: float | None = None
    """If it is right in part, its share of the case's points, above 0 and below 1; else None."""


EQUAL = CheckResult(equal=True)


def right_in_part(share: float) -> CheckResult:
    """Return the result if a checker or interactor gave a share of the points, in [0, 1]."""
    if share == 1:
        return EQUAL
    words = f"{share:.4g} of the points, by the suite's own program"
    return CheckResult(equal=False, difference=words, share=share or None)


def different(difference: str, *, share: float | None = None) -> CheckResult:
    """Return the result of a comparison that found `difference`."""
    return CheckResult(equal=False, difference=difference, share=share)
