"""A forecast of what a trainer's dynamic filtering does with groups of samples.

OpenRLHF keeps a prompt's group if `low < mean(scores) < high`, strictly: groups that are all
right or all wrong give no advantage and are dropped. A group of equal fractions gives none either,
but is kept; binary scores avoid such groups.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class GroupFate(StrEnum):
    """What the filter does with a group."""

    KEPT = "kept"
    TOO_HARD = "too_hard"
    """Dropped: its mean is not above the lower bound."""
    TOO_EASY = "too_easy"
    """Dropped: its mean is not below the upper bound."""
    FLAT = "flat"
    """Kept although all scores are equal, so that training on it has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterForecast:
    """What the filter does with many groups."""

    fates: tuple[GroupFate, ...]
    """One for each group, in order."""

    def share(self, fate: GroupFate) -> float:
        """Return the share of groups with a fate, in [0, 1]; 0 if there is no group."""
        return self.fates.count(fate) / len(self.fates) if self.fates else 0.0


def fate_of(scores: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> GroupFate:
    """Return what the filter does with one prompt's group.

    Args:
        scores: The scores of its samples; at least one.
        low: The lower bound of the trainer's range.
        high: Its upper bound.

    Raises:
        ValueError: There is no score.
    """
    if not scores:
        message = "the group has no sample"
        raise ValueError(message)
    mean = math.fsum(scores) / len(scores)
    if mean <= low:
        return GroupFate.TOO_HARD
    if mean >= high:
        return GroupFate.TOO_EASY
    return GroupFate.FLAT if max(scores) == min(scores) else GroupFate.KEPT


def forecast(
    groups: Iterable[Sequence[float]], *, low: float = 0.0, high: float = 1.0
) -> FilterForecast:
    """Return what the filter does with many groups; see `fate_of`."""
    return FilterForecast(fates=tuple(fate_of(group, low=low, high=high) for group in groups))
