"""The page's charts over time, drawn from intervals."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial

from grader.model.verdict import PRECEDENCE, Verdict
from grader.report.pages import render
from grader.report.reasons import VERDICTS
from grader.report.timeline import Series, Timeline
from grader.server.live.intervals import Interval
from grader.server.live.monitor import INTERVAL_S, INTERVALS, MINUTE_S, MINUTES, Monitor

_POINTS = 75
"""Points of a line: as many as a small chart can show."""


class ChartSpan(StrEnum):
    """How far back charts go."""

    MINUTES = "minutes"
    HOURS = "hours"


class ChartCache:
    """Draws the charts once per interval for all subscribers. For the event loop's thread."""

    def __init__(self, monitor: Monitor) -> None:
        """Draw nothing yet."""
        self._monitor = monitor
        self._drawn: dict[ChartSpan, tuple[float, str]] = {}
        self._drawing = asyncio.Lock()

    async def html(self, span: ChartSpan) -> str:
        """Return the charts as an HTML fragment, up to date with the last interval."""
        async with self._drawing:
            intervals, count, span_s = self._intervals(span)
            newest = intervals[-1].at if intervals else 0.0
            drawn_at, html = self._drawn.get(span, (-1.0, ""))
            if drawn_at != newest:
                # In a thread: it takes some 50 ms, which would delay other requests.
                html = await asyncio.to_thread(draw_charts, intervals, count, span_s)
                self._drawn[span] = (newest, html)
            return html

    def _intervals(self, span: ChartSpan) -> tuple[list[Interval], int, float]:
        match span:
            case ChartSpan.MINUTES:
                return list(self._monitor.intervals), INTERVALS, INTERVALS * INTERVAL_S
            case ChartSpan.HOURS:
                return list(self._monitor.minutes), MINUTES, MINUTES * MINUTE_S


def draw_charts(intervals: list[Interval], count: int, span_s: float) -> str:
    """Return charts of intervals as HTML.

    Args:
        intervals: The newest last.
        count: The number of intervals that fill the width of a chart.
        span_s: Their length together, in seconds.
    """
    points = _points(intervals, count)
    timelines = _timelines(points, _moments(len(points), span_s))
    return render("timelines.html", timelines=list(timelines))


def _moments(points: int, span_s: float) -> list[str]:
    """Return the labels of all points: a few at round times before now."""
    unit_s, unit = (3600.0, "h") if span_s > 3600 else (60.0, "min")
    labels = [""] * points
    for ago in range(1, int(span_s / unit_s) + 1):
        labels[int(points * (1 - ago * unit_s / span_s))] = f"{ago} {unit}"
    labels[-1] = "now"
    return labels


# ---------------------------------------------------------------- points

Point = Sequence[Interval]
"""The intervals of one point of a line; empty for times before the service started."""


def _points(intervals: list[Interval], count: int) -> list[Point]:
    """Return the intervals in groups for `_POINTS` points, the newest last."""
    size = -(-count // _POINTS)
    groups = [intervals[max(0, end - size) : end] for end in range(len(intervals), 0, -size)]
    missing = -(-count // size) - len(groups)
    return [*([] for _ in range(missing)), *reversed(groups)]


def _rate(point: Point, pick: Callable[[Interval], int]) -> float:
    if not point:
        return 0.0
    return sum(map(pick, point)) / sum(interval.span_s for interval in point)


def _share(point: Point, pick: Callable[[Interval], int]) -> float:
    total = sum(interval.submissions for interval in point)
    return min(100.0, 100 * sum(map(pick, point)) / total) if total else 0.0


def _most(point: Point, pick: Callable[[Interval], float]) -> float:
    return max(map(pick, point), default=0)


# ---------------------------------------------------------------- charts


def _timelines(points: list[Point], moments: list[str]) -> Iterable[Timeline]:
    yield _layers(
        points, moments, "Graded per second", _VERDICTS, lambda interval: interval.verdicts
    )
    yield _reward(points, moments)
    yield _latency(points, moments)
    yield _line(points, moments, "Waiting", "", lambda interval: interval.waiting)
    yield _line(points, moments, "Longest wait, seconds", " s", lambda interval: interval.oldest_s)
    yield _slots(points, moments)
    yield _signs(points, moments)
    if any(interval.workers is not None for point in points for interval in point):
        yield _line(points, moments, "Workers", "", lambda interval: interval.workers or 0)
        yield _layers(points, moments, "Cache, per second", _CACHE, lambda interval: interval.cache)
    if any(interval.programs for point in points for interval in point):
        yield _programs(points, moments)


_VERDICTS = {
    verdict.value: (VERDICTS[verdict].label, f"v-{verdict}")
    for verdict in reversed(PRECEDENCE)
    if verdict is not Verdict.SKIPPED
}
_CACHE = {
    "hit": ("from cache", "v-hit"),
    "joined": ("joined one in flight", "v-joined"),
    "miss": ("graded", "v-miss"),
}


def _layers(
    points: list[Point],
    moments: list[str],
    title: str,
    names: Mapping[str, tuple[str, str]],
    pick: Callable[[Interval], Mapping[str, int]],
) -> Timeline:
    """Return a stacked chart of rates, without layers that are always 0."""
    series = []
    for key, (name, css) in names.items():
        values = [_rate(point, partial(_of, pick, key)) for point in points]
        if any(values):
            series.append(Series(name=name, css=css, values=values))
    sums = [sum(column) for column in zip(*(each.values for each in series), strict=True)]
    if not series:
        key = next(iter(names))
        series.append(Series(name=names[key][0], css=names[key][1], values=[0] * len(points)))
    return Timeline(
        title=title, in_words=_in_words(sums), series=tuple(series), moments=moments, stacked=True
    )


def _of(pick: Callable[[Interval], Mapping[str, int]], key: str, interval: Interval) -> int:
    return pick(interval).get(key, 0)


def _recent(points: list[Point]) -> list[Point]:
    """Return each point together with those just before it.

    If little is graded, a line of single points would be mostly gaps.
    """
    return [
        [interval for point in points[max(0, i - 2) : i + 1] for interval in point]
        for i in range(len(points))
    ]


def _reward(points: list[Point], moments: list[str]) -> Timeline:
    values = [_mean_reward(point) for point in _recent(points)]
    known = [value for value in values if value is not None]
    least = f", at least {min(known):.3g}" if known else ""
    return Timeline(
        title="Mean reward",
        in_words=_in_words(values) + least,
        series=(Series(name="Mean reward", css="v-plain", values=values),),
        moments=moments,
    )


def _mean_reward(point: Point) -> float | None:
    graded = sum(interval.graded for interval in point)
    return sum(interval.rewards for interval in point) / graded if graded else None


def _latency(points: list[Point], moments: list[str]) -> Timeline:
    recent = _recent(points)
    series = tuple(
        Series(name=name, css=f"v-{phase}", values=[_slowest(point, phase) for point in recent])
        for phase, name in _PHASES.items()
    )
    return Timeline(
        title="95 % took at most, seconds",
        in_words=_in_words([_slowest(point, "total") for point in recent], " s"),
        series=series,
        moments=moments,
    )


_PHASES = {"wait": "waiting", "run": "running", "parse": "reading the label"}


def _slowest(point: Point, phase: str) -> float | None:
    found = [interval.latency[phase].p95_s for interval in point if phase in interval.latency]
    return max(found, default=None)


def _line(
    points: list[Point],
    moments: list[str],
    title: str,
    unit: str,
    pick: Callable[[Interval], float],
) -> Timeline:
    values = [_most(point, pick) for point in points]
    return Timeline(
        title=title,
        in_words=_in_words(values, unit),
        series=(Series(name=title, css="v-plain", values=values),),
        moments=moments,
        filled=True,
    )


def _programs(points: list[Point], moments: list[str]) -> Timeline:
    title = "Programs of /run_code, per second"
    values = [_rate(point, lambda interval: interval.programs) for point in points]
    return Timeline(
        title=title,
        in_words=_in_words(values),
        series=(Series(name=title, css="v-plain", values=values),),
        moments=moments,
        filled=True,
    )


def _slots(points: list[Point], moments: list[str]) -> Timeline:
    busy = Series(
        name="busy",
        css="v-plain",
        values=[_most(point, lambda interval: interval.busy) for point in points],
    )
    usable = Series(
        name="all",
        css="v-bound",
        values=[_most(point, lambda interval: interval.usable) for point in points],
    )
    return Timeline(
        title="Slots", in_words=_in_words(busy.values), series=(busy, usable), moments=moments
    )


def _signs(points: list[Point], moments: list[str]) -> Timeline:
    attacks = [_share(point, lambda interval: interval.suspicious) for point in points]
    faults = [_share(point, lambda interval: interval.internal_errors) for point in points]
    return Timeline(
        title="Of 100 graded",
        in_words=_in_words([a + b for a, b in zip(attacks, faults, strict=True)]),
        series=(
            Series(name="like an attack", css="v-tampered", values=attacks),
            Series(name="not graded", css="v-internal_error", values=faults),
        ),
        moments=moments,
        filled=True,
    )


def _in_words(values: Sequence[float | None], unit: str = "") -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "nothing yet"
    return f"now {known[-1]:.3g}{unit}, at most {max(known):.3g}{unit}"
