"""Messages, comments, prints, ids and names that repeat an expected value, and reveal a change."""

import ast
import re
from collections.abc import Iterable, Iterator

from grader.source.names import Function
from grader.twins.scopes import prints_to_output
from grader.twins.source import Edit, SuiteSource

_ACTING = (ast.Call, ast.Await, ast.NamedExpr, ast.Subscript, ast.Delete, ast.Yield, ast.YieldFrom)
_QUOTED = re.compile(r"""^[bBrRuU]*('''|\"\"\"|'|\")(.*)\1$""", re.S)


class Mentions:
    """The places of a source that describe an assertion."""

    def __init__(self, source: SuiteSource, node: ast.AST) -> None:
        """Read the surroundings of an assertion.

        Args:
            source: The source of the assertion.
            node: The `assert`, the call, or other statement that asserts.
        """
        self.source = source
        self._function = function_around(source, node)
        self._described = [*self._messages(node), *self._comments(node)]
        self._printed = list(self._prints(node))

    def edits(self, old: str, new: str) -> list[Edit]:
        """Return the edits that make messages and comments agree with a changed literal.

        Args:
            old: The literal as written.
            new: The changed literal as written.
        """
        return self._edits(self._described, old, new)

    def printed(self, old: str, new: str) -> list[Edit]:
        """Return the edits that make what the test prints agree; arguments as for `edits`."""
        return self._edits(self._printed, old, new)

    def row_id(self, literal: ast.expr, old: str, new: str) -> list[Edit]:
        """Return the edits of the id that `pytest.param` gives the literal's row of parameters."""
        node: ast.AST | None = literal
        while node is not None and not isinstance(node, ast.stmt):
            match node:
                case ast.Call(func=ast.Attribute(attr="param") | ast.Name(id="param")):
                    ids = [k.value for k in node.keywords if k.arg == "id"]
                    texts = [id for id in ids if isinstance(id, ast.Constant)]
                    return self._edits(map(self.source.span, texts), old, new)
                case _:
                    node = self.source.parent(node)
        return []

    def _edits(self, spans: Iterable[tuple[int, int]], old: str, new: str) -> list[Edit]:
        word, other = _bare(old), _bare(new)
        if not word or "\n" in other:
            return []
        pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)")
        found = {}
        for start, end in spans:
            text = self.source.content[start:end].decode()
            for match in pattern.finditer(text):
                place = start + len(text[: match.start()].encode())
                found[place] = Edit(start=place, end=place + len(word.encode()), text=other)
        return list(found.values())

    def names(self, old: str) -> bool:
        """Tell whether the test's name has the expected value in it."""
        word = _bare(old).lower()
        name = "" if self._function is None else self._function.name.lower()
        return bool(word) and word in name.split("_")

    def _messages(self, node: ast.AST) -> Iterator[tuple[int, int]]:
        messages: list[ast.expr] = []
        match node:
            case ast.Assert(msg=ast.expr() as message):
                messages.append(message)
            case ast.Call(args=args, keywords=keywords):
                messages += [k.value for k in keywords if k.arg in ("msg", "err_msg")]
                messages += [a for a in args[1:] if a is args[-1] and len(args) > 2]
            case _:
                pass
        if self._function is not None:
            match self._function.body[0]:
                case ast.Expr(value=ast.Constant(value=str()) as docstring):
                    messages.append(docstring)
                case _:
                    pass
        for message in messages:
            yield from (
                self.source.span(each)
                for each in ast.walk(message)
                if isinstance(each, ast.JoinedStr)
                or (isinstance(each, ast.Constant) and isinstance(each.value, str))
            )

    def _prints(self, node: ast.AST) -> Iterator[tuple[int, int]]:
        """Yield what is printed before the assertion and not read again."""
        asserting = self.source.statement(node)
        for statement in _block(self.source.parent(asserting), asserting):
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call):
                    root = self._function or self.source.tree
                    if prints_to_output(self.source, call, root):
                        yield from (self.source.span(arg) for arg in call.args if not _acts(arg))
                case ast.Assert() | ast.Import() | ast.ImportFrom():
                    pass
                case _ if _acts(statement):
                    return  # from here on, the submission may hear what is printed
                case _:
                    pass

    def _comments(self, node: ast.AST) -> Iterator[tuple[int, int]]:
        first = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", None) or first
        yield from self.source.comments(first - 1, last)


def function_around(source: SuiteSource, node: ast.AST) -> Function | None:
    """Return the innermost function that contains a node, or None."""
    inside: ast.AST | None = node
    while inside is not None and not isinstance(inside, Function):
        inside = source.parent(inside)
    return inside


def _block(parent: ast.AST | None, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block that a statement belongs to, up to that one."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block[: block.index(statement)]
    return []


def _acts(node: ast.AST) -> bool:
    """Tell whether a statement or an argument may call something."""
    return any(isinstance(each, _ACTING) for each in ast.walk(node))


def _bare(text: str) -> str:
    """Return a literal without its quotes."""
    found = _QUOTED.match(text)
    return found[2] if found else text
