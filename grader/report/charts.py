"""Charts as inline SVG, drawn by pygal and coloured by the page's stylesheet.

pygal would bring styles and a script of its own into every drawing; both are taken out, so that a
chart obeys the page's policy, follows light and dark, and prints.
"""

import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from grader.errors import ConfigurationError
from grader.report.batch import Batch, Bin
from grader.report.reasons import VERDICTS
from grader.stats import PassAt

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
    return _drawn(chart, f"Samples by verdict: {words}", classes)


def histogram(bins: Sequence[Bin], words: str) -> "Markup":
    """Return a bar per bin; `words` says what is counted."""
    chart = _chart("Bar", height=_HEIGHT, spacing=12)
    chart.x_labels = [each.label for each in bins]
    chart.add("samples", [each.count for each in bins])
    told = ", ".join(f"{each.label}: {each.count}" for each in bins if each.count)
    classes = ["limit-hit" if each.label == "hit" else "" for each in bins]
    return _drawn(chart, f"{words}: {told}", classes)


def pass_at(points: Sequence[PassAt]) -> "Markup":
    """Return pass@k over k."""
    chart = _chart("Line", height=_HEIGHT, dots_size=4, range=(0, 100), margin_right=32)
    chart.x_labels = [str(point.k) for point in points]
    chart.add("pass@k", [round(100 * point.value, 1) for point in points])
    told = ", ".join(f"pass@{point.k} {100 * point.value:.1f} %" for point in points)
    return _drawn(chart, f"Chance that one of k samples passes: {told}", [])


def _chart(kind: str, *, height: int, **options: Any) -> Any:
    return getattr(_pygal(), kind)(
        width=_WIDTH,
        height=height,
        margin=4,
        show_legend=False,
        print_values=True,
        print_values_position="top",
        print_zeroes=False,
        min_scale=2,
        max_scale=6,
        integer_only=True,
        css=[],
        js=[],
        **options,
    )


@cache
def _pygal() -> Any:
    try:
        import pygal
    except ImportError as error:
        message = "a report needs pygal and jinja2: pip install 'grader-rl[report]'"
        raise ConfigurationError(message) from error
    # It hooks into every later import of the process, for plugins that are not used here, in a
    # way that Python has given up.
    hook = pygal.PluginImportFixer
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, hook)]
    return pygal


def _drawn(chart: Any, label: str, classes: Sequence[str]) -> "Markup":
    """Return a chart's SVG without what the page brings itself.

    Args:
        chart: Of pygal.
        label: What a person who does not see it is told.
        classes: For each bar.
    """
    from markupsafe import Markup

    svg = chart.render_tree()
    _strip(svg)
    svg.attrib.pop("id", None)
    svg.set("role", "img")
    svg.set("aria-label", label)
    bars = [each for each in svg.iter("g") if each.get("class") == "bar"]
    for bar, name in zip(bars, classes, strict=False):
        bar.set("class", f"bar {name}".strip())
    return Markup(ET.tostring(svg, "unicode", short_empty_elements=False))  # noqa: S704 - escaped by it


_UNWANTED = frozenset({"defs", "title", "desc", "script", "style"})
_UNWANTED_CLASS = "plot tooltip-overlay"


def _strip(element: ET.Element) -> None:
    for child in list(element):
        comment = not isinstance(child.tag, str)
        if comment or child.tag in _UNWANTED or child.get("class") == _UNWANTED_CLASS:
            element.remove(child)
        else:
            _strip(child)
