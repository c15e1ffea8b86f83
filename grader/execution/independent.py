"""Which suites' tests hand nothing on to each other, as far as their source shows.

Only those may find the submission as new in every test: where one test builds on what another has
done, a submission that forgets it would fail. What is seen here is whatever tests keep outside of
themselves; what they leave in the submission alone shows only when the reference is run.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.errors import SuiteError
from grader.judging.trees import module_tree, script_trees
from grader.model import PytestTests, ScriptTests

_CHANGING = frozenset(
    "add append appendleft clear discard extend insert pop popitem popleft remove reverse "
    "setdefault sort update".split()
)
"""Methods that change what they are called on."""
_SETTING_UP = frozenset(
    "pytest_addoption pytest_configure setUpClass setUpModule setup_class setup_module "
    "tearDownClass tearDownModule teardown_class teardown_module".split()
)
"""Functions that run before all tests, or whose work several share, which is seen where those are
collected."""
_ORDERING_MARKS = frozenset("dependency incremental order run".split())
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=4096)
def are_independent(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether each test of a suite can be had without those before it."""
    if isinstance(tests, ScriptTests):
        try:
            setup, *cases = script_trees(tests)
        except SuiteError:
            return True  # it fails either way
        helpers = _helpers(setup)
        return all(_only_asserts(case, helpers) for case in cases)
    sources = (f.content.decode("utf-8", "replace") for f in tests.files if f.path.endswith(".py"))
    return not any(tree and _keeps_something(tree) for tree in map(module_tree, sources))


def _helpers(tree: ast.Module) -> frozenset[str]:
    """Return the names that a script's setup defines."""
    defined = (s.name for s in tree.body if isinstance(s, _Function | ast.ClassDef))
    return frozenset([*_assigned(tree), *defined])


def _only_asserts(tree: ast.Module, helpers: frozenset[str]) -> bool:
    """Tell whether a script's case leaves no name for the next, and asks for more than a deed."""
    return all(_asserts(statement, helpers) for statement in tree.body) and not any(
        isinstance(node, ast.NamedExpr) for node in ast.walk(tree)
    )


def _asserts(statement: ast.stmt, helpers: frozenset[str]) -> bool:
    """Tell whether a statement asserts something, itself or by a helper of the suite's."""
    match statement:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in helpers
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name in helpers and method not in _CHANGING
        case _:
            return False


def _keeps_something(tree: ast.Module) -> bool:
    lasting = frozenset(_assigned(tree))
    return any(_is_order_mark(node) for node in ast.walk(tree)) or any(
        _reaches_out(function, lasting) for function in _outermost_functions(tree)
    )


def _assigned(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module and its classes give to values."""
    pending: list[ast.AST] = [tree]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id
            if not isinstance(child, _Function | ast.Lambda):
                pending.append(child)


def _outermost_functions(tree: ast.Module) -> Iterator[_Function]:
    """Yield functions and methods, without those that are inside of others."""
    pending: list[ast.AST] = [tree]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if isinstance(child, _Function):
                if child.name not in _SETTING_UP:
                    yield child
            else:
                pending.append(child)


def _is_order_mark(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Attribute(attr="mark"), attr=name):
            return name in _ORDERING_MARKS
        case _:
            return False


def _reaches_out(function: _Function, lasting: frozenset[str]) -> bool:
    """Tell whether a function changes what is there after it."""
    own = frozenset(_bound(function))
    for node in ast.walk(function):
        match node:
            case ast.Global():
                return True
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ) if not _is_of(node.value, own, lasting):
                return True
            case ast.Call(func=ast.Attribute(attr=name, value=target)) if name in _CHANGING:
                if not isinstance(target, ast.Name) and not _is_of(target, own, lasting):
                    return True
                if isinstance(target, ast.Name) and target.id in lasting - own:
                    return True
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
                if not _is_of(target, own, lasting):
                    return True
            case _:
                pass
    return False


def _bound(function: _Function) -> Iterator[str]:
    """Yield every name that a function, or one inside of it, has for itself."""
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) if name != "cls":
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if node is not function:
                yield name
            case ast.alias(name=name, asname=None):
                yield name.partition(".")[0]
            case ast.alias(asname=str(name)):
                yield name
            case _:
                pass


def _is_of(target: ast.expr, own: frozenset[str], lasting: frozenset[str]) -> bool:
    """Tell whether an object is a function's own, by the expression that leads to it."""
    match target:
        case ast.Name(id=name):
            return name in own
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name not in lasting and name != "__class__"
        case ast.Attribute(attr="__class__") | ast.Call(func=ast.Name(id="type")):
            return False
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return _is_of(inner, own, lasting)
        case _:  # what a call returns, a literal
            return True
