"""Charts of figures over time, as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.report.drawing import draw, markup, new_chart

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT = 400, 150
_VALUE_LABELS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line or layer of a chart."""

    name: str
    css: str
    """Its CSS class, such as "v-passed", which gives it its colour."""
    values: Sequence[float | None]
    """One for each moment; None if unknown."""
    search: str = ""
    """What finds its samples on the page of a report; "": nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A chart of figures over time."""

    title: str
    in_words: str
    """What it shows, in words for screen readers."""
    series: tuple[Series, ...]
    """All have as many values as there are moments."""
    moments: Sequence[str]
    """A label of the axis for each value, the oldest first; empty: no label."""
    stacked: bool = False
    """Whether the series are stacked; else each is a line of its own."""
    filled: bool = False
    """Whether the area below lines is filled, as always in a stacked chart. All values must then be
    known.
    """

    def svg(self) -> "Markup":
        """Draw the chart.

        Raises:
            ConfigurationError: pygal is not installed.
        """
        chart = new_chart(
            "StackedLine" if self.stacked else "Line",
            width=_WIDTH,
            height=_HEIGHT,
            margin=2,
            margin_top=9,
            margin_right=14,
            classes=("timeline", self._look),
            fill=self.stacked or self.filled,
            show_dots=False,
            show_minor_x_labels=False,
            show_minor_y_labels=False,
            x_labels_major=[moment for moment in self.moments if moment],
            y_labels_major_count=_VALUE_LABELS,
            allow_interruptions=True,
            truncate_label=-1,
            range=self._bounds(),
            value_formatter=_short,
        )
        chart.x_labels = list(self.moments)
        for series in self.series:
            chart.add(None, list(series.values))
        svg = draw(chart, f"{self.title}: {self.in_words}")
        for group in svg.iter("g"):
            classes = group.get("class", "").split()
            if "series" in classes:
                number = int(classes[1].removeprefix("serie-"))
                group.set("class", f"series {self.series[number].css}")
        return markup(svg)

    @property
    def _look(self) -> str:
        if self.stacked:
            return "stacked"
        return "filled" if self.filled else "lines"

    def _bounds(self) -> tuple[float, float]:
        """Return round bounds of all values in the chart; 0 is between them."""
        columns = zip(*(series.values for series in self.series), strict=True)
        known = [[value for value in column if value is not None] for column in columns]
        add = sum if self.stacked else max
        highest = max((add(column) for column in known if column), default=0.0)
        lowest = min((min(column) for column in known if column), default=0.0)
        low = -_round_up(-lowest) if lowest < 0 else 0.0
        return low, _round_up(highest) if highest > 0 or not low else 0.0


def _round_up(value: float) -> float:
    if value <= 0:
        return 1.0
    for power in range(-3, 9):
        for step in (1, 2, 4, 6):
            if value <= (top := step * 10.0**power):
                return top
    return float(value)


def _short(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
