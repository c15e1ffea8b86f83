"""What readers of tests in other languages need: texts, brackets, tokens and refusals."""

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from grader.model.errors import SuiteError

OPENING = frozenset({"(", "[", "{", "${", "@{"})
CLOSING = frozenset({")", "]", "}"})
_SHOWN_CHARS = 120


class Token(NamedTuple):
    """A token, and where it stands in the source."""

    kind: str
    text: str
    start: int
    end: int


Tokens = Sequence[Token]


def close(tokens: Tokens, start: int) -> int:
    """Return the index of the bracket that closes the one at an index."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].text in OPENING) - (tokens[index].text in CLOSING)
        if depth == 0:
            return index
    return refuse("a bracket has no end", tokens[start].text)


def split(tokens: Tokens, *separators: str) -> list[Tokens]:
    """Return the parts between those separators that are outside all brackets."""
    parts, start, depth = list[Tokens](), 0, 0
    for index, token in enumerate(tokens):
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if depth == 0 and token.text in separators and token.kind == "sign":
            parts.append(tokens[start:index])
            start = index + 1
    return [*parts, tokens[start:]]


def texts_of(tokens: Tokens) -> list[str]:
    """Return the texts of tokens."""
    return [token.text for token in tokens]


def masked(source: str, texts: str | re.Pattern[str]) -> str:
    """Return source of the same length without its texts."""
    return re.sub(texts, lambda found: "_" * len(found[0]), source)


def end_of_brackets(mask: str, start: int) -> int | None:
    """Return the index of the bracket that closes the one open at `start`, in source without texts.

    None if it does not close.
    """
    depth = 1
    for index in range(start, len(mask)):
        depth += (mask[index] in "([{") - (mask[index] in ")]}")
        if depth == 0:
            return index
    return None


def require_short(source: str, most_chars: int = 64 * 1024) -> None:
    """Refuse tests that would take too long to read.

    Raises:
        SuiteError: They have more characters than `most_chars`.
    """
    if len(source) > most_chars:
        message = f"the tests have {len(source)} characters; expected at most {most_chars}"
        raise SuiteError(message)


def refuse(why: str, text: str) -> NoReturn:
    """Refuse the tests because of some of their source.

    Raises:
        SuiteError: Always.
    """
    shown = text.strip().split("\n")[0][:_SHOWN_CHARS]
    message = f"{why}: {shown!r}"
    raise SuiteError(message)
