"""Draw charts with pygal, without pygal's own styles and scripts.

A page's Content-Security-Policy would block these, and colours have to follow the page's light or
dark scheme, so the page's stylesheet styles the charts.
"""

import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from grader.model.errors import ConfigurationError

if TYPE_CHECKING:
    from markupsafe import Markup

_DROPPED_TAGS = frozenset({"defs", "desc", "script", "style", "title"})
_DROPPED_CLASSES = frozenset({"background", "tooltip-overlay"})


def new_chart(kind: str, **options: Any) -> Any:
    """Return a chart of pygal, of a kind such as "Bar", with `options` as pygal names them.

    Raises:
        ConfigurationError: pygal is not installed.
    """
    try:
        import pygal
    except ImportError as error:
        message = "charts need pygal: pip install 'grader-rl[report]'"
        raise ConfigurationError(message) from error
    # pygal leaves a finder there that inspects every later import, and that Python warns about.
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__module__ != "pygal"]
    return getattr(pygal, kind)(css=[], js=[], show_legend=False, **options)


def draw(chart: Any, in_words: str) -> ET.Element:
    """Return a chart as an `svg` element without styles, scripts or tooltips.

    Args:
        chart: A chart of `new_chart`.
        in_words: What it shows, in words for screen readers.
    """
    svg: ET.Element = chart.render_tree()
    _strip(svg)
    svg.attrib.pop("id", None)
    svg.set("role", "img")
    svg.set("aria-label", in_words)
    return svg


def markup(svg: ET.Element) -> "Markup":
    """Return an element as markup that templates insert unescaped."""
    from markupsafe import Markup

    return Markup(ET.tostring(svg, "unicode", short_empty_elements=False))  # noqa: S704 - escaped


def _strip(element: ET.Element) -> None:
    for child in list(element):
        if not _is_dropped(child):
            _strip(child)
            if child.tag != "g" or len(child):
                continue
        element.remove(child)


def _is_dropped(child: ET.Element) -> bool:
    if not isinstance(child.tag, str):  # A comment.
        return True
    classes = child.get("class", "").split()
    return child.tag in _DROPPED_TAGS or not _DROPPED_CLASSES.isdisjoint(classes)
