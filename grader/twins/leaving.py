"""Tells which statements may end a test or a loop in it early, and which make it fail."""

import ast
from collections.abc import Iterator, Sequence

from grader.source.names import Function
from grader.twins.names import call_name


def may_leave(node: ast.AST) -> bool:
    """Tell whether a statement may end its function without a failure."""
    return any(
        isinstance(inner, ast.Return) or (isinstance(inner, ast.Call) and leaves(inner))
        for inner in _own_nodes(node)
    )


def leaves_finally(node: ast.AST) -> bool:
    """Tell whether a statement in a `finally` may drop an exception."""
    return any(
        isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in _own_nodes(node)
    )


def breaks(node: ast.AST) -> bool:
    """Tell whether a statement may end its loop, or one of the loop's rounds."""
    return any(isinstance(inner, ast.Break | ast.Continue) for inner in _own_nodes(node))


def leaves(call: ast.Call) -> bool:
    """Tell whether a call may end the test as if it had passed; one that is skipped has not."""
    return call_name(call) in ("exit", "_exit")


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the nodes in it, without the contents of inner functions and classes."""
    yield node
    if isinstance(node, Function | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


def fails(body: Sequence[ast.stmt]) -> bool:
    """Tell whether the test fails if these statements run."""
    if not body or any(map(may_leave, body)) or any(map(breaks, body)):
        return False
    match body[-1]:
        case ast.Raise(exc=kind):
            return kind is None or call_name(kind) not in ("SkipTest", "Skipped", "Exit")
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call() as call):
            return call_name(call) == "fail"
        case _:
            return False


def is_generator(function: Function) -> bool:
    """Tell whether a function is a generator, so that calling it runs nothing."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for s in function.body for n in ast.walk(s))


def is_oracle(function: Function) -> bool:
    """Tell whether a function certainly returns what it computes, and nothing else, when called."""
    return (
        isinstance(function, ast.FunctionDef)
        and not function.decorator_list
        and not is_generator(function)
        and isinstance(function.body[-1], ast.Return)
    )
