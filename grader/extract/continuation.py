"""Joins a completion to the code prompt that it may continue.

The original harness runs prompt + completion. The result is the same here if the completion is the
rest of a function's body. If the completion defines the entry point itself, it is complete. Then
other definitions of the prompt (imports, helper functions) that it lacks are put before it, because
the tests may use them.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from grader.extract.source import SourceReader, SourceReading
from grader.extract.statements import is_idle, module_level, own_names
from grader.source.names import Definition, first_line
from grader.source.syntax import MAX_PARSE_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A statement of a code prompt that binds names."""

    source: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A code prompt that ends inside the function that a completion is to continue."""

    source: str
    """Ends with a newline."""
    entry_point: str
    """The unfinished function, dotted if it is a method."""
    body_indent: int
    others: tuple[Binding, ...]
    """Its other definitions, in order, without `from __future__` imports."""


@lru_cache(maxsize=1024)
def read_stub(source: str) -> Stub | None:
    """Read a code prompt; None if it does not end inside a function or class.

    Cached, since a prompt has many completions.
    """
    reader = SourceReader()
    source = source.rstrip() + "\n"
    reading = reader.read(source)
    path = _open_definition(reading)
    if not path:
        last = source.rstrip("\n").rpartition("\n")[2]
        indent = len(last) - len(last.lstrip()) + (4 if last.endswith(":") else 0)
        reading = reader.read(f"{source}{' ' * indent}pass\n")
        path = _open_definition(reading)
    if not path or reading.tree is None:
        return None
    return Stub(
        source=source,
        entry_point=".".join(node.name for node in path),
        body_indent=path[-1].body[0].col_offset,
        others=tuple(
            Binding(source=text, names=names)
            for _node, text, names in definitions(source, reading.tree.body)
            if path[0].name not in names
        ),
    )


def definitions(
    source: str, body: list[ast.stmt]
) -> Iterator[tuple[ast.stmt, str, frozenset[str]]]:
    """Yield the statements that bind names, each with its text and these names.

    `from __future__` imports are left out.
    """
    lines = source.split("\n")
    for node in body:
        names = frozenset(own_names([node]))
        if names and not _is_future(node):
            yield node, "\n".join(lines[first_line(node) - 1 : node.end_lineno]), names


def _open_definition(reading: SourceReading) -> list[Definition]:
    """Return the definitions around the end of a text, outermost first."""
    body: list[ast.stmt] = reading.tree.body if reading.tree else []
    path: list[Definition] = []
    while body and isinstance(body[-1], Definition):
        path.append(body[-1])
        body = body[-1].body
    return path


# ---------------------------------------------------------------- a body joined to its stub


def join(stub: Stub, completion: str, reader: SourceReader, *, trim: bool) -> SourceReading | None:
    """Return stub + completion if that parses and adds to the function's body, else None.

    If the first line or all lines lost their indentation, it is added again. With `trim`, an
    incomplete rest after the function is dropped if the text parses without it.
    """
    if not completion.strip() or len(completion) > MAX_PARSE_CHARS:
        return None
    for body in _indented(completion, stub.body_indent):
        code = stub.source + body
        reading = reader.read_leading(code, drop_code=True) if trim else reader.read(code)
        if reading.valid and _grew(stub, reading):
            return reading
    return None


def glue(stub: Stub, completion: str) -> str:
    """Return stub + completion for a completion that `join` could not join."""
    return stub.source + next(_indented(completion, stub.body_indent))


def is_indented(completion: str) -> bool:
    """Tell whether the first line of `completion`, apart from empty lines, is indented."""
    return completion.lstrip("\n")[:1] in {" ", "\t"}


def _indented(completion: str, width: int) -> Iterator[str]:
    """Yield the ways in which `completion` may have been indented, the likeliest first."""
    completion = re.sub(r"\A(?:[ \t]*\n)+", "", completion)
    indent = " " * width
    first, newline, rest = completion.partition("\n")
    if is_indented(completion):
        yield completion
        yield indent + first.lstrip() + newline + rest
        yield textwrap.indent(textwrap.dedent(completion), indent)
        yield textwrap.indent(first.lstrip() + newline + rest, indent)
    else:
        yield textwrap.indent(completion, indent)
        yield indent + completion


def _grew(stub: Stub, reading: SourceReading) -> bool:
    """Tell whether the stub's function got statements that do something, and no text lies outside.

    A `return` at the top of the module shows that a part of the body is outside the function.
    """
    tree = reading.tree
    if tree is None or any(isinstance(node, ast.Return) for node in module_level(tree.body)):
        return False
    body: list[ast.stmt] = tree.body
    node: ast.stmt | None = None
    for name in stub.entry_point.split("."):
        node = next((n for n in body if getattr(n, "name", None) == name), None)
        if node is None:
            return False
        body = getattr(node, "body", [])
    stub_lines = stub.source.count("\n")
    return any((child.end_lineno or 0) > stub_lines and not is_idle(child) for child in body)


# ---------------------------------------------------------------- code that stands alone


def with_prompt_definitions(stub: Stub, code: SourceReading) -> str:
    """Put the stub's other definitions that `code` lacks before it.

    Code that was not parsed is returned as it is.
    """
    return put_before(
        code, [other.source for other in stub.others if not other.names <= code.bound]
    )


def put_before(code: SourceReading, parts: list[str]) -> str:
    """Put statements before code, but after its `from __future__` imports.

    Code that was not parsed is returned as it is.
    """
    if code.tree is None or not parts:
        return code.code
    futures = [node.end_lineno or 0 for node in code.tree.body if _is_future(node)]
    split = max(futures, default=0)
    code_lines = code.code.split("\n")
    return "\n".join([*code_lines[:split], *parts, *code_lines[split:]])


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
