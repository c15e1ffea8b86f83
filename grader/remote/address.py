"""The address of a service, and the token for it."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from grader.model.errors import ConfigurationError

_ENDPOINTS = ("/v1/grade", "/get_reward")
"""A trainer may be configured with the full address of one of these endpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a service. Its string and repr never contain the token."""

    is_tls: bool
    host: str
    port: int
    path: str
    """Put before the path of every endpoint; often empty."""
    token: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """Return the address as a URL without the token."""
        scheme = "https" if self.is_tls else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{self.path}"

    @classmethod
    def parse(cls, url: str, token: str | None = None) -> "Address":
        """Parse an address.

        Args:
            url: As `http://[any:TOKEN@]host[:port][/path]`, percent-encoded if needed.
            token: The token to use if the URL contains none.

        Raises:
            ConfigurationError: The URL is invalid. The message does not quote it, because it may
                contain a token.
        """
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            # The library's message may quote a part of the token.
            raise ConfigurationError(_complaint("its host or port is invalid")) from None
        if parts.scheme not in ("http", "https"):
            begins = f"it begins with {parts.scheme!r}" if parts.scheme else "it has no scheme"
            raise ConfigurationError(_complaint(begins))
        if not parts.hostname or parts.query or parts.fragment:
            raise ConfigurationError(_complaint("it has no host, or a query or fragment"))
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
