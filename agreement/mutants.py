"""Small changes of a program. Most are faults, which its suite should find."""

import ast
import random
from collections.abc import Iterator
from dataclasses import replace

from agreement.edits import Edit, Text
from agreement.pairs import Pair

MARK = "~"
"""Separates the id of a program from the number of its mutant."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

_Node = ast.expr | ast.stmt


def mutants(pair: Pair, count: int) -> list[Pair]:
    """Return up to so many mutants of a pair's program, always the same ones."""
    try:
        text = Text(pair.code)
    except (SyntaxError, ValueError, RecursionError):
        return []
    drawing = random.Random(pair.key)  # noqa: S311 - the same ones in every run
    places = list(_places(text))
    drawing.shuffle(places)
    found: list[Pair] = []
    for what, edit in places:
        if len(found) == count:
            break
        code = text.edited([edit])
        if code != pair.code and _compiles(code):
            number = f"{pair.id}{MARK}{len(found) + 1}"
            found.append(replace(pair, id=number, code=code, mutation=what))
    return found


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _places(text: Text) -> Iterator[tuple[str, Edit]]:
    """Yield each change with its description."""
    for node in _nodes(text.tree):
        for what, target, changed in _changes(node):
            new = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
            yield f"line {node.lineno}: {what}", text.over(target, new)


def _nodes(tree: ast.AST) -> Iterator[_Node]:
    """Yield the nodes that can be changed; parts of an f-string have no known positions."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        if not isinstance(node, ast.JoinedStr):
            pending += ast.iter_child_nodes(node)


def _changes(node: _Node) -> Iterator[tuple[str, _Node, ast.expr | str]]:
    """Yield possible changes of a node: the node to replace, and its new text."""
    match node:
        case ast.Constant(value=bool(value)):
            yield f"{value} turned round", node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield f"{value!r} and 1", node, ast.Constant(value + 1)
            yield f"{value!r} less 1", node, ast.Constant(value - 1)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            other = _COMPARISONS[type(operator)]
            what = f"{type(operator).__name__} becomes {other.__name__}"
            yield what, node, ast.Compare(left, [other()], [right])
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
            instead = _OPERATORS[type(operation)]
            what = f"{type(operation).__name__} becomes {instead.__name__}"
            yield what, node, ast.BinOp(left, instead(), right)
        case ast.BoolOp(op=ast.And(), values=values):
            yield "and becomes or", node, ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield "or becomes and", node, ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not left out", node, operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition turned round", test, ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr()):
            yield "returns None", node, "return None"
        case ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.Raise():
            yield f"{type(node).__name__} left out", node, "pass"
        case _:
            pass
