"""Reads data that was written with Python's `repr` instead of JSON. Nothing is evaluated.

`ast.literal_eval` would first make a syntax tree, which takes about 100 times the memory of the
text.
"""

import ast
import re

from grader.model.errors import LabelError
from grader.source.syntax import quiet
from grader.text import integers

_MAX_DEPTH = 100

_BLANK = re.compile(r"\s*")
_TOKEN = re.compile(
    r"""[\[\](){},:]"""
    r"""|(?P<text>[bBrRuU]{0,2}(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))"""
    r"""|(?P<number>[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"""
    r"""|(?P<name>set\(\)|-?[A-Za-z]+)""",
    re.DOTALL,
)
_NAMES = {
    "True": True,
    "False": False,
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
}
_CLOSING = {"[": "]", "(": ")", "{": "}"}


def read_literal(text: str) -> object:
    """Return the value of a literal of lists, tuples, sets, dicts, texts, numbers and names.

    Raises:
        LabelError: The text is not such a literal, or is nested more than 100 deep.
    """
    reader = _Reader(text)
    try:
        value = reader.value(0)
        reader.require_end()
    except (ValueError, SyntaxError, TypeError) as error:
        message = f"not a Python literal: {error} (at character {reader.at})"
        raise LabelError(message) from error
    return value


class _Reader:
    """Reads values from left to right; `at` is its position in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._ahead: re.Match[str] | None = None
        """The next token, if it was looked at."""

    def value(self, depth: int) -> object:
        if depth > _MAX_DEPTH:
            message = f"nested more than {_MAX_DEPTH} deep"
            raise ValueError(message)
        token = self._next()
        word = token[0]
        if word in _CLOSING:
            return self._container(word, depth)
        if token["number"] is not None and len(word) > integers.PIECE_DIGITS:
            return integers.read(word)
        # The two plain cases take a tenth of the time of `literal_eval`.
        if word.isdigit() and (word[0] != "0" or word == "0"):
            return int(word)
        if word[0] in "'\"" and "\\" not in word and word.isprintable():
            return word[1:-1]
        if token["number"] is not None:
            return ast.literal_eval(word)
        if token["text"] is not None:
            with quiet():
                return ast.literal_eval(word)
        if word in _NAMES:
            return _NAMES[word]
        if word == "set()":
            return set()
        message = f"unexpected {word!r:.40}"
        raise ValueError(message)

    def require_end(self) -> None:
        if _BLANK.match(self._text, self.at).end() < len(self._text):  # type: ignore[union-attr]
            message = "more text after the value"
            raise ValueError(message)

    def _container(self, opening: str, depth: int) -> object:
        closing = _CLOSING[opening]
        items: list[object] = []
        keys: list[object] = []
        has_comma = False
        while not self._skip(closing):
            item = self.value(depth + 1)
            if opening == "{" and (keys or not items) and self._skip(":"):
                keys.append(item)
                item = self.value(depth + 1)
            items.append(item)
            has_comma = self._skip(",")
            if not has_comma and self._peek()[0] != closing:
                message = f"expected a comma or {closing!r}"
                raise ValueError(message)
        if opening == "[":
            return items
        if opening == "(":
            return tuple(items) if has_comma or len(items) != 1 else items[0]
        if len(keys) == len(items):
            return dict(zip(keys, items, strict=True))
        if keys:
            message = "a dict has an item without a key"
            raise ValueError(message)
        return set(items)

    def _next(self) -> re.Match[str]:
        token = self._peek()
        self.at = token.end()
        self._ahead = None
        return token

    def _peek(self) -> re.Match[str]:
        if self._ahead is not None:
            return self._ahead
        self.at = _BLANK.match(self._text, self.at).end()  # type: ignore[union-attr]
        token = _TOKEN.match(self._text, self.at)
        if token is None:
            if self.at == len(self._text):
                message = "the text ends too early"
                raise ValueError(message)
            message = f"unexpected {self._text[self.at : self.at + 20]!r}"
            raise ValueError(message)
        self._ahead = token
        return token

    def _skip(self, word: str) -> bool:
        if self._peek()[0] != word:
            return False
        self._next()
        return True
