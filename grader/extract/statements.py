"""What the statements of a source bind and do."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain

from grader.source.names import Definition, name_bound_by, names_read


def module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run with their module: those in branches and loops too."""
    # Not recursive, since a long chain of elif is nested more deeply than calls may be.
    pending = [iter(body)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        if isinstance(node, Definition):
            continue
        inner = [getattr(node, field, ()) for field in ("body", "orelse", "finalbody")]
        handlers = (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))
        inner += [handler.body for handler in handlers]
        pending.append(chain.from_iterable(inner))


def dotted_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names bound by `body`, with the members of its classes.

    The member "*" stands for those that a base class may have.
    """
    names = own_names(body)
    for node in module_level(body):
        if isinstance(node, ast.ClassDef):
            members = own_names(node.body) | ({"*"} if node.bases else set())
            names.update(f"{node.name}.{member}" for member in members)
    return names


def yields(tree: ast.Module) -> bool:
    """Tell whether it may print, or defines a function or class."""
    return any(isinstance(node, Definition) for node in ast.walk(tree)) or bool(
        names_read(tree) & {"print", "sys", "os"}
    )


def has_gap(tree: ast.Module) -> bool:
    """Tell whether a call has `...` in place of its arguments."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(len(call.args) == 1 and _is_gap(call.args[0]) for call in calls)


def _is_gap(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def builds(node: ast.stmt, name: str, member: str) -> bool:
    """Tell whether a statement gives a name, or a member of the class it names, something to do.

    A placeholder does not, nor does a definition of the name from itself. `member` may be empty.
    """
    if not isinstance(node, Definition):
        return not member and name in _assigned(node) and name not in _values_read(node)
    if node.name != name or not (member and isinstance(node, ast.ClassDef)):
        return node.name == name and not member and not is_stub(node)
    own = [
        each
        for each in module_level(node.body)
        if member in _assigned(each) or (isinstance(each, Definition) and each.name == member)
    ]
    return not all(map(is_stub, own)) if own else bool(node.bases)


def _assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, without those of statements inside it."""
    targets = (part for target in _targets(node) for part in ast.walk(target))
    return {part.id for part in targets if isinstance(part, ast.Name)}


def _values_read(node: ast.stmt) -> set[str]:
    return names_read(node) if isinstance(node, ast.Assign | ast.AnnAssign) else set()


def is_stub(node: ast.stmt) -> bool:
    """Tell whether a definition does nothing, or is nothing but a placeholder itself."""
    if isinstance(node, ast.ClassDef):
        return not node.bases and all(map(is_stub, node.body))
    if isinstance(node, Definition):
        return all(map(is_stub, node.body))
    if isinstance(node, ast.Raise):
        return node.exc is not None and "NotImplementedError" in names_read(node.exc)
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def acts(node: ast.stmt) -> bool:
    """Tell whether a statement does more than define, import or mention something."""
    if isinstance(node, Definition | ast.Import | ast.ImportFrom) or is_idle(node):
        return False
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    return True


def own_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that running `body` binds in its own scope; "*" for a star import."""
    names: set[str] = set()
    for node in module_level(body):
        parts = node.names if isinstance(node, ast.Import | ast.ImportFrom) else [node]
        names.update(filter(None, map(name_bound_by, parts)))
        names |= _assigned(node)
    return names


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.For | ast.AsyncFor) or (
        isinstance(node, ast.AnnAssign) and node.value is not None
    ):
        yield node.target
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.optional_vars for item in node.items if item.optional_vars)


def is_idle(node: ast.stmt) -> bool:
    """Tell whether a statement only mentions values, as do "8", "YES" and "yes, it"."""
    if isinstance(node, ast.AnnAssign):
        return node.value is None  # "Answer: yes" parses as an annotation
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Name | ast.Constant):
        return True
    return not any(
        isinstance(part, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
        for part in ast.walk(node)
    )
