"""Which statements may end a test, or a loop in it, early, and which fail it."""

import ast
from collections.abc import Iterator, Sequence

from grader.twins.names import Function, call_name


def may_leave(node: ast.AST) -> bool:
    """Tell whether a statement may end the function that it is in without a failure."""
    return any(
        isinstance(inner, ast.Return) or (isinstance(inner, ast.Call) and leaves(inner))
        for inner in _own_nodes(node)
    )


def leaves_finally(node: ast.AST) -> bool:
    """Tell whether a statement of a `finally` may drop the exception on its way."""
    return any(
        isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in _own_nodes(node)
    )


def breaks(node: ast.AST) -> bool:
    """Tell whether a statement may end the loop that it is in, or one of its rounds."""
    return any(isinstance(inner, ast.Break | ast.Continue) for inner in _own_nodes(node))


def leaves(call: ast.Call) -> bool:
    """Tell whether a call may end the test without a failure."""
    return call_name(call) in ("skip", "skipTest", "exit", "_exit", "importorskip", "xfail")


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those inside of it, without what functions in it hold."""
    yield node
    if isinstance(node, Function | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


def fails(body: Sequence[ast.stmt]) -> bool:
    """Tell whether statements, run to their end, fail the test."""
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
    """Tell whether calling a function runs none of its body."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for s in function.body for n in ast.walk(s))
