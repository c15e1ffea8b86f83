"""What was expected and what came, line by line, with the part of a line that differs."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

_MAX_LINES = 60
_CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of the comparison of what was expected with what came."""

    kind: str
    """"same", "missing" (expected and not there), "extra" (there and not expected), "gap"."""
    start: str = ""
    """What it has in common with the line that stands against it, at its start."""
    differing: str = ""
    """What differs; all of the line where none stands against it."""
    end: str = ""

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.start}{self.differing}{self.end}"


def diff(expected: str, got: str) -> tuple[DiffLine, ...]:
    """Return two texts compared line by line, around the lines that differ.

    Blanks at line ends are compared too; what is only a matter of a last newline is not.
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
    """Yield lines that differ; where there are as many of both, each stands against its like."""
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
    """Return a line that differs with its first and last characters taken for equal."""
    text = line.differing
    stop = len(text) - end
    return replace(line, start=text[:start], differing=text[start:stop], end=text[stop:])


def _common(a: str, b: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = zip(a, b, strict=False)
    differing = (index for index, (x, y) in enumerate(pairs) if x != y)
    return next(differing, min(len(a), len(b)))
