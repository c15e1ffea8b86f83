"""Access to what the page shows: for the page's own scripts, and for clients other than browsers.

`grader.server.http.middleware` has let the request in by then. But a page of another site may make
a browser send one, and must not read what comes back.
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
