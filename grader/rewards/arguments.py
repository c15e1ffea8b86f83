"""Reading prompts and responses, in any form in which trainers pass them."""

from collections.abc import Mapping, Sequence


def text_of(said: object) -> str:
    """Return a prompt or response as text.

    Args:
        said: Text, or messages, of which the last one with text counts. Content may be a list of
            parts. Arrays are lists, bytes are UTF-8, and None is empty.
    """
    said = _listed(said)
    if isinstance(said, str):
        return said
    if isinstance(said, bytes):
        return said.decode(errors="replace")
    if isinstance(said, Mapping):
        return text_of(said.get("content") or said.get("text") or "")
    if isinstance(said, Sequence):
        if any(isinstance(each, Mapping) and "role" in each for each in said):
            return next((text for each in reversed(said) if (text := text_of(each))), "")
        return "".join(text_of(each) for each in said)
    return ""


def response_of(said: object) -> str:
    """Return a response as text. Of messages, only those of the assistant count."""
    said = _listed(said)
    if isinstance(said, str | bytes | Mapping) or not isinstance(said, Sequence):
        return text_of(said)
    return text_of([m for m in said if not isinstance(m, Mapping) or m.get("role") == "assistant"])


def _listed(said: object) -> object:
    return getattr(said, "tolist", lambda: said)()
