"""How the figures of a run move over its training steps, or over time if rows name no steps."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from grader.model.verdict import Suspicion, Verdict
from grader.report.index import IndexedRow
from grader.report.reasons import VERDICTS, Family
from grader.report.timeline import Series, Timeline

MOMENTS = 60
"""Most points of a chart."""
_DATASETS = 5
"""Most data sets with a line of their own."""
_LABELS = 6
"""Most labels of an axis."""
_MINUTE_S = 60.0

STEP = "step"
TIME = "time"

_SIGNS: Mapping[Suspicion, tuple[str, str]] = {
    Suspicion.TWIN: ("passes wrong tests", "v-tampered"),
    Suspicion.EARLY_EXIT: ("ends early", "v-runtime_error"),
    Suspicion.LOOKED: ("reads its tests", "v-time_limit"),
    Suspicion.FORGED_REPORT: ("forges a report", "v-failed"),
    Suspicion.FORGED_FRAME: ("forges a message", "v-compile_error"),
    Suspicion.FORBIDDEN_CALL: ("forbidden system call", "v-memory_limit"),
    Suspicion.NETWORK: ("reaches for a network", "v-output_limit"),
}
_FAMILIES: Mapping[Family, str] = {
    Family.FORGING: "v-tampered",
    Family.READING: "v-time_limit",
    Family.ENDING: "v-runtime_error",
    Family.PROBING: "v-output_limit",
}
"""The class of each family's line."""
_LINES = ("v-plain", "v-failed", "v-passed", "v-time_limit", "v-runtime_error")
"""Classes of the lines of data sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The samples of some neighbouring steps, or of a stretch of time."""

    label: str
    entries: tuple[IndexedRow, ...]
    step: int | None = None
    """The first of its steps; None if rows are grouped by time."""

    def mean(self, value: Callable[[IndexedRow], float | None]) -> float | None:
        """Return the mean over the samples with a value; None if there are none."""
        found = [known for entry in self.entries if (known := value(entry)) is not None]
        return sum(found) / len(found) if found else None

    def share(self, holds: Callable[[IndexedRow], bool]) -> float | None:
        """Return the percentage of the graded samples for which something holds."""
        return self.mean(lambda entry: 100.0 * holds(entry) if entry.graded else None)


@dataclass(frozen=True, kw_only=True)
class Trends:
    """A run, moment by moment."""

    axis: str
    """`STEP` or `TIME`."""
    moments: tuple[Moment, ...]
    """The earliest first; at least two. Each has a sample."""
    left_out: int
    """Samples whose step, or time, is not known."""

    @cached_property
    def timelines(self) -> tuple[Timeline, ...]:
        """The charts."""
        charts = [
            self._line("Mean reward", lambda m: m.mean(_reward)),
            self._line("Passed, %", lambda m: m.share(_passed)),
            self._verdicts(),
            *self._hacks(),
            self._line("CPU time, seconds a sample", lambda m: m.mean(lambda e: e.cpu_in_all_s)),
            self._line("Queue, seconds a sample", lambda m: m.mean(lambda e: e.queue_s)),
            self._datasets("Mean reward by data set", lambda m: m.mean(_reward)),
            self._datasets("Passed by data set, %", lambda m: m.share(_passed)),
        ]
        return tuple(chart for chart in charts if chart is not None)

    def halves(self) -> tuple[tuple[IndexedRow, ...], tuple[IndexedRow, ...]]:
        """Return the samples of the earlier and of the later half of the moments."""
        middle = len(self.moments) // 2
        early, late = self.moments[:middle], self.moments[middle:]
        return tuple(e for m in early for e in m.entries), tuple(e for m in late for e in m.entries)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """The first and the last step of each moment; empty if moments are stretches of time."""
        found = [[e.step for e in m.entries if e.step is not None] for m in self.moments]
        return [(min(steps), max(steps)) for steps in found if steps] if self.axis == STEP else []

    def _line(self, title: str, value: Callable[[Moment], float | None]) -> Timeline | None:
        values = [value(moment) for moment in self.moments]
        if all(each is None for each in values):
            return None
        series = (Series(name=title, css="v-plain", values=values),)
        return self._chart(title, _in_words(self.moments, values), series)

    def _verdicts(self) -> Timeline:
        counts = [Counter(entry.verdict for entry in m.entries) for m in self.moments]
        found = [verdict for verdict in Verdict if any(count[verdict] for count in counts)]
        series = tuple(
            Series(
                name=VERDICTS[verdict].label,
                css=f"v-{verdict}",
                values=[100.0 * count[verdict] / count.total() for count in counts],
                search=f"verdict={verdict}",
            )
            for verdict in found
        )
        return self._chart("Verdicts, %", f"{len(found)} verdicts", series, stacked=True)

    def _hacks(self) -> Sequence[Timeline]:
        """Return the shares of attacks: a chart by family, and one by sign."""
        values = self._shares(lambda e: e.is_hack)
        if not any(values):
            return ()
        in_words = _in_words(self.moments, values)
        families = [
            Series(
                name=family,
                css=css,
                values=self._shares(lambda e, f=family: f in e.families),  # type: ignore[misc]
                search=f'family:"{family}"',
            )
            for family, css in _FAMILIES.items()
        ]
        signs = [
            Series(
                name=name,
                css=css,
                values=self._shares(lambda e, s=sign: s in e.suspicion),  # type: ignore[misc]
                search=f'suspicion:"{sign.replace("_", " ")}"',
            )
            for sign, (name, css) in _SIGNS.items()
        ]
        total = Series(name="any", css="v-internal_error", values=values, search="hack=true")
        charts = {"Attacks by family, %": families, "Signs of an attack, %": signs}
        return [
            self._chart(title, in_words, (total, *(line for line in lines if any(line.values))))
            for title, lines in charts.items()
        ]

    def _shares(self, holds: Callable[[IndexedRow], bool]) -> list[float | None]:
        return [moment.share(holds) for moment in self.moments]

    def _datasets(self, title: str, value: Callable[[Moment], float | None]) -> Timeline | None:
        counts = Counter(entry.dataset for m in self.moments for entry in m.entries)
        if len(counts) < 2:
            return None
        parts: list[Series] = []
        for (name, _), css in zip(counts.most_common(_DATASETS), _LINES, strict=False):
            own = [
                Moment(label=m.label, entries=tuple(e for e in m.entries if e.dataset == name))
                for m in self.moments
            ]
            search = "" if '"' in name else f'dataset="{name}"'
            values = [value(m) for m in own]
            parts.append(Series(name=name, css=css, values=values, search=search))
        return self._chart(title, f"{len(counts)} data sets", tuple(parts))

    def _chart(
        self, title: str, in_words: str, series: tuple[Series, ...], *, stacked: bool = False
    ) -> Timeline:
        return Timeline(
            title=title,
            in_words=in_words,
            series=series,
            moments=_axis([moment.label for moment in self.moments]),
            stacked=stacked,
        )


def trends_of(entries: Sequence[IndexedRow], *, every_step: bool = False) -> Trends | None:
    """Return how the figures of rows move; None if there are not two steps, or times, to compare.

    If any row names a step, rows without one are left out. If no row does, rows are grouped by
    equal stretches of the time when they were graded, and rows without a time are left out.

    Args:
        entries: The rows.
        every_step: Whether each step is a moment of its own, even if there are more than
            `MOMENTS`.
    """
    stepped = [(entry.step, entry) for entry in entries if entry.step is not None]
    if stepped:
        return _trends(STEP, _by_step(stepped, every_step=every_step), len(entries) - len(stepped))
    timed = [(entry.at, entry) for entry in entries if entry.at is not None]
    return _trends(TIME, _by_time(timed), len(entries) - len(timed))


def _trends(axis: str, moments: list[Moment], left_out: int) -> Trends | None:
    if len(moments) < 2:
        return None
    return Trends(axis=axis, moments=tuple(moments), left_out=left_out)


def _by_step(stepped: list[tuple[int, IndexedRow]], *, every_step: bool) -> list[Moment]:
    by_step: dict[int, list[IndexedRow]] = defaultdict(list)
    for step, entry in stepped:
        by_step[step].append(entry)
    steps = sorted(by_step)
    width = 1 if every_step else -(-len(steps) // MOMENTS)
    return [
        Moment(
            label=str(steps[start]),
            entries=tuple(e for step in steps[start : start + width] for e in by_step[step]),
            step=steps[start],
        )
        for start in range(0, len(steps), width)
    ]


def _by_time(timed: list[tuple[float, IndexedRow]]) -> list[Moment]:
    if not timed:
        return []
    start, end = min(at for at, _ in timed), max(at for at, _ in timed)
    width = (end - start) / MOMENTS or 1.0

    def place(pair: tuple[float, IndexedRow]) -> int:
        return min(MOMENTS - 1, int((pair[0] - start) / width))

    return [
        Moment(
            label=f"{number * width / _MINUTE_S:.3g} min",
            entries=tuple(entry for _, entry in pairs),
        )
        for number, pairs in groupby(sorted(timed, key=place), key=place)
    ]


def _axis(labels: Sequence[str]) -> list[str]:
    """Return the labels with only some of them left; the first and the last are among these."""
    width = max(1, -(-(len(labels) - 1) // (_LABELS - 1)))
    kept = set(range(0, len(labels) - width // 2, width)) | {len(labels) - 1}
    return [label if number in kept else "" for number, label in enumerate(labels)]


def _reward(entry: IndexedRow) -> float | None:
    return entry.reward if entry.graded else None


def _passed(entry: IndexedRow) -> bool:
    return entry.verdict is Verdict.PASSED


def _in_words(moments: Sequence[Moment], values: Sequence[float | None]) -> str:
    """Return the first, the least, the most and the last value in words."""
    known = [
        (value, m.label) for m, value in zip(moments, values, strict=True) if value is not None
    ]
    low, high = min(known, key=lambda pair: pair[0]), max(known, key=lambda pair: pair[0])
    return (
        f"{known[0][0]:.3g} → {known[-1][0]:.3g}; "
        f"least {low[0]:.3g} at {low[1]}, most {high[0]:.3g} at {high[1]}"
    )
