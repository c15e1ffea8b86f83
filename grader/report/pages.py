"""Templates to HTML.

Everything that a template prints is hostile until shown otherwise: each value goes through
`grader.text.visible` and is escaped by the environment itself, so that no template can forget
to. The filter `marked` does the same and sets the symbols apart; it is for text between tags only.

Pages are served with `SERVED_POLICY`: nothing in them runs but files of ours, and nothing is
loaded from anywhere else.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grader.model.errors import ConfigurationError
from grader.model.wire import json_bytes
from grader.report.flips import Flip
from grader.report.highlight import highlighted
from grader.report.reasons import VERDICTS
from grader.report.sample import SampleView, seconds, size
from grader.text.visible import pieces, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_ONE_DOOR = "require-trusted-types-for 'script'; trusted-types fragments"
"""Scripts of ours put markup into a page by one function only."""

SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    f"{_ONE_DOOR}"
)
"""The Content-Security-Policy of every page that is served."""

SERVED_HEADERS = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What goes with every page and asset that is served."""

ASSETS: Mapping[str, str] = {
    "report.css": "text/css; charset=utf-8",
    "batch.css": "text/css; charset=utf-8",
    "controls.css": "text/css; charset=utf-8",
    "data.js": "text/javascript; charset=utf-8",
    "table.js": "text/javascript; charset=utf-8",
    "report.js": "text/javascript; charset=utf-8",
}
"""The static files by name, with their content types."""

STYLES = ("report.css", "controls.css", "batch.css")
"""Of a report's page, in order."""


def asset(name: str) -> str:
    """Return the text of a static file.

    Raises:
        KeyError: There is none of that name in `ASSETS`.
    """
    ASSETS[name]  # never a path of the caller's making
    return (resources.files("grader.report") / "static" / name).read_text("utf-8")


def render(template: str, **values: Any) -> str:
    """Return a template filled in.

    Raises:
        ConfigurationError: The package that templates need is not installed.
    """
    return _environment().get_template(template).render(**values)


def sample_fragment(view: SampleView, flip: Flip | None = None) -> str:
    """Return one sample as HTML to put into a page: an `article`.

    Args:
        view: The sample.
        flip: What it was in another file, where that is another verdict.
    """
    return render("sample.html", sample=view, flip=flip)


def one_file(
    title: str,
    main: str,
    *,
    scripts: Sequence[str] = (),
    data: Mapping[str, object] = MappingProxyType({}),
    top: str = "",
) -> str:
    """Return a page that needs no other file and no network.

    Its policy lets run and apply just what is in it: scripts and style by their hashes.

    Args:
        title: Of the page.
        main: HTML that was made by `render`.
        scripts: Sources of scripts of ours.
        data: What the scripts read, by the id of the element that holds it as JSON.
        top: HTML made by `render` for the bar at the top; "": the title.
    """
    from markupsafe import Markup

    styles = [asset(name) for name in STYLES]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        f"img-src data:; form-action 'none'; base-uri 'none'; {_ONE_DOOR}"
    )
    return render(
        "onefile.html",
        title=title,
        main=Markup(main),  # noqa: S704 - made by templates that escape
        top=Markup(top),  # noqa: S704 - the same
        policy=Markup(policy),  # noqa: S704 - words of ours and base64
        styles=[Markup(style) for style in styles],  # noqa: S704 - files of ours
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - files of ours
        data={name: Markup(script_json(value)) for name, value in data.items()},  # noqa: S704
    )


def render_page(
    title: str,
    main: str,
    *,
    scripts: Sequence[str],
    data: Mapping[str, object],
    assets: str,
) -> str:
    """Return a page that is served with `SERVED_POLICY`.

    Args:
        title: Of the page.
        main: HTML that was made by `render`.
        scripts: Names in `ASSETS`, in the order in which they run.
        data: As for `one_file`.
        assets: The address that goes before the name of a static file.
    """
    from markupsafe import Markup

    return render(
        "served.html",
        title=title,
        main=Markup(main),  # noqa: S704 - made by templates that escape
        styles=STYLES,
        scripts=scripts,
        data={name: Markup(script_json(value)) for name, value in data.items()},  # noqa: S704
        assets=assets,
    )


def script_json(value: object) -> str:
    """Return JSON that can stand in a `script` element: nothing in it ends or opens one."""
    text = json_bytes(value).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _hashes(sources: Sequence[str]) -> str:
    digests = (hashlib.sha256(source.encode()).digest() for source in sources)
    return " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests) or "'none'"


def marked(text: str) -> "Markup":
    """Return text as HTML, what acts or hides shown as symbols that are set apart."""
    from markupsafe import Markup, escape

    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="sym">{}</span>').format(piece) if is_symbol else escape(piece)
        for piece, is_symbol in pieces(text)
    )


def _shown(value: Any) -> Any:
    """Make visible what a template prints; markup of ours has been through `marked`."""
    if hasattr(value, "__html__"):
        return value
    return visible(str(value))


@cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        message = "pages need jinja2: pip install 'grader-rl[report]'"
        raise ConfigurationError(message) from error
    environment = Environment(
        loader=PackageLoader("grader.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        marked=marked, highlighted=highlighted, seconds=seconds, size=size, signed=_signed
    )
    environment.globals["VERDICTS"] = VERDICTS
    return environment


def _signed(value: float) -> str:
    """Return a reward with its sign, a true minus being as wide as the plus."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")
