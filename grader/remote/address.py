"""Where a service is, and the token that it wants to see."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from grader.model.errors import ConfigurationError

_ENDPOINTS = ("/v1/grade", "/get_reward")
"""A trainer's settings may hold the address of one of these already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a service. As text it never shows the token."""

    is_tls: bool
    host: str
    port: int
    path: str
    """Before that of every endpoint; empty where the service has its host for itself."""
    token: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """Return the address as a person would write it, without the token."""
        scheme = "https" if self.is_tls else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{self.path}"

    @classmethod
    def parse(cls, url: str, token: str | None = None) -> "Address":
        """Read an address.

        Args:
            url: As `http://[any:TOKEN@]host[:port][/path]`, percent-encoded where that is needed.
            token: The one to show where the address holds none.

        Raises:
            ConfigurationError: It is none. The message does not repeat it: it may hold a token.
        """
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            # What the library says may quote a part of the token.
            raise ConfigurationError(_complaint("its host or port is none")) from None
        if parts.scheme not in ("http", "https"):
            begins = f"it begins with {parts.scheme!r}" if parts.scheme else "it has no scheme"
            raise ConfigurationError(_complaint(begins))
        if not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(_complaint("it has no host, or more than a path behind it"))
        path = parts.path.rstrip("/")
        for endpoint in _ENDPOINTS:
            path = path.removesuffix(endpoint)
        shown = unquote(parts.password) if parts.password else token
        return cls(
            is_tls=parts.scheme == "https",
            host=parts.hostname,
            port=port or (443 if parts.scheme == "https" else 80),
            path=path,
            token=shown,
        )


def _complaint(found: str) -> str:
    return f"the setting url: {found}; expected http://[any:TOKEN@]host[:port][/path]"
