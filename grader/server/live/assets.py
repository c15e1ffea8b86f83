"""The page's files: its own scripts and style, and the style that it shares with reports."""

from functools import cache
from importlib import resources

from grader.report.pages import ASSETS as REPORT_ASSETS
from grader.report.pages import SERVED_HEADERS, asset

_OWN = {
    "icon.svg": "image/svg+xml",
    "live.css": "text/css; charset=utf-8",
    **dict.fromkeys(
        (
            "charts.js",
            "dom.js",
            "events.js",
            "main.js",
            "overview.js",
            "playground.js",
            "samples.js",
            "session.js",
            "workers.js",
        ),
        "text/javascript; charset=utf-8",
    ),
}
"""The files in the folder `static` beside this module, with their content types."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types fragments"
)
"""Stricter than the policy of the other pages: only `dom.js` may insert markup."""
HEADERS = {**SERVED_HEADERS, "Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
PRIVATE_HEADERS = {**HEADERS, "Cache-Control": "no-store"}
"""Headers of responses with data about submissions."""


@cache
def find_asset(name: str) -> tuple[str, str]:
    """Return a file's text and content type.

    Raises:
        KeyError: There is no file of that name.
    """
    if name in REPORT_ASSETS:
        return asset(name), REPORT_ASSETS[name]
    kind = _OWN[name]  # A fixed set of names, so a caller cannot pass a path.
    return (resources.files("grader.server.live") / "static" / name).read_text("utf-8"), kind
