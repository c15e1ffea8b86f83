"""Source of tests in other languages together with its mask, and what can be told from these."""

import re
from functools import lru_cache
from typing import NamedTuple

from grader.languages.language import without_comments
from grader.languages.reading_tests import end_of_brackets

OPENING, CLOSING = "([{", ")]}"
_QUOTES = "\"'`"
TEXTS = r"""(?s:"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|'(?:\\[^\n][^'\n]*|[^'\\\n]*)')"""
"""The texts of a language that says nothing else about them."""
_GOES_ON = re.compile(r"(?:[=,.|&]|[^+]\+|[^-]-)\Z")
_GOES_ON_AFTER = re.compile(r"\s*(?:\.\w|&&|\|\||==)")


class Code(NamedTuple):
    """A piece of source, and its mask: the same without the contents of comments and texts."""

    text: str
    mask: str

    @classmethod
    def of(cls, source: str, comments: str, texts: str = TEXTS) -> "Code":
        """Return source without its comments.

        They may contain expected values, which must not be in the submission's program.
        """
        text = without_comments(source, comments, texts)
        return cls(text, mask_of(text, texts))

    def cut(self, start: int, end: int) -> "Code":
        """Return the part between two places."""
        return Code(self.text[start:end], self.mask[start:end])

    def strip(self) -> "Code":
        """Return the source without blanks at its ends."""
        start = len(self.mask) - len(self.mask.lstrip())
        return self.cut(start, max(start, len(self.mask.rstrip())))

    def blank(self, start: int, end: int) -> "Code":
        """Return the source with a part of it replaced by blanks."""
        between = re.sub(r"[^\n]", " ", self.text[start:end])
        return Code(*(each[:start] + between + each[end:] for each in self))

    def split(self, *separators: str) -> "list[Code]":
        """Return the parts between those separators that are outside all brackets."""
        parts, start, depth, index = [], 0, 0, 0
        while index < len(self.mask):
            char = self.mask[index]
            depth += (char in OPENING) - (char in CLOSING)
            found = next((each for each in separators if self.mask.startswith(each, index)), None)
            if depth == 0 and found is not None:
                parts.append(self.cut(start, index).strip())
                start = index = index + len(found)
            else:
                index += 1
        return [*parts, self.cut(start, len(self.mask)).strip()]

    def end_of_brackets(self, start: int) -> int | None:
        """Return the index of the bracket that closes the one open at `start`."""
        return end_of_brackets(self.mask, start)

    def is_in_brackets(self, place: int) -> bool:
        """Tell whether the innermost bracket around a place is a round or square one."""
        innermost = brackets(self.mask)[0][place]
        return innermost >= 0 and self.mask[innermost] != "{"

    def end_of_statement(self, start: int, ends: str) -> int:
        """Return where a statement ends: at one of some characters, or where its block ends.

        A line break ends none that goes on with an operator.
        """
        depth = 0
        for index in range(start, len(self.mask)):
            char = self.mask[index]
            if depth == 0 and char in ends + CLOSING:
                goes_on = char == "\n" and (
                    _GOES_ON.search(self.mask, max(0, index - 2), index)
                    or _GOES_ON_AFTER.match(self.mask, index)
                )
                if not goes_on:
                    return index
            depth += (char in OPENING) - (char in CLOSING)
        return len(self.mask)

    def inside(self, pattern: re.Pattern[str]) -> "Code | None":
        """Return the contents of a call that begins as `pattern`, if it is the whole source."""
        found = pattern.match(self.mask)
        if found is None or self.end_of_brackets(found.end()) != len(self.mask) - 1:
            return None
        return self.cut(found.end(), len(self.mask) - 1).strip()


def mask_of(text: str, texts: str = TEXTS) -> str:
    """Return source without comments, with its texts masked."""

    def hidden(found: re.Match[str]) -> str:
        inner = "_" * (len(found[0]) - 2)
        # Only a text that begins and ends alike, or with a pair of brackets, keeps its ends.
        is_plain = found[0][0] in _QUOTES or found[0].startswith("[[")
        return f"{found[0][0]}{inner}{found[0][-1]}" if is_plain else f"__{inner}"

    return re.sub(texts, hidden, text)


@lru_cache(maxsize=4)
def brackets(mask: str) -> tuple[list[int], dict[int, int]]:
    """Return the innermost open bracket around each place, or -1, and where each bracket closes."""
    innermost, closes, stack = list[int](), dict[int, int](), list[int]()
    for index, char in enumerate(mask):
        if char in CLOSING and stack:
            closes[stack.pop()] = index
        innermost.append(stack[-1] if stack else -1)
        if char in OPENING:
            stack.append(index)
    return innermost, closes
