"""Finds the literals of an expected value."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from grader.twins.decoys import USUAL_TYPES
from grader.twins.names import Names
from grader.twins.source import SuiteSource
from grader.twins.values import Bound, is_steady

Place = tuple[SuiteSource, ast.expr]

_MAX_DEPTH = 6


def leaves(
    bound: Bound, names: Names, path: tuple[object, ...] = (), *, everything: bool = False
) -> Iterator[Place]:
    """Yield the literals in an expression, following names that are only compared.

    Args:
        bound: The expression.
        names: The meanings of names in its source.
        path: Keys and indices of the part of its value that is wanted.
        everything: Whether to yield also names that the submission defines.
    """
    deeper = partial(leaves, names=names, everything=everything)
    node, env, source = bound.node, bound.env, bound.source
    match node:
        case ast.Name(id=name) if name in env:
            found = env[name]
            if found.scope is not None and is_steady(name, found, path):
                inner = _at(found, path)
                if inner is not None:
                    yield from deeper(inner)
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            yield from deeper(replace(bound, node=value), path=(key, *path))
        case _ if path:
            pass
        case ast.Name():
            if names.builtin(node) in USUAL_TYPES or (everything and node.id not in env):
                yield source, node
        case ast.Attribute(value=ast.Name(id=name) as inner_name) if everything:
            if name in env:
                yield from deeper(replace(bound, node=inner_name))
            else:
                yield source, node
        case ast.Constant():
            if node.value is not Ellipsis:
                yield source, node
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            yield source, node
        case ast.UnaryOp(operand=operand):
            yield from deeper(replace(bound, node=operand))
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            if not items and not isinstance(node, ast.Set):
                yield source, node
            for item in items:
                yield from deeper(replace(bound, node=item))
        case ast.Dict(values=values):
            # Not the keys: the tests themselves may have made those of the other side.
            if not values:
                yield source, node
            for each in values:
                yield from deeper(replace(bound, node=each))
        case ast.BinOp(left=left, right=right):
            yield from deeper(replace(bound, node=left))
            yield from deeper(replace(bound, node=right))
        case ast.Call(func=func, args=args, keywords=keywords):
            inner_values = [*args, *(k.value for k in keywords)]
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Constant):
                inner_values.append(func.value)
            for each in inner_values:
                yield from deeper(replace(bound, node=each))
        case _:
            pass


def _at(bound: Bound, path: tuple[object, ...]) -> Bound | None:
    """Return the item of a display at a path of keys and indices."""
    for key in path:
        node = bound.node
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                plain = not any(isinstance(item, ast.Starred) for item in items)
                if not (plain and isinstance(key, int) and -len(items) <= key < len(items)):
                    return None
                inner = items[key]
            case ast.Dict(keys=keys, values=values):
                found = [
                    value
                    for each, value in zip(keys, values, strict=True)
                    if isinstance(each, ast.Constant) and each.value == key
                ]
                if len(found) != 1 or not all(isinstance(k, ast.Constant) for k in keys):
                    return None
                inner = found[0]
            case _:
                return None
        bound = replace(bound, node=inner)
    return bound


def named_expression(bound: Bound) -> Place | None:
    """Return the expression that a name stands for, or the expression itself."""
    for _ in range(_MAX_DEPTH):
        match bound.node:
            case ast.Name(id=name) if name in bound.env:
                found = bound.env[name]
                if not is_steady(name, found):
                    return None
                bound = found
            case _:
                return bound.source, bound.node
    return None
