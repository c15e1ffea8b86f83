"""What a trainer's dynamic filtering will do with groups of samples, before it does it.

OpenRLHF keeps a prompt's group where `low < mean(scores) < high`, strictly: groups that are all
right or all wrong give no advantage and are dropped. A group whose scores are all the same
fraction gives none either, but passes that test; binary scores avoid it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class GroupFate(StrEnum):
    """What becomes of a group."""

    KEPT = "kept"
    TOO_HARD = "too_hard"
    """Its mean is at the lower bound or below it."""
    TOO_EASY = "too_easy"
    FLAT = "flat"
    """Kept by the filter, though every score is the same: trained on for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterForecast:
    """What the filter would do with many groups."""

    fates: tuple[GroupFate, ...]
    """Of each group, in order."""

    def share(self, fate: GroupFate) -> float:
        """Return the share of groups with a fate, in [0, 1]; 0 where there is no group."""
        return self.fates.count(fate) / len(self.fates) if self.fates else 0.0


def fate_of(scores: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> GroupFate:
    """Return what becomes of one prompt's group of samples.

    Args:
        scores: Of its samples; at least one.
        low: Of the trainer's range.
        high: Of the trainer's range.

    Raises:
        ValueError: There is no score.
    """
    if not scores:
        message = "a group without a sample"
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
    """Return what becomes of many groups; see `fate_of`."""
    return FilterForecast(fates=tuple(fate_of(group, low=low, high=high) for group in groups))


def in_groups(scores: Sequence[float], size: int) -> list[Sequence[float]]:
    """Cut the scores of consecutive samples into groups of `size`; the last may be smaller."""
    return [scores[start : start + size] for start in range(0, len(scores), size)]
