"""The page's charts: what of the beats is drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from grader.model.verdict import PRECEDENCE, Verdict
from grader.report.pages import render
from grader.report.reasons import VERDICTS
from grader.report.timeline import Series, Timeline
from grader.server.live.beats import Beat

_POINTS = 75
"""Of a line: as many as a small chart can show."""


def draw_charts(beats: list[Beat], count: int, span_s: float) -> str:
    """Return charts of beats as HTML.

    Args:
        beats: The newest last.
        count: How many the whole width stands for.
        span_s: How many seconds that is.
    """
    points = _points(beats, count)
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

Point = Sequence[Beat]
"""The beats that one point of a line stands for; none where the service did not run yet."""


def _points(beats: list[Beat], count: int) -> list[Point]:
    """Return the beats in groups for `_POINTS` points, the newest last."""
    size = -(-count // _POINTS)
    groups = [beats[max(0, end - size) : end] for end in range(len(beats), 0, -size)]
    missing = -(-count // size) - len(groups)
    return [*([] for _ in range(missing)), *reversed(groups)]


def _rate(point: Point, pick: Callable[[Beat], int]) -> float:
    if not point:
        return 0.0
    return sum(map(pick, point)) / sum(beat.span_s for beat in point)


def _share(point: Point, pick: Callable[[Beat], int]) -> float:
    total = sum(beat.submissions for beat in point)
    return min(100.0, 100 * sum(map(pick, point)) / total) if total else 0.0


def _most(point: Point, pick: Callable[[Beat], float]) -> float:
    return max(map(pick, point), default=0)


# ---------------------------------------------------------------- charts


def _timelines(points: list[Point], moments: list[str]) -> Iterable[Timeline]:
    yield _layers(points, moments, "Graded per second", _VERDICTS, lambda beat: beat.verdicts)
    yield _latency(points, moments)
    yield _line(points, moments, "Waiting", "", lambda beat: beat.waiting)
    yield _line(points, moments, "Longest wait, seconds", " s", lambda beat: beat.oldest_s)
    yield _slots(points, moments)
    yield _signs(points, moments)
    if any(beat.workers is not None for point in points for beat in point):
        yield _line(points, moments, "Workers", "", lambda beat: beat.workers or 0)
        yield _layers(points, moments, "Cache, per second", _CACHE, lambda beat: beat.cache)
    if any(beat.programs for point in points for beat in point):
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
    pick: Callable[[Beat], Mapping[str, int]],
) -> Timeline:
    """Return rates that add up, of those that there were any of."""
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
        title=title, told=_told(sums), series=tuple(series), moments=moments, stacked=True
    )


def _of(pick: Callable[[Beat], Mapping[str, int]], key: str, beat: Beat) -> int:
    return pick(beat).get(key, 0)


def _latency(points: list[Point], moments: list[str]) -> Timeline:
    recent = [
        [beat for point in points[max(0, i - _LATENCY_POINTS + 1) : i + 1] for beat in point]
        for i in range(len(points))
    ]
    series = tuple(
        Series(name=name, css=f"v-{phase}", values=[_slowest(point, phase) for point in recent])
        for phase, name in _PHASES.items()
    )
    return Timeline(
        title="95 % took at most, seconds",
        told=_told([_slowest(point, "total") for point in recent], " s"),
        series=series,
        moments=moments,
    )


_PHASES = {"wait": "waiting", "run": "running", "parse": "reading the label"}
_LATENCY_POINTS = 3
"""So many points are taken together: where little is graded, a line would be all gaps."""


def _slowest(point: Point, phase: str) -> float | None:
    found = [beat.latency[phase].p95_s for beat in point if phase in beat.latency]
    return max(found, default=None)


def _line(
    points: list[Point], moments: list[str], title: str, unit: str, pick: Callable[[Beat], float]
) -> Timeline:
    values = [_most(point, pick) for point in points]
    return Timeline(
        title=title,
        told=_told(values, unit),
        series=(Series(name=title, css="v-plain", values=values),),
        moments=moments,
        filled=True,
    )


def _programs(points: list[Point], moments: list[str]) -> Timeline:
    title = "Programs of /run_code, per second"
    values = [_rate(point, lambda beat: beat.programs) for point in points]
    return Timeline(
        title=title,
        told=_told(values),
        series=(Series(name=title, css="v-plain", values=values),),
        moments=moments,
        filled=True,
    )


def _slots(points: list[Point], moments: list[str]) -> Timeline:
    busy = Series(
        name="busy",
        css="v-plain",
        values=[_most(point, lambda beat: beat.busy) for point in points],
    )
    usable = Series(
        name="all",
        css="v-bound",
        values=[_most(point, lambda beat: beat.usable) for point in points],
    )
    return Timeline(title="Slots", told=_told(busy.values), series=(busy, usable), moments=moments)


def _signs(points: list[Point], moments: list[str]) -> Timeline:
    attacks = [_share(point, lambda beat: beat.suspicious) for point in points]
    faults = [_share(point, lambda beat: beat.internal_errors) for point in points]
    return Timeline(
        title="Of 100 graded",
        told=_told([a + b for a, b in zip(attacks, faults, strict=True)]),
        series=(
            Series(name="like an attack", css="v-tampered", values=attacks),
            Series(name="our fault", css="v-internal_error", values=faults),
        ),
        moments=moments,
        filled=True,
    )


def _told(values: Sequence[float | None], unit: str = "") -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "nothing yet"
    return f"now {known[-1]:.3g}{unit}, at most {max(known):.3g}{unit}"
