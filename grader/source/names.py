"""Names that the source of a suite binds and reads."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_BUILTINS = frozenset(dir(builtins)) | {"__annotations__", "__builtins__", "__file__"}


def first_line(node: ast.stmt) -> int:
    """Return the line on which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes in it, without the contents of displays of constants.

    Most of a suite consists of those, so this is faster than `ast.walk`.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if not holds_constants(node):
            pending += _children(node)


def _children(node: ast.AST) -> list[ast.AST]:
    """Return what `ast.iter_child_nodes` yields, in two thirds of the time."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def holds_constants(node: ast.AST) -> bool:
    """Tell whether a node contains only constants."""
    # Without patterns, which take twice as long.
    if isinstance(node, _DISPLAYS):
        return all(type(item) is ast.Constant for item in node.elts)
    return isinstance(node.value if isinstance(node, ast.Expr) else node, ast.Constant)


def is_made_here(value: ast.expr) -> bool:
    """Tell whether an expression makes a new object, or a constant."""
    match value:
        case ast.Constant() | ast.List() | ast.Set() | ast.Dict() | ast.Tuple():
            return True
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.JoinedStr():
            return True
        case ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id="dict" | "list" | "set")):
            return True
        case _:
            return False


def is_fixture(node: ast.FunctionDef) -> bool:
    """Tell whether a function is a fixture of pytest's."""
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def parametrised(names: ast.expr) -> Iterator[str]:
    """Yield the parameters that the first argument of `parametrize` names."""
    match names:
        case ast.Constant(value=str(text)):
            yield from (name.strip() for name in text.split(","))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            yield from (str(e.value) for e in elements if isinstance(e, ast.Constant))
        case _:
            pass


def targets_of(loop: ast.AST) -> Iterator[str]:
    """Yield the names that a loop or comprehension binds in each round."""
    if isinstance(loop, ast.For):
        targets = [loop.target]
    else:
        targets = [generator.target for generator in getattr(loop, "generators", [])]
    for target in targets:
        yield from (node.id for node in walk(target) if isinstance(node, ast.Name))


_SCOPES = (
    ast.FunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def walk_scope(root: ast.AST) -> Iterator[ast.AST]:
    """Yield what `walk` does, without the contents of inner functions and comprehensions."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if not holds_constants(node) and (node is root or not isinstance(node, _SCOPES)):
            pending += _children(node)


def free_names(root: ast.AST, around: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names that are read and that no function or comprehension around them binds.

    Args:
        root: What to read.
        around: Names that the surrounding code binds.
    """
    for node in walk_scope(root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in around:
            yield node.id
        elif isinstance(node, _SCOPES) and node is not root:
            own = frozenset(bound_names(ast.iter_child_nodes(node)))
            yield from free_names(node, around | own)


def bound_names(
    trees: Iterable[ast.AST], walk: Callable[[ast.AST], Iterator[ast.AST]] = walk
) -> Iterator[str]:
    """Yield every name that the sources bind or delete, or that nodes of another `walk` do."""
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                yield node.id
            elif (name := name_bound_by(node)) is not None:
                yield name


def name_bound_by(node: ast.AST) -> str | None:
    """Return the name that a node itself binds, whatever is in it; None if it binds none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ClassDef(name=name):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return name
        case ast.alias(name=name, asname=asname):
            return asname or name.partition(".")[0]
        case _:
            return None


def names_read(tree: ast.AST) -> set[str]:
    """Return the names that are read anywhere in a tree."""
    return {
        node.id
        for node in walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def missing_names(tree: ast.AST, bound: Iterable[str] | None = None) -> set[str]:
    """Return the names that are read in a tree and bound nowhere in it, without builtins.

    Args:
        tree: The tree.
        bound: What `bound_names` yields for it, if that is known.
    """
    return names_read(tree).difference(bound_names([tree]) if bound is None else bound, _BUILTINS)


def top_level_names(trees: Iterable[ast.Module]) -> Iterator[str]:
    """Yield what a script defines in the submission's namespace, without imports."""
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.Assign):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def last_name(expression: ast.expr) -> str:
    """Return `c` for `a.b.c`, and for calls and subscripts of it."""
    while isinstance(expression, ast.Call | ast.Subscript):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    match expression:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def module_name(path: str) -> str:
    """Return the name under which a file of Python is imported."""
    return path.removesuffix(".py").replace("/", ".")
