"""Who may fetch what the page shows: scripts of the page itself, and clients that are no browser.

With a token nobody else can. Without one, a service that listens to its own machine only could
still be reached from there by a page of any site in a browser: directly, which browsers tell of
(`Sec-Fetch-Site`), or under a name that the site's owner has made to mean this machine (DNS
rebinding), which the `Host` header shows.
"""

import ipaddress
from collections.abc import Callable

from fastapi import HTTPException, Request

from grader.server_settings import ServerSettings

_OWN_SITES = frozenset({"same-origin", "none"})


def check_visitor(settings: ServerSettings) -> Callable[[Request], None]:
    """Return what refuses requests that a foreign page may have made.

    What is returned raises an HTTPException for those.
    """
    trusts_names = settings.token is not None or settings.anonymous

    def check(request: Request) -> None:
        if request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            raise HTTPException(403, "only the service's own page may fetch this in a browser")
        host = request.url.hostname or ""
        if not (trusts_names or host == settings.host or _is_plain(host)):
            reason = f"this machine is not known as {host[:80]!r} here; use its address"
            raise HTTPException(403, reason)

    return check


def _is_plain(host: str) -> bool:
    """Tell whether a host is an address, or the one name that nobody else can give away."""
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
