"""Addresses that may hold a password, as they may be shown."""

HIDDEN = "(set)"
"""What stands where something secret was."""


def redacted(address: str) -> str:
    """Return an address without its password, and without all else that may be one.

    Made for addresses that are wrong, too, such as those whose password was not encoded: of what
    stands before the last @, only a user's name is shown; of a query, nothing.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        return HIDDEN
    login, at, place = rest.rpartition("@")
    if "?" in login:
        # A password with a question mark, or a query with an @: what is secret cannot be told.
        return f"{scheme}://{HIDDEN}"
    place, question, _ = place.partition("?")
    user, colon, _ = login.partition(":")
    is_user = bool(colon) and not set("/?#@") & set(user)
    shown = f"{user}:{HIDDEN}" if is_user else HIDDEN if login else ""
    return f"{scheme}://{shown}{at}{place}{question}{HIDDEN if question else ''}"
