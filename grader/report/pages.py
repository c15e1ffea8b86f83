"""Templates to HTML.

All values that a template prints are treated as hostile: the environment passes each through
`grader.text.visible` and escapes it, so that no template can forget to. The filter `marked` also
sets the symbols apart; it is only for text between tags.

Pages are served with `SERVED_POLICY`: only our own files run in them, and nothing is loaded from
other sites.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.model.errors import ConfigurationError
from grader.model.wire import json_bytes
from grader.report.differ import DiffLine
from grader.report.flips import Flip
from grader.report.highlight import highlighted
from grader.report.reasons import VERDICTS
from grader.report.sample import SampleView, seconds, size
from grader.text.visible import pieces, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TRUSTED_TYPES = "require-trusted-types-for 'script'; trusted-types fragments"
"""Only one function of our scripts may insert markup."""

SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    f"{_TRUSTED_TYPES}"
)
"""The Content-Security-Policy of every page that is served."""

SERVED_HEADERS = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every page and asset that is served."""

STYLES = ("report.css", "controls.css", "batch.css")
"""The style sheets of a report's page, in order."""


_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A static file."""

    text: str
    content_type: str


@cache
def assets(package: str = "grader.report") -> Mapping[str, Asset]:
    """Return the files in the folder `static` of a package, by name."""
    files = (resources.files(package) / "static").iterdir()
    return {
        file.name: Asset(file.read_text("utf-8"), _CONTENT_TYPES[Path(file.name).suffix])
        for file in files
    }


def render(template: str, **values: Any) -> str:
    """Return a filled template.

    Raises:
        ConfigurationError: jinja2 is not installed.
    """
    return _environment().get_template(template).render(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCompletion:
    """The completion of the same sample in another file."""

    text: str
    diff: tuple[DiffLine, ...]
    """From it to the completion of this file."""


def sample_fragment(
    view: SampleView, flip: Flip | None = None, other: OtherCompletion | None = None
) -> str:
    """Return one sample as HTML to put into a page: an `article`.

    Args:
        view: The sample.
        flip: The same sample in another file, if its verdict differs there.
        other: Its completion there, if that differs.
    """
    return render("sample.html", sample=view, flip=flip, other=other)


def one_file(
    title: str,
    main: str,
    *,
    scripts: Sequence[str] = (),
    data: Mapping[str, object] = MappingProxyType({}),
    top: str = "",
) -> str:
    """Return a page that needs no other file and no network.

    Its policy allows only its own scripts and styles, by their hashes.

    Args:
        title: The title of the page.
        main: HTML that was made by `render`.
        scripts: The sources of our scripts.
        data: Data for the scripts, by the id of the element that holds it as JSON.
        top: HTML made by `render` for the bar at the top; "": the title.
    """
    from markupsafe import Markup

    styles = [assets()[name].text for name in STYLES]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        f"img-src data:; form-action 'none'; base-uri 'none'; {_TRUSTED_TYPES}"
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
    top: str,
    assets: str,
) -> str:
    """Return a page that is served with `SERVED_POLICY`.

    Args:
        title: The title of the page.
        main: HTML that was made by `render`.
        scripts: Names in `assets()`, in the order in which they run.
        data: As for `one_file`.
        top: As for `one_file`.
        assets: The address before the name of a static file.
    """
    from markupsafe import Markup

    return render(
        "served.html",
        title=title,
        main=Markup(main),  # noqa: S704 - made by templates that escape
        styles=STYLES,
        scripts=scripts,
        data={name: Markup(script_json(value)) for name, value in data.items()},  # noqa: S704
        top=Markup(top),  # noqa: S704 - made by templates that escape
        assets=assets,
    )


def script_json(value: object) -> str:
    """Return JSON that is safe in a `script` element: it cannot close the element."""
    text = json_bytes(value).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _hashes(sources: Sequence[str]) -> str:
    digests = (hashlib.sha256(source.encode()).digest() for source in sources)
    return " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests) or "'none'"


def marked(text: str) -> "Markup":
    """Return text as HTML, with symbols set apart in place of characters that act or hide."""
    from markupsafe import Markup, escape

    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="sym">{}</span>').format(piece) if is_symbol else escape(piece)
        for piece, is_symbol in pieces(text)
    )


def _shown(value: Any) -> Any:
    """Make a printed value visible; our own markup has been through `marked` already."""
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
    """Return a reward with its sign; the minus sign is as wide as the plus."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")
