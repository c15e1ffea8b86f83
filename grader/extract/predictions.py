"""Finds the value that an answer predicts, for tasks about a given function (CRUXEval)."""

import ast
import re
from collections.abc import Iterator

from grader.extract.blocks import find_blocks
from grader.extract.source import SourceReader
from grader.source.prediction import predicted, program_of

_MAX_CANDIDATES = 64
_SECTION = re.compile(r"\[ANSWER\]", re.IGNORECASE)
_SECTION_END = re.compile(r"\[/ANSWER\]", re.IGNORECASE)
_LINE = re.compile(r"\bassert\b[^\n]*")


def find_prediction(
    text: str, function: str, reader: SourceReader, *, wants_call: bool
) -> str | None:
    """Return a program that returns what an answer predicts; None if it predicts nothing.

    Args:
        text: The answer, without thinking.
        function: The function's name.
        reader: Parses the candidates.
        wants_call: Whether the call is predicted; else what it returns is.
    """
    for candidate in _candidates(text, reader):
        tree = reader.read(candidate).tree
        if tree is None or not tree.body:
            continue
        node = predicted(tree.body[-1], function, wants_call=wants_call)
        if node is not None and (source := ast.get_source_segment(candidate, node)):
            return program_of(source)
    return None


def _candidates(text: str, reader: SourceReader) -> Iterator[str]:
    """Yield the texts that may be the assertion, the best first."""
    *_, text = _SECTION.split(text)
    text = _SECTION_END.split(text, maxsplit=1)[0]
    for block in reversed(find_blocks(text, reader)[-_MAX_CANDIDATES:]):
        yield block.content(text).strip()
    yield text.strip()
    for line in reversed([match[0] for match in _LINE.finditer(text)][-_MAX_CANDIDATES:]):
        yield line.partition("`")[0].rstrip(" .*")
