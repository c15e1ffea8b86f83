"""pygal, without what it brings for pages of its own.

A page's Content-Security-Policy would refuse its style element and its scripts, and colours have
to follow the page's light and dark scheme: the stylesheet gives a chart all its looks.
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
    # It leaves a finder there that looks at every import to come, in a way that Python warns of.
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__module__ != "pygal"]
    return getattr(pygal, kind)(css=[], js=[], show_legend=False, **options)


def draw(chart: Any, told: str) -> ET.Element:
    """Return a chart as an `svg` element with nothing in it but what is drawn.

    Args:
        chart: Of `new_chart`.
        told: What it shows in words, for those who cannot see it.
    """
    svg: ET.Element = chart.render_tree()
    _strip(svg)
    svg.attrib.pop("id", None)
    svg.set("role", "img")
    svg.set("aria-label", told)
    return svg


def markup(svg: ET.Element) -> "Markup":
    """Return an element as markup that templates put in as it is."""
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
