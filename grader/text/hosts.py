"""Tell which hosts only this machine can reach."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's own loop, by its address or as `localhost`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # A name may mean any address.
