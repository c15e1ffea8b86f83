"""Tells which comparisons an object may meet that equals or contains many values on purpose.

Examples are a matcher, a bucket, a number that saturates, and the complement of a set. If the tests
also say what such objects do not equal, or contain, an object for which everything holds fails
anyway.
"""

import ast
from functools import lru_cache

from grader.source.names import parametrised
from grader.twins.names import makes_object

_DIFFERENT = ("assertNotEqual", "assertNotEquals")


def tests_equality(left: ast.expr, right: ast.expr, tree: ast.Module) -> bool:
    """Tell whether a comparison that must hold tests only the equality of new objects.

    Args:
        left: One side.
        right: The other side.
        tree: The source that contains them.
    """
    return _says_what_differs(tree) and _are_new(left, right, _given(tree))


@lru_cache(maxsize=16)
def says_what_is_missing(tree: ast.Module) -> bool:
    """Tell whether tests say of anything that something else does not contain it."""
    return any(map(_denies_membership, ast.walk(tree)))


def _denies_membership(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.NotIn()]) | ast.Call(func=ast.Attribute(attr="assertNotIn")):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[ast.In()])):
            return True
        case ast.Call(func=ast.Attribute(attr="assertFalse"), args=[value, *_]):
            return isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.In)
        case _:
            return False


@lru_cache(maxsize=16)
def _says_what_differs(tree: ast.Module) -> bool:
    """Tell whether a source has a comparison of new objects that must not hold."""
    return any(
        _are_new(*sides, _given(tree)) for node in ast.walk(tree) if (sides := _unequal(node))
    )


def _unequal(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides if a node says that they are not equal."""
    match node:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            return left, right
        case ast.UnaryOp(
            op=ast.Not(), operand=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])
        ):
            return left, right
        case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if name in _DIFFERENT:
            return left, right
        case ast.Call(
            func=ast.Attribute(attr="assertFalse"),
            args=[ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), *_],
        ):
            return left, right
        case _:
            return None


def _are_new(left: ast.expr, right: ast.expr, given: frozenset[str]) -> bool:
    """Tell whether two sides are literals and new objects that are made of literals."""
    return (
        any(isinstance(node, ast.Call) for side in (left, right) for node in ast.walk(side))
        and _is_new(left, given)
        and _is_new(right, given)
    )


def _is_new(node: ast.expr, given: frozenset[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in given
        case ast.UnaryOp(operand=operand):
            return _is_new(operand, given)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(_is_new(part, given) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return all(_is_new(part, given) for part in (*filter(None, keys), *values))
        case ast.Call() if makes_object(node):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            return all(_is_new(part, given) for part in parts)
        case _:
            return False


@lru_cache(maxsize=16)
def _given(tree: ast.Module) -> frozenset[str]:
    """Return the names that stand only for literals of a loop or for parameters of tests."""
    found: set[str] = set()
    of_loops: set[ast.AST] = set()
    nodes = list(ast.walk(tree))
    for node in nodes:
        match node:
            case ast.For(target=target, iter=table) | ast.comprehension(target=target, iter=table):
                if _is_new(table, frozenset()):
                    of_loops.update(ast.walk(target))
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
                found.update(parametrised(names))
            case _:
                pass
    stored = [
        each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]
    found |= {each.id for each in stored if each in of_loops}
    return frozenset(found - {each.id for each in stored if each not in of_loops})
