"""Which suites' tests hand nothing on to each other, as far as their source shows.

Only those may find the submission as new in every test: where one test builds on what another has
done, a submission that forgets it would fail. What is seen here is whatever tests keep outside of
themselves; what they leave in the submission alone shows only when the reference is run.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from grader.errors import SuiteError
from grader.judging.trees import module_tree, script_trees
from grader.model import PytestTests, ScriptTests

_CHANGING = frozenset(
    "add append appendleft clear discard extend insert pop popitem popleft remove reverse "
    "setdefault sort update".split()
)
"""Methods that change what they are called on."""
_CHANGING_FIRST = frozenset(
    "delattr delitem heapify heappop heappush heappushpop heapreplace insort insort_left "
    "insort_right next setattr setitem shuffle".split()
)
"""Functions that change what they are given first."""
_ITERATORS = frozenset("enumerate filter iter map open reversed zip".split())
_DATA_MAKERS = frozenset(
    "Decimal Fraction NewType Path PurePath PurePosixPath TypeVar abspath approx arange array "
    "compile copy date datetime decode dedent deepcopy dict dirname dumps encode float format "
    "frozenset fromkeys get getLogger getenv import_module int join len linspace list loads "
    "namedtuple ones param range read_bytes read_text replace resolve set sorted split splitlines "
    "str strip sum timedelta timezone tuple zeros".split()
)
"""Functions and classes, by their own names, whose results no use changes but by `_CHANGING`."""
_LIBRARIES = sys.stdlib_module_names | frozenset(
    "faker hypothesis mock numpy pandas pytest requests scipy sympy torch".split()
)
_DECORATORS = frozenset(
    "abstractmethod asynccontextmanager classmethod contextmanager dataclass given hookimpl mock "
    "overload override parameterized patch property pytest setter staticmethod total_ordering "
    "unittest wraps".split()
)
"""What leaves a function without a memory of its calls, by the names that decorators begin with."""
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
        helpers, lasting = _helpers(setup), frozenset(_assigned(setup))
        return all(_only_asserts(case, helpers) for case in cases) and not any(
            _reaches_out(case.body, frozenset(_bound(case.body)), lasting, frozenset())
            for case in cases
        )
    sources = (f.content.decode("utf-8", "replace") for f in tests.files if f.path.endswith(".py"))
    trees = [tree for tree in map(module_tree, sources) if tree]
    # A module of the suite's may use what another one has.
    lasting = frozenset(name for tree in trees for name in _assigned(tree))
    changeable = frozenset(name for tree in trees for name in _changeable(tree))
    return not any(_keeps_something(tree, lasting, changeable) for tree in trees)


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


def _keeps_something(tree: ast.Module, lasting: frozenset[str], changeable: frozenset[str]) -> bool:
    return any(_is_order_mark(node) for node in ast.walk(tree)) or any(
        _changes(function, lasting, changeable) for function in _outermost_functions(tree)
    )


def _changes(function: _Function, lasting: frozenset[str], changeable: frozenset[str]) -> bool:
    """Tell whether a function changes what is there after it."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*zip(positional[::-1], arguments.defaults[::-1], strict=False)]
    defaults += [
        (a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d
    ]
    # One value for all calls.
    kept = {arg.arg for arg, value in defaults if not isinstance(value, ast.Constant)}
    own = frozenset(_bound([function])) - {function.name} - kept
    return _reaches_out(function.body, own, lasting | kept, changeable)


def _assigned(tree: ast.AST) -> Iterator[str]:
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


def _reaches_out(
    body: list[ast.stmt], own: frozenset[str], lasting: frozenset[str], changeable: frozenset[str]
) -> bool:
    """Tell whether statements change what is there after them.

    Args:
        body: The statements.
        own: Names that are theirs alone.
        lasting: Names of what the suite's modules and classes hold.
        changeable: Those of it that any use may change.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    aliases = _aliases(nodes, own, lasting)
    own, lasting = own - aliases, lasting | aliases
    for node in nodes:
        match node:
            case ast.Global():
                return True
            case ast.Name(id=name, ctx=ast.Load()) if name in changeable - own:
                return True
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in changeable:
                return True
            case ast.AugAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                if name in lasting:
                    return True
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ) if not _is_of(node.value, own, lasting):
                return True
            case ast.Call(func=func, args=[target, *_]) if _changes_first(func) and not _is_of(
                target, own, lasting
            ):
                return True
            case ast.Call(func=ast.Attribute(attr=name, value=target)) if name in _CHANGING:
                if not isinstance(target, ast.Name) and not _is_of(target, own, lasting):
                    return True
                if isinstance(target, ast.Name) and target.id in lasting - own:
                    return True
            case _:
                pass
    return False


def _changes_first(function: ast.expr) -> bool:
    """Tell whether a function changes what it is given first."""
    match function:
        case ast.Name(id=name):
            return name in _CHANGING_FIRST
        case ast.Attribute(value=ast.Name(id="dict" | "list" | "set"), attr=name):
            return name in _CHANGING
        case ast.Attribute(attr=name):  # what `monkeypatch.setattr` does is taken back
            return name in _CHANGING_FIRST - {"delattr", "setattr"}
        case _:
            return False


def _aliases(nodes: list[ast.AST], own: frozenset[str], lasting: frozenset[str]) -> frozenset[str]:
    """Return the names of statements' own that may mean what lasts, or something inside of it."""
    given: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                given += [(target, value) for target in targets]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                given.append((target, value))
            case ast.NamedExpr(target=target, value=value):
                given.append((target, value))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                given.append((target, value))
            case _:
                pass
    found: frozenset[str] = frozenset()
    while True:
        more = {
            name.id
            for target, value in given
            if _leads_to(value, own - found, lasting | found)
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        if more <= found:
            return found
        found |= more


def _leads_to(value: ast.expr, own: frozenset[str], lasting: frozenset[str]) -> bool:
    """Tell whether an expression may mean something that lasts, or something inside of it."""
    match value:
        case ast.Name(id=name):
            return name in lasting - own
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name in lasting
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return _leads_to(inner, own, lasting)
        case ast.Call(func=ast.Attribute(value=inner, attr=name)):
            return name not in _DATA_MAKERS - {"get"} and _leads_to(inner, own, lasting)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _ITERATORS:
            return any(_leads_to(arg, own, lasting) for arg in args)
        case _:
            return False


def _changeable(tree: ast.Module) -> Iterator[str]:
    """Yield the names of objects that are not known to stay as they are however they are used."""
    foreign = {node.name for node in tree.body if isinstance(node, _Function | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            foreign.update(_from_libraries(node))
    pending: list[ast.AST] = [tree]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            match child:
                case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                    if _may_change(value, foreign):
                        yield from _assigned(child)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    known = _DECORATORS.issuperset(_decorators(child))
                    if not (known or name.startswith("test")):
                        yield name
                case _:
                    pass
            if not isinstance(child, _Function | ast.Lambda):
                pending.append(child)


def _from_libraries(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the names that an import binds to what is neither the suite's nor the submission's."""
    for alias in node.names:
        module = alias.name if isinstance(node, ast.Import) else node.module or ""
        if module.partition(".")[0] in _LIBRARIES:
            yield alias.asname or alias.name.partition(".")[0]


def _may_change(value: ast.expr, foreign: Iterable[str]) -> bool:
    match value:
        case ast.GeneratorExp():
            return True
        case ast.Call(func=func):
            root: ast.expr = func
            while isinstance(root, ast.Attribute):
                root = root.value
            last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if not isinstance(root, ast.Name) or last in _DATA_MAKERS or root.id == "pytest":
                return isinstance(root, ast.Call) and last not in _DATA_MAKERS
            return root.id in foreign or root.id in _ITERATORS
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.BoolOp(values=items):
            return any(_may_change(item, foreign) for item in items)
        case ast.Dict(values=items):
            return any(_may_change(item, foreign) for item in items)
        case ast.IfExp(body=one, orelse=other):
            return _may_change(one, foreign) or _may_change(other, foreign)
        case _:
            return False


def _decorators(function: _Function) -> Iterator[str]:
    """Yield the names that a function's decorators begin with."""
    for decorator in function.decorator_list:
        root = decorator
        while isinstance(root, ast.Attribute | ast.Call):
            if isinstance(root, ast.Attribute) and root.attr == "setter":
                break
            root = root.func if isinstance(root, ast.Call) else root.value
        yield root.id if isinstance(root, ast.Name) else getattr(root, "attr", "")


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield every name that statements, or functions inside of them, have for themselves."""
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.arg(arg=name) if name != "cls":
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
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
