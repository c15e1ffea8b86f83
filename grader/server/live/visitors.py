"""Who may fetch what the page shows: scripts of the page itself, and clients that are no browser.

Who may send anything at all is decided before, by `grader.server.gate`; but a page of another
site may have a browser read, and what the page shows it shows to itself only.
"""

from fastapi import HTTPException, Request

_OWN_SITES = frozenset({"same-origin", "none"})


def check_visitor(request: Request) -> None:
    """Refuse a request that a page of another site has made.

    Raises:
        HTTPException: It has.
    """
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
        raise HTTPException(403, "only the service's own page may fetch this in a browser")
