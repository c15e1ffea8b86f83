"""Draw the charts of a batch; the page's stylesheet styles them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.report.batch import Batch, Bin
from grader.report.drawing import draw, markup, new_chart
from grader.report.reasons import VERDICTS
from grader.scoring.statistics import PassAt

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH = 480
_HEIGHT = 220
_ROW = 26


def verdict_mix(batch: Batch) -> "Markup":
    """Return a bar per verdict."""
    shown = list(reversed(batch.verdicts))  # pygal draws from the bottom up
    chart = _chart("HorizontalBar", height=_ROW * len(shown) + 40, margin_right=40, margin_left=24)
    chart.x_labels = [f"{VERDICTS[verdict].label}" for verdict, _ in shown]
    chart.add("samples", [count for _, count in shown])
    classes = [f"v-{verdict}" for verdict, _ in shown]
    words = ", ".join(f"{VERDICTS[v].label} {count}" for v, count in batch.verdicts)
    searches = [f"verdict={verdict}" for verdict, _ in shown]
    return _drawn(chart, f"Samples by verdict: {words}", classes, searches)


def histogram(bins: Sequence[Bin], words: str) -> "Markup":
    """Return a bar per bin; `words` says what the bars count."""
    chart = _chart("Bar", height=_HEIGHT, spacing=12)
    chart.x_labels = [each.label for each in bins]
    chart.add("samples", [each.count for each in bins])
    told = ", ".join(f"{each.label}: {each.count}" for each in bins if each.count)
    classes = ["limit-hit" if each.label == "hit" else "" for each in bins]
    return _drawn(chart, f"{words}: {told}", classes, [each.search for each in bins])


def pass_at(points: Sequence[PassAt]) -> "Markup":
    """Return pass@k over k."""
    chart = _chart("Line", height=_HEIGHT, dots_size=4, range=(0, 100), margin_right=32)
    chart.x_labels = [str(point.k) for point in points]
    chart.add("pass@k", [round(100 * point.value, 1) for point in points])
    told = ", ".join(f"pass@{point.k} {100 * point.value:.1f} %" for point in points)
    return _drawn(chart, f"Chance that one of k samples passes: {told}", [])


def _chart(kind: str, *, height: int, **options: Any) -> Any:
    return new_chart(
        kind,
        width=_WIDTH,
        height=height,
        margin=4,
        print_values=True,
        print_values_position="top",
        print_zeroes=False,
        min_scale=2,
        max_scale=6,
        integer_only=True,
        **options,
    )


def _drawn(chart: Any, told: str, classes: Sequence[str], searches: Sequence[str] = ()) -> "Markup":
    """Return a chart as markup.

    Args:
        chart: A chart of pygal.
        told: What it shows, in words.
        classes: The CSS class of each bar.
        searches: What finds the samples of each bar; a click on the bar searches for it.
    """
    svg = draw(chart, told)
    bars = [each for each in svg.iter("g") if each.get("class") == "bar"]
    for bar, name in zip(bars, classes, strict=False):
        bar.set("class", f"bar {name}".strip())
    for bar, search in zip(bars, searches, strict=False):
        bar.set("data-search", search)
    return markup(svg)
