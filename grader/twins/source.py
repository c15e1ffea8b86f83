"""A source of a suite with its tree: the spans of nodes in the text, and edits of the text.

Spans are in bytes of the UTF-8 text, since `ast` counts columns so.
"""

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.source.syntax import UNPARSABLE, parse

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A replacement of a part of a source. The number of lines stays the same."""

    start: int
    """In bytes; so is `end`."""
    end: int
    text: str


class SuiteSource:
    """A source with its tree. Do not change the tree."""

    def __init__(self, name: str, content: bytes) -> None:
        """Read a source.

        Args:
            name: The path of a file, or the id of a script's case.
            content: The source in UTF-8. In any other encoding, or if it does not parse, its tree
                is empty.
        """
        self.name = name
        self.content = content
        self.tree = tree_of(content)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
        if content.startswith(_BOM):
            self._starts[0] = len(_BOM)
        self._comments: dict[int, tuple[int, int]] | None = None
        self._parents: dict[ast.AST, ast.AST] = {}
        self.nodes = list(ast.walk(self.tree))
        """All nodes of the tree, those nearer to its root first."""
        for node in self.nodes:
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node

    def span(self, node: ast.expr | ast.stmt | ast.excepthandler) -> tuple[int, int]:
        """Return the start and the end of a node."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise AssertionError(node)
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def place(self, line: int, column: int) -> int:
        """Return the byte at a column (in bytes, from 0) of a line (from 1)."""
        return self._starts[line - 1] + column

    def comments(self, first_line: int, last_line: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of the comments in some lines."""
        if self._comments is None:
            self._comments = dict(self._find_comments())
        for line in range(first_line, last_line + 1):
            if line in self._comments:
                yield self._comments[line]

    def _find_comments(self) -> Iterator[tuple[int, tuple[int, int]]]:
        if b"#" not in self.content:
            return
        try:
            for token in tokenize.tokenize(io.BytesIO(self.content).readline):
                if token.type == tokenize.COMMENT:
                    column = len(token.line[: token.start[1]].encode())
                    start = self.place(token.start[0], column)
                    yield token.start[0], (start, start + len(token.string.encode()))
        except (tokenize.TokenError, SyntaxError):
            return

    def text(self, start: int, end: int) -> str:
        """Return the text between two places."""
        return self.content[start:end].decode()

    def text_of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        return self.text(*self.span(node))

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that directly contains another; None for the tree itself."""
        return self._parents.get(node)

    def line_end(self, place: int) -> int:
        """Return the end of the line that contains a byte."""
        found = _LINE_END.search(self.content, place)
        return found.start() if found else len(self.content)

    def line_at(self, place: int) -> int:
        """Return the number of the line at a byte."""
        return bisect_right(self._starts, place)

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that contains a node."""
        inside: ast.AST | None = node
        while inside is not None and not isinstance(inside, ast.stmt):
            inside = self.parent(inside)
        if inside is None:
            raise AssertionError(node)
        return inside

    def holds(self, node: ast.AST) -> bool:
        """Tell whether a node belongs to this source."""
        return node in self._parents


def edited(content: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a source after edits, which must not overlap.

    Raises:
        ValueError: Two edits overlap.
    """
    parts: list[bytes] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.start < done:
            message = f"edits overlap at byte {edit.start}"
            raise ValueError(message)
        parts += [content[done : edit.start], edit.text.encode()]
        done = edit.end
    return b"".join([*parts, content[done:]])


def tree_of(content: bytes) -> ast.Module:
    """Return the tree of a source in UTF-8; an empty one if it has another encoding or no tree."""
    for line in content.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found and found[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii"):
            return ast.Module(body=[], type_ignores=[])
    try:
        content.decode()
        return parse(content)
    except UNPARSABLE:
        return ast.Module(body=[], type_ignores=[])
