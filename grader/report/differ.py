"""Compare expected and actual output line by line, and mark the part of a line that differs."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

_MAX_LINES = 60
_CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of the comparison."""

    kind: str
    """"same", "missing" (only expected), "extra" (only actual), "gap"."""
    start: str = ""
    """The part at the start that equals the start of the opposite line."""
    differing: str = ""
    """The part that differs; the whole line if there is no opposite line."""
    end: str = ""

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.start}{self.differing}{self.end}"


def diff(expected: str, got: str) -> tuple[DiffLine, ...]:
    """Compare two texts line by line; return the lines that differ and those around them.

    Blanks at line ends count; newlines at the end of the text do not.
    """
    wanted, came = expected.rstrip("\n").split("\n"), got.rstrip("\n").split("\n")
    matcher = difflib.SequenceMatcher(None, wanted, came)
    lines: list[DiffLine] = []
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT_LINES)):
        if number:
            lines.append(DiffLine(kind="gap"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += (DiffLine(kind="same", start=line) for line in wanted[i1:i2])
            else:
                lines += _against(wanted[i1:i2], came[j1:j2])
        if len(lines) > _MAX_LINES:
            break
    return tuple(lines[:_MAX_LINES])


def _against(missing: list[str], extra: list[str]) -> Iterator[DiffLine]:
    """Yield the lines that differ; if both sides have the same number, each has an opposite."""
    gone = [DiffLine(kind="missing", differing=line) for line in missing]
    come = [DiffLine(kind="extra", differing=line) for line in extra]
    if len(gone) == len(come):
        for index, (a, b) in enumerate(zip(missing, extra, strict=True)):
            start = _common(a, b)
            end = _common(a[start:][::-1], b[start:][::-1])
            gone[index] = _split(gone[index], start, end)
            come[index] = _split(come[index], start, end)
    yield from gone
    yield from come


def _split(line: DiffLine, start: int, end: int) -> DiffLine:
    """Return a line with its first and last characters marked as equal."""
    text = line.differing
    stop = len(text) - end
    return replace(line, start=text[:start], differing=text[start:stop], end=text[stop:])


def _common(a: str, b: str) -> int:
    """Return the length of the common start of two texts."""
    pairs = zip(a, b, strict=False)
    differing = (index for index, (x, y) in enumerate(pairs) if x != y)
    return next(differing, min(len(a), len(b)))
