"""Mutants: a solution with one small change, to count how many changes its tests notice.

The change is in an operator, a constant, a condition or a returned value, or leaves a statement
out. The same source always has the same mutants. Some mutants behave like the solution; it is
undecidable which.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.source.syntax import UNPARSABLE, parse
from grader.text.inert import shorten

_MAX_SHOWN_CHARS = 120
_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}

_Put = Callable[[ast.AST], None]
"""Replaces one node by another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one change."""

    source: str
    line: int
    """The changed line of the solution; from 1."""
    before: str
    after: str


def mutants_of(source: str, most: int) -> list[Mutant]:
    """Return mutants of a source, spread evenly over its text; none if it does not parse.

    Args:
        source: A solution.
        most: The most mutants to return.
    """
    try:
        tree = parse(source)
        sites = [(site, new) for site in _sites(tree) for new in _changes(site.node)]
        count = min(most, len(sites))
        chosen = [sites[index * len(sites) // count] for index in range(count)]
        return [_mutant(tree, site, new) for site, new in chosen]
    except UNPARSABLE:
        return []


@dataclass(frozen=True, slots=True)
class _Site:
    """A node, and how to replace it."""

    node: ast.AST
    put: _Put


def _mutant(tree: ast.Module, site: _Site, new: ast.AST) -> Mutant:
    site.put(new)
    source = ast.unparse(tree) + "\n"
    site.put(site.node)
    return Mutant(
        source=source,
        line=getattr(site.node, "lineno", 1),
        before=_shown(site.node),
        after=_shown(new),
    )


def _shown(node: ast.AST) -> str:
    return shorten(" ".join(ast.unparse(node).split()), _MAX_SHOWN_CHARS)


def _sites(root: ast.Module) -> Iterator[_Site]:
    """Yield the nodes that do work, in the order of the text: no annotations, names, docstrings."""
    waiting = [_Site(root, lambda _: None)]
    while waiting:
        site = waiting.pop()
        yield site
        waiting += reversed(list(_children(site.node)))


def _children(node: ast.AST) -> Iterator[_Site]:
    for field in _working_fields(node):
        value = getattr(node, field)
        if isinstance(value, ast.AST):
            yield _Site(value, _into_field(node, field))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield _Site(item, _into_list(value, index))


def _working_fields(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return ("args", "body")
        case ast.ClassDef():
            return ("body",)
        case ast.AnnAssign():
            return ("value",)
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.arg():
            return ()
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return ("body",)
        case _:
            return node._fields


def _into_field(parent: ast.AST, field: str) -> _Put:
    return lambda new: setattr(parent, field, new)


def _into_list(items: list[ast.AST], index: int) -> _Put:
    return lambda new: items.__setitem__(index, new)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the possible replacements of a node."""
    match node:
        case ast.Compare(ops=ops):
            for index, each in enumerate(ops):
                changed = [*ops[:index], _OPERATORS[type(each)](), *ops[index + 1 :]]
                yield _with(node, ops=changed)
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            yield _with(node, op=_OPERATORS[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=value):
            yield from _other_constants(value)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            # Other kinds of conditions are changed themselves.
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
                yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr() as value):
            if not isinstance(value, ast.Constant):
                yield _with(node, value=ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Break() | ast.Continue() | ast.Raise():
            yield ast.copy_location(ast.Pass(), node)
        case ast.Call(func=ast.Name(id=name) as func) if name in _FUNCTIONS:
            yield _with(node, func=_with(func, id=_FUNCTIONS[name]))
        case _:
            pass


def _other_constants(value: object) -> Iterator[ast.Constant]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int() | float() | complex():
            yield ast.Constant(value + 1 if value + 1 != value else 0)
        case str():
            yield ast.Constant("" if value else "x")
        case bytes():
            yield ast.Constant(b"" if value else b"x")
        case _:
            return


def _with(node: ast.AST, **changes: object) -> ast.AST:
    """Return a shallow copy of a node with some fields changed."""
    changed = copy.copy(node)
    for field, value in changes.items():
        setattr(changed, field, value)
    return changed
