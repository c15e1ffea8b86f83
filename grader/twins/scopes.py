"""How a suite uses its names: whether a value is only compared, or also passed on.

An expected value may be changed only if the submission does not get it as an input, and only
comparisons in assertions depend on it.
"""

import ast
from collections.abc import Callable, Iterator
from enum import Enum, auto

from grader.source.allowed import EXPECT_ERRORS
from grader.source.names import Function
from grader.twins.leaving import fails
from grader.twins.names import Names, call_name
from grader.twins.source import SuiteSource

Path = tuple[object, ...]

_PURE = frozenset(
    "abs all allclose any approx array asarray bool dict enumerate float frozenset int isclose "
    "isinstance len list max min range repr round set sorted str sum tuple type zip "
    "Counter Decimal Fraction DataFrame Series".split()
)
"""Functions that do not change their arguments."""
_PURE_METHODS = frozenset(
    "copy count encode decode endswith index items keys lower split splitlines startswith strip "
    "upper values".split()
)
_OF_MOCKS = frozenset(
    "assert_any_call assert_called assert_called_once assert_called_once_with assert_called_with "
    "assert_has_calls assert_not_called".split()
)
_TRANSPARENT = (
    ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.List, ast.Tuple, ast.Set, ast.Dict,
    ast.JoinedStr, ast.FormattedValue, ast.keyword, ast.Starred, ast.Subscript, ast.IfExp,
)  # fmt: skip
_MAX_DEPTH = 6

HelperOf = Callable[[ast.Call], "tuple[Function, Scope, int] | None"]


class Scope:
    """The names that a function, or a module, binds."""

    def __init__(
        self,
        root: ast.Module | Function,
        source: SuiteSource,
        names: Names,
        helper_of: HelperOf,
        outside: frozenset[str] = frozenset(),
    ) -> None:
        """Read a function or a module.

        Args:
            root: The function or module.
            source: Its source.
            names: The meanings of names in the source.
            helper_of: Finds the suite's own function that a call means, with its scope and how
                many of its parameters the call leaves out.
            outside: Names that other sources use, too.
        """
        self.source = source
        self._root = root
        self._names = names
        self._helper_of = helper_of
        self._loads: dict[str, list[ast.Name]] = {}
        self._spoiled: set[str] = set(outside)
        self._read()
        self._known: dict[tuple[str, Path], bool] = {}

    def has_parameter(self, name: str) -> bool:
        """Tell whether a name is a parameter of the function, such as a fixture's."""
        if isinstance(self._root, ast.Module):
            return False
        spec = self._root.args
        return any(arg.arg == name for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))

    def loads(self, name: str) -> list[ast.Name]:
        """Return the nodes that read a name."""
        return self._loads.get(name, [])

    def is_only_compared(self, name: str, path: Path = (), depth: int = 0) -> bool:
        """Tell whether a name's value, at a path of keys and indices, is only compared."""
        if name in self._spoiled or depth > _MAX_DEPTH:
            return False
        key = (name, path)
        if key not in self._known:
            self._known[key] = True  # a function that calls itself adds nothing
            self._known[key] = all(
                self._is_harmless(load, path, depth) for load in self.loads(name)
            )
        return self._known[key]

    def is_table(self, name: str) -> bool:
        """Tell whether a name's value is iterated or unpacked once, or is one test's parameters.

        All its other uses must be comparisons.
        """
        uses = self._uses(name)
        return uses is not None and uses.count(_Use.WALKED) == 1

    def is_unchanged(self, name: str) -> bool:
        """Tell whether a name's value certainly keeps its length."""
        return self._uses(name) is not None

    def _uses(self, name: str) -> list["_Use"] | None:
        """Return the uses of a name; None if one of them is unknown."""
        if name in self._spoiled:
            return None
        uses = [self._use(load, 0) for load in self.loads(name)]
        return None if _Use.OTHER in uses else uses

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
        if is_module:  # functions may run in any order
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
                return True  # another part of the value is used here
            node, parent = parent, self.source.parent(parent)
        return self._use(node, depth) is _Use.LOOKED_AT

    def _use(self, node: ast.AST, depth: int) -> "_Use":
        """Return how the value of an expression is used."""
        while True:
            parent = self.source.parent(node)
            match parent:
                case ast.Assert():
                    return _Use.LOOKED_AT
                case ast.If(body=body, orelse=[]) if fails(body) and node is parent.test:
                    return _Use.LOOKED_AT
                case (
                    ast.For(iter=walked)
                    | ast.comprehension(iter=walked)
                    | ast.Assign(targets=[ast.Tuple() | ast.List()], value=walked)
                ) if walked is node:
                    return _Use.WALKED
                case ast.Subscript(ctx=ast.Store() | ast.Del()):
                    return _Use.OTHER
                case ast.Attribute(attr=attr, ctx=ast.Load()):
                    above = self.source.parent(parent)
                    called = isinstance(above, ast.Call) and above.func is parent
                    if called and attr not in _PURE_METHODS:
                        return _Use.OTHER
                    node = above if called and above is not None else parent
                case ast.Call(func=func) if node is not func:
                    use = self._use_in_call(parent, node, depth)
                    if use is not None:
                        return use
                    node = parent
                case _ if isinstance(parent, _TRANSPARENT):
                    node = parent
                case _:
                    return _Use.OTHER

    def _use_in_call(self, call: ast.Call, arg: ast.AST, depth: int) -> "_Use | None":
        """Return how a call uses an argument; None if that depends on the use of its result."""
        name = call_name(call)
        if name == "parametrize" or (name == "fixture" and _is_named(arg, "params")):
            return _Use.WALKED
        if name == "print":
            goes_out = prints_to_output(self.source, call, self._root)
            return _Use.LOOKED_AT if goes_out else _Use.OTHER
        if is_assertion(call, self._names) or name == "fail":
            takes_function = name in EXPECT_ERRORS and arg not in call.args[:1]
            return _Use.OTHER if takes_function else _Use.LOOKED_AT
        if name == "raises" and self._names.library(call.func) == "pytest.raises":
            return _Use.LOOKED_AT if arg in call.args[:1] else _Use.OTHER
        if name in _PURE:
            return None
        helper = self._helper_of(call)
        if helper is None:
            return _Use.OTHER
        function, scope, skipped = helper
        parameter = _parameter(function, call, arg, skipped)
        compared = parameter is not None and scope.is_only_compared(parameter, (), depth + 1)
        return _Use.LOOKED_AT if compared else _Use.OTHER


class _Use(Enum):
    """How a value is used."""

    LOOKED_AT = auto()
    """It is compared in an assertion."""
    WALKED = auto()
    """A loop iterates over it, or it is unpacked."""
    OTHER = auto()


def is_assertion(call: ast.Call, names: Names) -> bool:
    """Tell whether a call is one of unittest's or numpy's assertions, or one of a mock."""
    match call.func:
        case ast.Attribute(attr=name) if name in _OF_MOCKS:
            return True
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name.startswith("assert")
        case _:
            library = names.library(call.func) or ""
            return library.startswith(("numpy.testing.assert", "pandas.testing.assert"))


def prints_to_output(source: SuiteSource, call: ast.Call, root: ast.AST) -> bool:
    """Tell whether a `print` goes to the standard output, and not to a stream of the test.

    Args:
        source: The source of the call.
        call: The call.
        root: The function or module around it.
    """
    above = source.parent(call)
    while above is not None and not isinstance(above, ast.With | ast.AsyncWith):
        above = source.parent(above)
    # A context or a statement may have replaced it by an object of the submission.
    return (
        above is None
        and all(keyword.arg in ("end", "sep", "flush") for keyword in call.keywords)
        and not any(map(_names_stream, ast.walk(root)))
    )


def _names_stream(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name in ("stderr", "stdout", "sys.stderr", "sys.stdout")
        case _:
            return False


def _is_named(argument: ast.AST, name: str) -> bool:
    return isinstance(argument, ast.keyword) and argument.arg == name


def _parameter(function: Function, call: ast.Call, arg: ast.AST, skipped: int) -> str | None:
    positional = [each.arg for each in [*function.args.posonlyargs, *function.args.args]][skipped:]
    if isinstance(arg, ast.keyword):
        return arg.arg
    for name, given in zip(positional, call.args, strict=False):
        if given is arg:
            return name
    return None


def _nodes(root: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes of a function or module, and whether an inner function or class has them."""
    pending = [(child, False) for child in ast.iter_child_nodes(root)]
    while pending:
        node, nested = pending.pop()
        yield node, nested
        inside = nested or isinstance(node, Function | ast.Lambda | ast.ClassDef)
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
