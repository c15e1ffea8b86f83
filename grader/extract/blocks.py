"""Finds the code blocks of a text: Markdown fences, and markers that models use like fences.

As in CommonMark, a fence is closed by a fence of the same character that is at least as long, has
no tag and is indented by less than four columns more. Three rules differ, because of what models
write. A fence may be indented by any amount, and may be at the end of a line of prose. If a Python
block opens inside another block, the outer one was not closed and ends there, unless its fence is
longer. A fence inside a docstring closes nothing if the block parses with the whole docstring.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto

from grader.extract.source import SourceReader
from grader.source.syntax import MAX_PARSE_CHARS

MAX_MARKS = 5000
"""The most lines with a fence or marker that are read; earlier ones are ignored."""
_EXTENSION_MARKS = 16
"""The number of marks among which the end of a docstring is searched."""

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^\n]*)")
_GLUED_OPENER = re.compile(r"[^`\n]*(`{3,})[ \t]*((?:python|py)[\d.]*)?[ \t]*", re.IGNORECASE)
_MAX_PROSE_CHARS = 2000
"""The longest line of prose that may end in an opening fence."""
_PYTHON_TAG = re.compile(r"(?:c|i|micro)?python[\d.]*|py[\d.]*|pypy[\d.]*", re.IGNORECASE)
_TAG = re.compile(r"<[/|]?\w|\[/\w|◁")
"""A tag that may follow a closing fence in its line, such as `</answer>`."""
_TAG_WORD = re.compile(r"[ \t{.]*([^\s,:;{}=(]*)")
_MARKERS = {
    "[PYTHON]": "[/PYTHON]",
    "[BEGIN]": "[DONE]",
    "<code>": "</code>",
    "<python>": "</python>",
    "<answer>": "</answer>",
    "<solution>": "</solution>",
}
"""What closes a block, by what opens it."""
NAMES_IN_MARKERS = frozenset({"BEGIN", "DONE"})
"""To Python, the markers of MBPP's prompt are lists that hold an unknown name."""
_NEEDLES = ("```", "~~~", *_MARKERS, *_MARKERS.values())


class Tag(Enum):
    """The language that a block says it holds."""

    PYTHON = auto()
    NONE = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A code block, by its offsets in the text."""

    tag: Tag
    start: int
    """Start of the content, after the opening line."""
    end: int
    """End of the content, without the newline before the closing line."""
    closed: bool
    indent: int
    """Columns by which the opening fence is indented; usually also each line of the content."""
    opener: int
    """Start of the opening line."""
    word: str = ""
    """The language as the fence names it, in lower case."""

    def content(self, text: str) -> str:
        """Return the block's text, freed of the fence's own indentation and a byte order mark."""
        code = text[self.start : self.end].removeprefix("\ufeff")
        if not self.indent or len(code) > MAX_PARSE_CHARS:
            return code
        if re.search(rf"^[ \t]{{0,{self.indent - 1}}}[^ \t\n]", code, re.MULTILINE):
            return code  # only the fence is indented
        return re.sub(rf"^[ \t]{{1,{self.indent}}}", "", code, flags=re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A line that may open or close a block."""

    start: int
    char: str
    """The fence's character, or a marker's name."""
    length: int = 0
    indent: int = 0
    opens: Tag | None = None
    """The tag of the block that the line can open; None if it can only close one."""
    closes: bool = False
    content: int = 0
    """Start of the content of the opened block."""
    content_end: int = 0
    """End of the content of the closed block."""
    weak: bool = False
    """Whether any fence inside the block that it opens ends that block."""
    word: str = ""
    """The language that it names, in lower case."""


def find_blocks(text: str, reader: SourceReader) -> list[Block]:
    """Return the blocks of `text` in order; they do not overlap. Linear in the text."""
    marks = _marks(text)
    blocks: list[Block] = []
    index = 0
    while index < len(marks):
        mark = marks[index]
        if mark.opens is None:
            index += 1
            continue
        block, index = _block_at(text, marks, index, reader)
        blocks.append(block)
    return blocks


# ---------------------------------------------------------------- from marks to blocks


def _block_at(text: str, marks: list[_Mark], index: int, reader: SourceReader) -> tuple[Block, int]:
    """Return the block that `marks[index]` opens, and the index of the mark to go on with."""
    opener = marks[index]
    stop = _next_event(marks, index, index + 1)
    if stop is not None:
        stop = _past_docstring(text, marks, index, stop, reader)
    end, closed, following = len(text), False, len(marks)
    if stop is not None:
        mark = marks[stop]
        closed = _closes(opener, mark)
        end = mark.content_end if closed else mark.start - 1
        following = stop + 1 if closed else stop
    return Block(
        tag=opener.opens or Tag.NONE,
        start=opener.content,
        end=max(end, opener.content),
        closed=closed,
        indent=opener.indent,
        opener=opener.start,
        word=opener.word,
    ), following


def _next_event(marks: list[_Mark], opener: int, start: int, stop: int | None = None) -> int | None:
    """Return the first mark from `start` on that ends the block which `opener` opened."""
    for index in range(start, len(marks) if stop is None else min(stop, len(marks))):
        if _closes(marks[opener], marks[index]) or _replaces(marks[opener], marks[index]):
            return index
    return None


def _closes(opener: _Mark, mark: _Mark) -> bool:
    return (
        mark.closes
        and mark.char == opener.char
        and mark.length >= opener.length
        and mark.indent <= opener.indent + 3
    )


def _replaces(opener: _Mark, mark: _Mark) -> bool:
    if mark.opens is None:
        return False
    return opener.weak or (mark.opens is Tag.PYTHON and mark.length >= opener.length)


def _past_docstring(
    text: str, marks: list[_Mark], opener: int, first: int, reader: SourceReader
) -> int:
    """Return the mark that ends the block: `first`, or a later one if `first` is in a docstring."""
    start, stop = marks[opener].content, marks[first].start
    quotes = _triple_quotes(text, start, stop)
    if quotes % 2 == 0 or marks[opener].opens is Tag.OTHER:
        return first
    at, limit = first, first + _EXTENSION_MARKS
    while (following := _next_event(marks, opener, at + 1, limit)) is not None:
        quotes += _triple_quotes(text, marks[at].start, marks[following].start)
        at = following
        if quotes % 2 == 0 and _closes(marks[opener], marks[at]):
            content = text[start : marks[at].content_end]
            return at if reader.read(content).valid else first
    return first


def _triple_quotes(text: str, start: int, end: int) -> int:
    return text.count('"""', start, end) + text.count("'''", start, end)


# ---------------------------------------------------------------- from text to marks


def _marks(text: str) -> list[_Mark]:
    """Return the last `MAX_MARKS` lines of `text` that hold a fence or a marker."""
    needles = [needle for needle in _NEEDLES if needle in text]
    lines: set[int] = set()
    for needle in needles:
        lines.update(_line_starts(text, needle))
    marks: list[_Mark] = []
    for start in sorted(lines)[-MAX_MARKS:]:
        end = text.find("\n", start)
        marks.extend(_marks_of_line(text, start, len(text) if end == -1 else end))
    return marks


def _line_starts(text: str, needle: str) -> list[int]:
    """Return the starts of the last `MAX_MARKS` lines that hold `needle`, last first."""
    starts: list[int] = []
    position = text.rfind(needle)
    while position != -1 and len(starts) < MAX_MARKS:
        start = text.rfind("\n", 0, position) + 1
        starts.append(start)
        position = text.rfind(needle, 0, start)
    return starts


def _marks_of_line(text: str, start: int, end: int) -> list[_Mark]:
    fence = _FENCE.fullmatch(text, start, end)
    if fence and _TAG.match(fence[3]):
        # The fence closes a block; the rest of the line may end in the fence of the next block.
        closing = replace(_fence_mark(fence, start, end), opens=None, closes=True)
        return [closing, *_glued_marks(text, fence.start(3), end)]
    if fence and fence[2][0] == "`" and "`" in fence[3]:
        return []  # an inline code span
    if fence:
        return [_fence_mark(fence, start, end)]
    return _glued_marks(text, start, end) or _marker_marks(text, start, end)


def _glued_marks(text: str, start: int, end: int) -> list[_Mark]:
    """Return the mark of the fence that a line of prose ends with, if it does."""
    glued = end - start <= _MAX_PROSE_CHARS and _GLUED_OPENER.fullmatch(text, start, end)
    if not glued:
        return []
    return [
        _Mark(
            start=start,
            char="`",
            length=len(glued[1]),
            opens=Tag.PYTHON if glued[2] else Tag.NONE,
            content=min(end + 1, len(text)),
        )
    ]


def _fence_mark(fence: re.Match[str], start: int, end: int) -> _Mark:
    indent, run, info = fence[1], fence[2], fence[3].strip()
    return _Mark(
        start=start,
        char=run[0],
        length=len(run),
        indent=len(indent.expandtabs(4)),
        opens=tag_of(info),
        word=_word_of(info),
        closes=not info,
        content=min(end + 1, len(fence.string)),
        content_end=start - 1,
    )


def _marker_marks(text: str, start: int, end: int) -> list[_Mark]:
    """Return the marks of a line that starts or ends with a marker such as `[PYTHON]`."""
    marks: list[_Mark] = []
    line_start, line_end = _trimmed(text, start, end)
    for marker in _MARKERS:
        at = line_start if text.startswith(marker, line_start, line_end) else -1
        if at == -1 and text.endswith(marker, line_start, line_end):
            at = line_end - len(marker)
        if at != -1:
            content = at + len(marker)
            if content == line_end:
                content = min(end + 1, len(text))
            tag = Tag.PYTHON if "python" in marker.lower() else Tag.NONE
            marks.append(_Mark(start=at, char=marker, opens=tag, content=content, weak=True))
    for name, marker in _MARKERS.items():
        at = -1
        if text.endswith(marker, line_start, line_end):
            at = line_end - len(marker)
        elif text.startswith(marker, line_start, line_end):
            at = line_start
        if at != -1:
            before = start - 1 if at == line_start else at
            # The prompt ends with `[BEGIN]`, so that `[DONE]` may be the first mark of an answer.
            opens = Tag.NONE if marker == "[DONE]" else None
            marks.append(
                _Mark(
                    start=at,
                    char=name,
                    opens=opens,
                    content=min(end + 1, len(text)),
                    closes=True,
                    content_end=before,
                    weak=True,
                )
            )
    return sorted(marks, key=lambda mark: mark.start)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a line without blanks at its ends."""
    line = text[start:end]
    left = len(line) - len(line.lstrip())
    return start + left, start + len(line.rstrip())


def tag_of(info: str) -> Tag:
    """Return the language that a fence's info string names."""
    name = _word_of(info)
    if not name:
        return Tag.NONE
    return Tag.PYTHON if _PYTHON_TAG.fullmatch(name) else Tag.OTHER


def _word_of(info: str) -> str:
    word = _TAG_WORD.match(info)
    return word[1].lower() if word else ""
