"""Charts over time: their content, without pygal's styles and scripts."""

import re
from xml.etree import ElementTree

import pytest

from grader.report.timeline import Series, Timeline

SVG = "{http://www.w3.org/2000/svg}"


def chart(*values: list[float | None], stacked: bool = False, filled: bool = False) -> str:
    names = ("one", "two", "three")
    series = [
        Series(name=name, css=f"v-{name}", values=each)
        for name, each in zip(names, values, strict=False)
    ]
    moments = ["old", *([""] * (len(values[0]) - 2)), "now"]
    timeline = Timeline(
        title="A <title>",
        in_words='now "3"',
        series=tuple(series),
        moments=moments,
        stacked=stacked,
        filled=filled,
    )
    return str(timeline.svg())


def labels(svg: str, axis: str) -> list[str]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return [
        text.text or ""
        for group in root.iter(f"{SVG}g")
        if f"axis {axis}" in group.get("class", "")
        for text in group.iter(f"{SVG}text")
    ]


def test_chart_has_only_drawing_elements_and_a_label() -> None:
    svg = chart([1, 2, 3], [3, 2, 1], stacked=True)
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "g", "path", "text"}
    assert not re.search(r"style=|href|on\w+=|id=|<!--", svg)
    assert (root.get("role"), root.get("aria-label")) == ("img", 'A <title>: now "3"')


def test_series_bear_the_classes_that_the_stylesheet_knows() -> None:
    assert re.findall(r'class="series ([\w-]+)"', chart([1, 2], [2, 1])) == ["v-one", "v-two"]


def test_axes_have_labels_only_at_given_moments() -> None:
    svg = chart([0, 5, 11.0])
    assert labels(svg, "x") == ["old", "now"]
    assert labels(svg, "y") == ["0", "10", "20"]


@pytest.mark.parametrize("stacked", [True, False])
def test_layers_add_up_and_lines_do_not(stacked: bool) -> None:
    assert labels(chart([9, 9], [9, 9], stacked=stacked), "y")[-1] == ("20" if stacked else "10")


def test_unknown_value_is_a_gap() -> None:
    assert (
        chart([1, 2, None, None, 2, 1]).count("<path d=")
        - chart([1, 2, 1, 1, 2, 1]).count("<path d=")
        == 1
    )


@pytest.mark.parametrize("values", [[0, 0], [None, None], [0.0004, 0], [7e6, 1e9]])
def test_any_values_can_be_drawn(values: list[float | None]) -> None:
    assert labels(chart(values), "y")[0] == "0"


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        pytest.param([-0.3, 0.2], "-0.4", "0.2", id="both signs"),
        pytest.param([-3.0, -1.0], "-4", "0", id="negative"),
        pytest.param([0.5, 1.0], "0", "1", id="positive"),
    ],
)
def test_axis_holds_negative_values_and_zero(
    values: list[float | None], least: str, most: str
) -> None:
    shown = labels(chart(values), "y")
    assert (shown[0], shown[-1]) == (least, most)
