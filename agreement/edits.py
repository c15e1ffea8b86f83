"""Change a source at nodes of its syntax tree, and keep the rest of its text."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text that replaces some bytes of the source."""

    start: int
    end: int
    text: str


class Text:
    """A source whose nodes can be found in its bytes."""

    def __init__(self, source: str) -> None:
        """Parse the source.

        Raises:
            SyntaxError: It is not Python.
        """
        self.tree = ast.parse(source)
        self._bytes = source.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def over(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that replaces a node by text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Edit(
            start=self._starts[node.lineno - 1] + node.col_offset,
            end=self._starts[node.end_lineno - 1] + node.end_col_offset,
            text=text,
        )

    def after(self, node: ast.stmt, text: str) -> Edit:
        """Return the edit that adds lines after a statement, as indented as it is."""
        assert node.end_lineno is not None
        at = self._starts[node.end_lineno]
        newline = "" if self._bytes[:at].endswith(b"\n") else "\n"
        lines = "".join(f"{' ' * node.col_offset}{line}\n" for line in text.splitlines())
        return Edit(start=at, end=at, text=newline + lines)

    def edited(self, edits: Iterable[Edit]) -> str:
        """Return the source with edits that do not overlap."""
        changed = self._bytes
        for edit in sorted(edits, key=lambda each: each.start, reverse=True):
            changed = changed[: edit.start] + edit.text.encode() + changed[edit.end :]
        return changed.decode()
