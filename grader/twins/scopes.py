"""What a suite does with its names: whether a value is only ever compared, or handed on as well.

An expected value may be changed only where no code of the submission gets it as an input, and
nothing else depends on it than comparisons in assertions, which may fail as they like.
"""

import ast
from collections.abc import Callable, Iterator

from grader.twins.names import Names
from grader.twins.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
Path = tuple[object, ...]

_PURE = frozenset(
    "abs all allclose any approx array asarray bool dict enumerate float frozenset int isclose "
    "isinstance len list max min print range repr round set sorted str sum tuple type zip "
    "Counter Decimal Fraction DataFrame Series".split()
)
"""Functions that only look at what they are given."""
_PURE_METHODS = frozenset(
    "copy count encode decode endswith index items keys lower split splitlines startswith strip "
    "upper values".split()
)
_TRANSPARENT = (
    ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.List, ast.Tuple, ast.Set, ast.Dict,
    ast.JoinedStr, ast.FormattedValue, ast.keyword, ast.Starred, ast.Subscript, ast.IfExp,
)  # fmt: skip
_TABLES = frozenset("enumerate zip items".split())
_MAX_DEPTH = 6

HelperOf = Callable[[ast.Call], "tuple[Function, Scope, int] | None"]


class Scope:
    """The names that a function, or a module, binds."""

    def __init__(
        self,
        root: ast.Module | Function,
        source: Source,
        names: Names,
        helper_of: HelperOf,
        outside: frozenset[str] = frozenset(),
    ) -> None:
        """Read a function or a module.

        Args:
            root: Which.
            source: Where it stands.
            names: What names mean there.
            helper_of: Finds the suite's own function that a call means, with its scope and how
                many of its parameters the call leaves out.
            outside: Names that other sources share.
        """
        self.source = source
        self._root = root
        self._names = names
        self._helper_of = helper_of
        self._loads: dict[str, list[ast.Name]] = {}
        self._spoiled: set[str] = set(outside)
        self._read()
        self._known: dict[tuple[str, Path], bool] = {}

    def loads(self, name: str) -> list[ast.Name]:
        """Return the places where a name is read."""
        return self._loads.get(name, [])

    def is_only_compared(self, name: str, path: Path = (), depth: int = 0) -> bool:
        """Tell whether what a name holds, at a path of keys and indices, is only compared."""
        if name in self._spoiled or depth > _MAX_DEPTH:
            return False
        key = (name, path)
        if key not in self._known:
            self._known[key] = False  # while it is looked at: a function that calls itself
            self._known[key] = all(
                self._is_harmless(load, path, depth) for load in self.loads(name)
            )
        return self._known[key]

    def is_table(self, name: str) -> bool:
        """Tell whether a name is read once only, as what a loop or parameters go through."""
        loads = self.loads(name)
        return name not in self._spoiled and len(loads) == 1

    def _read(self) -> None:
        is_module = isinstance(self._root, ast.Module)
        stored: dict[str, int] = {}
        for node, nested in _nodes(self._root):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    self._loads.setdefault(name, []).append(node)
                    if nested and not is_module:
                        self._spoiled.add(name)
                case ast.Name(id=name):
                    stored[name] = stored.get(name, 0) + 1
                    if nested or isinstance(node.ctx, ast.Del):
                        self._spoiled.add(name)
                case ast.arg(arg=name) if nested:
                    self._spoiled.add(name)
                case (
                    ast.AugAssign(target=ast.Name(id=name))
                    | ast.NamedExpr(target=ast.Name(id=name))
                ):
                    self._spoiled.add(name)
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    self._spoiled.update(names)
                case ast.withitem(optional_vars=ast.expr() as target):
                    self._spoiled.update(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
                case _:
                    pass
        if is_module:  # functions run in an order of their own
            self._spoiled.update(name for name, count in stored.items() if count > 1)

    def _is_harmless(self, load: ast.Name, path: Path, depth: int) -> bool:
        node: ast.AST = load
        keys = list(path)
        parent = self.source.parent(node)
        while (
            keys
            and isinstance(parent, ast.Subscript)
            and parent.value is node
            and isinstance(parent.slice, ast.Constant)
        ):
            if parent.slice.value != keys.pop(0):
                return True  # it is another part that is used here
            node, parent = parent, self.source.parent(parent)
        return self._is_only_looked_at(node, depth)

    def _is_only_looked_at(self, node: ast.AST, depth: int) -> bool:
        while True:
            parent = self.source.parent(node)
            match parent:
                case ast.Assert():
                    return True
                case ast.Subscript(ctx=ast.Store() | ast.Del()):
                    return False
                case ast.Attribute(attr=attr):
                    above = self.source.parent(parent)
                    if attr not in _PURE_METHODS or not isinstance(above, ast.Call):
                        return False
                    node = above
                case ast.Call(func=func) if node is not func:
                    verdict = self._call(parent, node, depth)
                    if verdict is not None:
                        return verdict
                    node = parent
                case _ if isinstance(parent, _TRANSPARENT):
                    node = parent
                case _:
                    return False

    def _call(self, call: ast.Call, arg: ast.AST, depth: int) -> bool | None:
        """Tell what a call does with an argument; None where its result is to be looked at."""
        name = call_name(call)
        if is_assertion(call, self._names) or name == "fail":
            return True
        if name == "print":
            return True
        if name in _PURE:
            return None
        helper = self._helper_of(call)
        if helper is None:
            return False
        function, scope, skipped = helper
        parameter = _parameter(function, call, arg, skipped)
        return parameter is not None and scope.is_only_compared(parameter, (), depth + 1)


def is_assertion(call: ast.Call, names: Names) -> bool:
    """Tell whether a call is one of unittest's or numpy's assertions."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name.startswith("assert")
        case _:
            library = names.library(call.func) or ""
            return library.startswith(("numpy.testing.assert", "pandas.testing.assert"))


def call_name(expression: ast.expr) -> str:
    """Return the last part of the name of what is called."""
    match expression:
        case ast.Call(func=inner):
            return call_name(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _parameter(function: Function, call: ast.Call, arg: ast.AST, skipped: int) -> str | None:
    positional = [each.arg for each in [*function.args.posonlyargs, *function.args.args]][skipped:]
    if isinstance(arg, ast.keyword):
        return arg.arg
    for name, given in zip(positional, call.args, strict=False):
        if given is arg:
            return name
    return None


def _nodes(root: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes of a function or module with whether a function inside of it holds them."""
    pending = [(child, False) for child in ast.iter_child_nodes(root)]
    while pending:
        node, nested = pending.pop()
        yield node, nested
        inside = nested or isinstance(node, Function | ast.Lambda | ast.ClassDef)
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
