"""The part of an assertion about a function that an answer predicts, as in CRUXEval.

Only literals, arithmetic on them and calls of builtin types are taken. So they can be evaluated
beside the function, and nothing in them can change it.
"""

import ast

ENTRY_POINT = "predicted"
"""The function of a program that returns a prediction."""

_TYPES = frozenset(
    "bool bytearray bytes complex dict float frozenset int list range set str tuple".split()
)
_PLAIN = (
    ast.Constant | ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp | ast.BinOp | ast.Call
    | ast.Starred | ast.keyword | ast.operator | ast.unaryop | ast.expr_context
)  # fmt: skip


def program_of(expression: str) -> str:
    """Return the program that returns the value of an expression."""
    return f"def {ENTRY_POINT}():\n    return (\n{expression}\n    )\n"


def predicted(node: ast.stmt, function: str, *, wants_call: bool) -> ast.expr | None:
    """Return the predicted part of `assert f(16) == 17`, or of `f(16)` or `17` alone.

    Args:
        node: The statement.
        function: The function's name.
        wants_call: Whether the call is predicted; else what it returns is.

    Returns:
        The part; None if the statement is another one, or its part is not plain data.
    """
    if not isinstance(node, ast.Assert | ast.Expr):
        return None
    call = value = node.test if isinstance(node, ast.Assert) else node.value
    match value:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            call, value = (left, right) if is_call(left, function) else (right, left)
            if not is_call(call, function):
                return None
        case _:
            pass
    if wants_call:
        return call if is_call(call, function) else None
    return value if _is_plain(value) else None


def is_call(node: ast.expr, function: str) -> bool:
    """Tell whether a node calls the function with plain data."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return name == function and all(map(_is_plain, [*args, *keywords]))
        case _:
            return False


def _is_plain(node: ast.AST) -> bool:
    """Tell whether a node is made of literals, arithmetic and calls of builtin types."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            if each.id not in _TYPES:
                return False
        elif not isinstance(each, _PLAIN) or (
            isinstance(each, ast.Call) and not isinstance(each.func, ast.Name)
        ):
            return False
    return True
