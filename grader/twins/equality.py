"""Tells which comparisons an object may meet that equals or contains many values on purpose.

Examples are a matcher, a bucket, a number that saturates, and the complement of a set. If the tests
also say what such objects do not equal, or contain, an object for which everything holds fails
anyway.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from grader.source.names import parametrised
from grader.twins.names import call_name, makes_object

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


def _are_new(left: ast.expr, right: ast.expr, given: Collection[str]) -> bool:
    """Tell whether two sides are literals and new objects that are made of literals."""
    return (
        any(isinstance(part, ast.Call | ast.Name) for part in (*ast.walk(left), *ast.walk(right)))
        and _is_new(left, given)
        and _is_new(right, given)
    )


def _is_new(node: ast.expr, given: Collection[str]) -> bool:
    if (name := _name(node)) is not None:
        return name in given
    parts = _parts(node)
    return parts is not None and all(_is_new(part, given) for part in parts)


def _name(node: ast.AST) -> str | None:
    """Return the name of a variable or of an attribute of a test; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" as owner), attr=name):
            return f"{owner}.{name}"
        case _:
            return None


def _parts(node: ast.expr) -> Sequence[ast.expr] | None:
    """Return the parts of a literal, a lambda or a new object; None for anything else."""
    match node:
        case ast.Constant() | ast.Lambda():
            return []
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.Dict(keys=keys, values=values):
            return [*filter(None, keys), *values]
        case ast.Call() if makes_object(node):
            return [*node.args, *(keyword.value for keyword in node.keywords)]
        case _:
            return None


@lru_cache(maxsize=16)
def _given(tree: ast.Module) -> frozenset[str]:
    """Return the names that stand only for literals, new objects, and what Python itself has.

    They are parameters of tests, names that loops bind, and variables, fixtures and imported
    objects that are only compared. If a test does anything else with them, they may change.
    """
    nodes = list(ast.walk(tree))
    values: dict[str, list[ast.expr]] = {}
    bound: set[ast.AST] = set()
    parameters: set[str] = set()
    variables: set[str] = set()
    for node in nodes:
        match node:
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        values.setdefault(each.id, []).append(value)
                        bound.add(each)
            case ast.Assign(targets=[target], value=value) if (name := _name(target)) is not None:
                values.setdefault(name, []).append(value)
                variables.add(name)
                bound.add(target)
            case ast.FunctionDef(name=name, body=[ast.Return(value=ast.expr() as value)]):
                if any(map(_is_fixture, node.decorator_list)):
                    values.setdefault(name, []).append(value)
                    variables.add(name)
                    parameters.add(name)
            case ast.ImportFrom(names=aliases):
                imported = {alias.asname or alias.name for alias in aliases}
                values.update((name, []) for name in imported)
                variables |= imported
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
                parameters.update(parametrised(names))
            case _:
                pass
    compared = {part for node in nodes for side in _compared(node) for part in _all_parts(side)}
    other = {node.arg for node in nodes if isinstance(node, ast.arg)} & variables - parameters
    for node in nodes:
        if (name := _name(node)) is not None and node not in bound | compared:
            is_read = isinstance(getattr(node, "ctx", None), ast.Load)
            if not is_read or name in variables:
                other.add(name)
    given = {*_BUILTINS, *parameters, *values} - other
    while wrong := {n for n in given for v in values.get(n, ()) if not _is_new(v, given)}:
        given -= wrong
    return frozenset(given)


_BUILTINS = frozenset(dir(builtins))


def _is_fixture(decorator: ast.expr) -> bool:
    return call_name(decorator) == "fixture"


def _compared(node: ast.AST) -> Sequence[ast.expr]:
    """Return what a node compares."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=ast.Attribute(attr=name), args=args) if name.startswith("assert"):
            return args
        case _:
            return []


def _all_parts(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    for part in _parts(node) or ():
        yield from _all_parts(part)
