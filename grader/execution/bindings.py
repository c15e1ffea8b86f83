"""Which names code binds, and where."""

import ast
from collections.abc import Iterator


def bound_by(node: ast.AST) -> list[str]:
    """Return the names that a node gives to something, or takes away, but for parameters."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case _:
            return []


def read_in_body(kind: ast.ClassDef) -> Iterator[str]:
    """Yield the names that a class's body reads while it is executed, but for its properties."""
    pending: list[ast.AST] = []
    for statement in kind.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = statement.args
            pending += [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
            pending += [d for d in statement.decorator_list if not isinstance(d, ast.Attribute)]
        else:
            pending.append(statement)
    for top in pending:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id
