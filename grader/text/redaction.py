"""Show secrets, and addresses that may hold a password, without giving them away."""

_HIDDEN = "(set)"
"""Stands in place of a secret."""


def hidden(secret: str) -> str:  # noqa: ARG001 - of a secret, nothing is shown
    """Return a text that only says that there is a secret."""
    return _HIDDEN


def redacted(address: str) -> str:
    """Return an address without its password, and without any other part that may be secret.

    Works for malformed addresses, too, such as one whose password was not encoded: of the text
    before the last @, only a user's name is shown; of a query, nothing.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        return _HIDDEN
    login, at, place = rest.rpartition("@")
    if "?" in login:
        # A password with a question mark, or a query with an @: no telling which part is secret.
        return f"{scheme}://{_HIDDEN}"
    place, question, _ = place.partition("?")
    user, colon, _ = login.partition(":")
    is_user = bool(colon) and not set("/?#@") & set(user)
    shown = f"{user}:{_HIDDEN}" if is_user else _HIDDEN if login else ""
    return f"{scheme}://{shown}{at}{place}{question}{_HIDDEN if question else ''}"


def redacted_all(addresses: str) -> str:
    """Return addresses that spaces separate, each as `redacted` shows it."""
    return " ".join(map(redacted, addresses.split()))
