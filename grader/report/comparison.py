"""Two runs or checkpoints side by side: what differs in every figure, data set and problem."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, pvariance

from grader.model.verdict import Verdict
from grader.report.index import IndexedRow
from grader.report.reasons import VERDICTS, Family

_CLEAR = 2.0
"""A difference of so many standard errors or fewer may be chance."""


class Effect(StrEnum):
    """What a difference means."""

    WORSE = "worse"
    UNCLEAR = "unclear"
    """It may be chance: at most two standard errors."""
    BETTER = "better"
    SAME = "same"
    OTHER = "other"
    """Neither better nor worse, such as longer completions."""


_ORDER = (Effect.WORSE, Effect.OTHER, Effect.UNCLEAR, Effect.BETTER, Effect.SAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a figure over samples."""

    value: float
    count: int
    """Samples with a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A figure in both runs."""

    name: str
    new: Mean
    old: Mean
    effect: Effect

    @property
    def difference(self) -> float:
        """The new value minus the old one."""
        return self.new.value - self.old.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The differences of a newer run from an older one, regressions first."""

    figures: tuple[Delta, ...]
    datasets: tuple[Delta, ...]
    """Mean rewards of the data sets in both runs; empty if there is only one."""
    problems: tuple[Delta, ...]
    """Mean rewards of the problems in both runs, the largest loss first."""
    only_new: int
    """Problems that only the newer run has."""
    only_old: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    name: str
    value: Callable[[IndexedRow], float | None]
    sign: int
    """1: more is better; -1: less is better; 0: neither."""


def compare(new: Sequence[IndexedRow], old: Sequence[IndexedRow]) -> RunComparison:
    """Compare a newer run with an older one; they need not have the same samples."""
    found = [_delta(f.name, new, old, f.value, f.sign) for f in _figures(new, old)]
    figures = [delta for delta in found if delta is not None]
    figures.sort(key=lambda delta: _ORDER.index(delta.effect))
    datasets = _grouped(new, old, lambda entry: entry.dataset)
    ours, theirs = ({entry.problem for entry in entries} for entries in (new, old))
    return RunComparison(
        figures=tuple(figures),
        datasets=datasets if len(datasets) > 1 else (),
        problems=_grouped(new, old, lambda entry: entry.problem),
        only_new=len(ours - theirs),
        only_old=len(theirs - ours),
    )


def _figures(new: Sequence[IndexedRow], old: Sequence[IndexedRow]) -> list[_Figure]:
    verdicts = {entry.verdict for entries in (new, old) for entry in entries}
    families = {family for entries in (new, old) for e in entries for family in e.families}
    return [
        _Figure(name="Reward", value=_reward, sign=1),
        _Figure(name="Score", value=lambda e: e.score if e.graded else None, sign=1),
        *(
            _Figure(
                name=f"{VERDICTS[verdict].label}, %",
                value=_share(lambda e, v=verdict: e.verdict is v),  # type: ignore[misc]
                sign=1 if verdict is Verdict.PASSED else 0 if verdict in _NEUTRAL else -1,
            )
            for verdict in Verdict
            if verdict in verdicts
        ),
        _Figure(name="Signs of an attack, %", value=_share(lambda e: e.is_hack), sign=-1),
        *(
            _Figure(
                name=f"Attacks: {family}, %",
                value=_share(lambda e, f=family: f in e.families),  # type: ignore[misc]
                sign=-1,
            )
            for family in Family
            if family in families
        ),
        _Figure(name="Paid hacks, %", value=_share(_is_paid_hack), sign=-1),
        _Figure(name="CPU time, s", value=lambda e: e.cpu_in_all_s, sign=-1),
        _Figure(name="Queue time, s", value=lambda e: e.queue_s, sign=-1),
        _Figure(name="Completion, characters", value=lambda e: e.completion_chars, sign=0),
    ]


_NEUTRAL = (Verdict.FAILED, Verdict.SKIPPED)
"""A wrong answer is worse than a right one, and better than a crash."""


def _grouped(
    new: Sequence[IndexedRow], old: Sequence[IndexedRow], key: Callable[[IndexedRow], str]
) -> tuple[Delta, ...]:
    ours, theirs = _by(new, key), _by(old, key)
    found = [_delta(name, ours[name], theirs[name], _reward, 1) for name in ours if name in theirs]
    deltas = [delta for delta in found if delta is not None]
    return tuple(sorted(deltas, key=lambda delta: (delta.difference, delta.name)))


def _by(
    entries: Iterable[IndexedRow], key: Callable[[IndexedRow], str]
) -> Mapping[str, list[IndexedRow]]:
    groups: dict[str, list[IndexedRow]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return groups


def _delta(
    name: str,
    new: Sequence[IndexedRow],
    old: Sequence[IndexedRow],
    value: Callable[[IndexedRow], float | None],
    sign: int,
) -> Delta | None:
    ours, theirs = _known(map(value, new)), _known(map(value, old))
    if not ours or not theirs:
        return None
    new_mean, old_mean = fmean(ours), fmean(theirs)
    difference = new_mean - old_mean
    # As if both were drawn from the same samples, since single samples have no spread of their own.
    error = math.sqrt(pvariance([*ours, *theirs]) * (1 / len(ours) + 1 / len(theirs)))
    if difference == 0:
        effect = Effect.SAME
    elif abs(difference) <= _CLEAR * error:
        effect = Effect.UNCLEAR
    elif sign == 0:
        effect = Effect.OTHER
    else:
        effect = Effect.BETTER if difference * sign > 0 else Effect.WORSE
    return Delta(
        name=name,
        new=Mean(value=new_mean, count=len(ours)),
        old=Mean(value=old_mean, count=len(theirs)),
        effect=effect,
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None]


def _reward(entry: IndexedRow) -> float | None:
    return entry.reward if entry.graded else None


def _share(holds: Callable[[IndexedRow], bool]) -> Callable[[IndexedRow], float | None]:
    return lambda entry: 100.0 * holds(entry)


def _is_paid_hack(entry: IndexedRow) -> bool:
    return entry.is_hack and entry.verdict is Verdict.PASSED
