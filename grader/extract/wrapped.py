"""Takes code out of what an answer is wrapped in, if the answer has no code as it stands.

These are forms that models write instead of a plain code block. Nothing here decides what is code:
each text goes to the same rules as an answer, and counts only if they find a whole answer in it.
"""

import html
import json
import re
import textwrap
from collections.abc import Iterator
from itertools import islice

from grader.extract.blocks import Tag, find_blocks
from grader.extract.lines import code_starts
from grader.extract.source import SourceReader

MAX_TEXTS = 32
"""The most texts that are tried for one answer."""
_MAX_ELEMENTS = 8
"""The most parts of one form that are looked at: HTML elements, JSON objects, here-documents."""
_MAX_CHARS = 256 * 1024
"""How much of an answer is read."""

_QUOTED_LINE = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_PROMPTED_LINE = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(?: (.*))?$", re.MULTILINE)
# A block of indented lines follows an empty line.
_INDENTED_LINES = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*(?:\n+|\Z))+")
_HUNK = ("@@", "*** Add File")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w{1,40})\1[^\n]*\n")


def unwrapped(text: str, reader: SourceReader) -> Iterator[str]:
    """Yield the texts in which the code of `text` may stand plainly, the likeliest first."""
    return islice(filter(str.strip, _texts(text[:_MAX_CHARS], reader)), MAX_TEXTS)


def _texts(text: str, reader: SourceReader) -> Iterator[str]:
    yield text.partition("<|python_tag|>")[2]
    for block in find_blocks(text, reader):
        if block.tag is Tag.OTHER and "```" in (content := block.content(text)):
            yield content
    if _QUOTED_LINE.search(text):
        yield _QUOTED_LINE.sub("", text)
    for element in ("code", "pre"):
        yield from _elements(text, element)
    if (plain := html.unescape(text)) != text:
        yield plain
    yield from _patched(text)
    yield "\n".join(match[1] or "" for match in _PROMPTED_LINE.finditer(text))
    yield from _json_texts(text)
    yield from _heredocs(text)
    if next(code_starts(text), None) is None:
        indented = [textwrap.dedent(match[0]) for match in _INDENTED_LINES.finditer(text)]
        yield "\n".join(indented)
        yield from reversed(indented)


def _elements(text: str, name: str) -> Iterator[str]:
    """Yield what the last elements of HTML called `name` hold, the last first."""
    end = len(text)
    for _ in range(_MAX_ELEMENTS):
        end = text.rfind(f"</{name}>", 0, end)
        start = text.rfind(f"<{name}", 0, max(end, 0))
        opened = text.find(">", start, end) + 1
        if start == -1 or not opened:
            return
        yield html.unescape(text[opened:end])
        end = start


def _patched(text: str) -> Iterator[str]:
    """Yield what the hunks of a patch add or leave: the file, if it is new or shown whole."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith(_HUNK)), None)
    if first is not None:
        yield "\n".join(line[1:] for line in lines[first:] if line[:1] in {"+", " "})
    yield text.rpartition("\n=======\n")[2].partition("\n>>>>>>> ")[0]


def _json_texts(text: str) -> Iterator[str]:
    """Yield the texts of JSON objects, such as the arguments of tool calls, the last first."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(_MAX_ELEMENTS):
        if start == -1:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", text.find("\n", start) + 1 or len(text))
            continue
        yield from reversed(list(islice(_strings(value), MAX_TEXTS)))
        start = text.find("{", end)


def _strings(value: object) -> Iterator[str]:
    """Yield the texts of a value that was read from JSON."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(reversed(each.values()))
        elif isinstance(each, list):
            pending.extend(reversed(each))
        elif isinstance(each, str):
            yield each
            if each.startswith("{"):  # the arguments of a tool call
                yield from _json_texts(each)


def _heredocs(text: str) -> Iterator[str]:
    """Yield what shell commands write by here-documents, such as `cat > solution.py <<EOF`."""
    for opening in islice(_HEREDOC.finditer(text), _MAX_ELEMENTS):
        end = text.find(f"\n{opening[2]}", opening.end() - 1)
        if end != -1:
            yield text[opening.end() : end]
