"""Which submissions provably keep nothing from one call to the next.

To give each test a copy of such a submission would cost a fork and change nothing. As in
`standing`, the proof is a list of what is allowed. Once it is loaded, nothing that outlives a call
may be changeable: module and classes hold constants, functions and classes; containers among the
constants are only read from; attributes are set on a method's own `self` only; and a class is
never handed on, so that a `self` is an object that some call has made. Whatever is not on the list
costs copies, and nothing else.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.execution.bindings import bound_by, read_in_body
from grader.execution.constants import IMMUTABLE, MAKERS, Constants
from grader.execution.importable import may_be_imported
from grader.execution.standing import HARMLESS, is_listed
from grader.syntax import UNPARSABLE, may_be_parsed, parse

_BUILTINS = frozenset(
    "ArithmeticError AssertionError AttributeError BaseException EOFError Exception False "
    "FloatingPointError IndexError KeyError LookupError MemoryError NotImplemented "
    "NotImplementedError None OSError OverflowError RecursionError RuntimeError StopIteration "
    "SyntaxError True TypeError UnicodeError ValueError Warning ZeroDivisionError abs all any "
    "ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format "
    "frozenset hash hex int isinstance issubclass iter len list map max min next object oct ord "
    "pow print property range repr reversed round set slice sorted staticmethod classmethod str "
    "sum super tuple zip".split()
)
_READERS = frozenset(
    "all any dict enumerate filter frozenset len list map max min reversed set sorted sum tuple "
    "zip".split()
)
"""Builtins that take a container without handing it on."""
_READING = frozenset("copy count get index items keys values".split())
_BASES = frozenset("ABC Exception ValueError TypeError RuntimeError KeyError object".split())
_DECORATORS = frozenset(
    "abstractmethod classmethod dataclass property staticmethod total_ordering".split()
)
_REVEALING = frozenset({"mapping", "mro", "obj", "register"})
"""Attributes by which a container or a class is handed on, or a class is changed."""
_OWN_NAMES = frozenset("__all__ __author__ __slots__ __version__".split())
_KEPT = _READERS | _BASES | _DECORATORS | MAKERS | {"isinstance", "issubclass", "super"}
"""Names that mean here what they mean elsewhere."""
_SPECIAL = frozenset(
    "__abs__ __add__ __bool__ __contains__ __enter__ __eq__ __exit__ __floordiv__ __ge__ "
    "__getitem__ __gt__ __hash__ __init__ __invert__ __iter__ __le__ __len__ __lt__ __mod__ "
    "__mul__ __name__ __ne__ __neg__ __next__ __post_init__ __pow__ __repr__ __reversed__ "
    "__setitem__ __str__ __sub__ __truediv__".split()
)
_MOST_CHARS = 16 * 1024
"""The text is hostile; so much of it takes up to a quarter of a second."""
_FRAMES = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Annotated = ast.AnnAssign | ast.arg | ast.FunctionDef | ast.AsyncFunctionDef
_NAMING = (
    *(ast.Attribute, ast.BinOp, ast.BitOr, ast.Constant, ast.List, ast.Load, ast.Name),
    *(ast.Subscript, ast.Tuple),
)
"""What annotations consist of that name a type and do nothing else; they are executed."""


class _Doubt(Exception):
    """Something that is not on the list."""


@lru_cache(maxsize=1024)
def keeps_nothing(source: str) -> bool:
    """Tell whether every call finds a submission as it was when it had been loaded."""
    if len(source) > _MOST_CHARS or not may_be_parsed(source):
        return False
    try:
        return _Proof(parse(source)).check()
    except (*UNPARSABLE, _Doubt):
        return False


class _Proof:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._parents: dict[ast.AST, ast.AST] = {}
        self._modules: dict[str, str] = {}
        """By the names that they are given."""
        self._classes: set[str] = set()
        self._bound: set[str] = set()
        self._rebound: set[str] = set()
        """Those that may mean something else than where they come from."""
        self._storing: set[str] = set()
        """Methods that set attributes of their `self`."""
        self._constants = Constants()

    def check(self) -> bool:
        """Return True if there is nothing to doubt.

        Raises:
            _Doubt: There is.
        """
        nodes = list(self._walk(self._tree))
        for node in nodes:
            self._note(node)
        if self._rebound & _KEPT:
            raise _Doubt
        self._constants.modules = {
            name for name, module in self._modules.items() if name == module
        } - self._rebound
        self._check_body(self._tree.body)
        for node in nodes:
            if isinstance(node, ast.ClassDef):  # those inside of functions have not been seen
                self._check_class(node)
            self._check(node)
        return True

    def _walk(self, top: ast.AST) -> Iterator[ast.AST]:
        """Yield every node but those of annotations, which nothing reads that is on the list.

        Raises:
            _Doubt: An annotation may do something.
        """
        pending = [top]
        while pending:
            node = pending.pop()
            yield node
            for name, value in ast.iter_fields(node):
                children = value if isinstance(value, list) else [value]
                for child in children:
                    if not isinstance(child, ast.AST):
                        continue
                    if isinstance(node, _Annotated) and name in ("annotation", "returns"):
                        if not all(isinstance(inner, _NAMING) for inner in ast.walk(child)):
                            raise _Doubt
                        continue
                    self._parents[child] = node
                    pending.append(child)

    # ------------------------------------------------------------ what there is

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.ClassDef(name=name):
                self._classes.add(name)
                self._bind(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if _is_special(name) and name not in _SPECIAL - {"__exit__"}:
                    raise _Doubt  # such as those that are given a class
                # A method's name hides something in its class's body only; see `_check_class`.
                if not isinstance(self._parents[node], ast.ClassDef):
                    self._bind(name)
            case ast.Import(names=names):
                for alias in names:
                    self._import(alias)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    self._import_from(module, alias)
            case ast.ImportFrom() | ast.Global() | ast.MatchClass():
                raise _Doubt
            case ast.Attribute(ctx=ast.Store() | ast.Del(), attr=name):
                self._storing.add(self._method_of(node).name)
                if _is_special(name):
                    raise _Doubt
            case ast.arg(arg=name):
                self._bind(name)
            case _:
                for name in bound_by(node):
                    self._bind(name)

    def _bind(self, name: str) -> None:
        self._bound.add(name)
        self._rebound.add(name)
        if _is_special(name) and name not in _OWN_NAMES:
            raise _Doubt

    def _import(self, alias: ast.alias) -> None:
        name = alias.asname or alias.name
        if alias.name not in HARMLESS or alias.name == "random" or name in _KEPT:
            raise _Doubt
        if self._modules.setdefault(name, alias.name) != alias.name:
            raise _Doubt
        self._bound.add(name)

    def _import_from(self, module: str, alias: ast.alias) -> None:
        if not may_be_imported(module, alias.name):
            raise _Doubt
        name = alias.asname or alias.name
        if name == alias.name and module in ("abc", "dataclasses", "functools"):
            self._bound.add(name)
        else:
            self._bind(name)
        if module == "string":
            self._constants.define(name, ast.Constant(""))

    def _method_of(self, node: ast.Attribute) -> _Function:
        """Return the method that sets an attribute of its own object."""
        method = self._parents[node]
        while not isinstance(method, _Function | ast.Lambda | ast.ClassDef | ast.Module):
            method = self._parents[method]
        if not isinstance(method, _Function) or not isinstance(node.value, ast.Name):
            raise _Doubt
        owner = self._parents[method]
        first = [*method.args.posonlyargs, *method.args.args][:1]
        decorators = [ast.unparse(each) for each in method.decorator_list]
        is_plain = all(d == "property" or d.endswith((".setter", ".deleter")) for d in decorators)
        if (
            not isinstance(owner, ast.ClassDef)
            or not is_plain
            or [arg.arg for arg in first] != [node.value.id]
            or any(
                node.value.id in bound_by(inner)
                for inner in ast.walk(method)
                if inner is not method
            )
        ):
            raise _Doubt
        return method

    # ------------------------------------------------------------ modules and classes

    def _check_body(self, body: list[ast.stmt]) -> None:
        properties: set[str] = set()
        for statement in body:
            match statement:
                case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._check_function(statement, properties)
                case ast.ClassDef():
                    self._check_class(statement)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._define(name, value)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                    self._unpack(targets, value)
                case ast.AnnAssign(target=ast.Name(id=name), value=value):
                    if value is not None:
                        self._define(name, value)
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__")), orelse=[]):
                    self._never_run(statement)
                case _:
                    raise _Doubt

    def _never_run(self, statement: ast.If) -> None:
        """Take what a program does when it is run, as nothing: a tested module is not."""
        if ast.unparse(statement.test) != "__name__ == '__main__'":
            raise _Doubt

    def _define(self, name: str, value: ast.expr) -> None:
        if name in self._classes or self._constants.define(name, value) is None:
            raise _Doubt

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> None:
        if self._constants.kind(value) is None:
            raise _Doubt
        for target in targets:
            if not isinstance(target, ast.Name):
                raise _Doubt
            self._define(target.id, ast.Constant(0))  # as good as what it is

    def _check_function(self, function: _Function, properties: set[str]) -> None:
        """Check what becomes of a function where it is defined.

        Args:
            function: One of a module or a class.
            properties: Those that were defined there before; this one may be added.
        """
        for decorator in function.decorator_list:
            match decorator:
                case ast.Name(id=name) if name in _DECORATORS:
                    if name == "property":
                        properties.add(function.name)
                case ast.Attribute(value=ast.Name(id=name), attr="setter" | "deleter"):
                    if {name, function.name} - properties:
                        raise _Doubt
                case _:
                    raise _Doubt
        if not function.decorator_list:
            properties.discard(function.name)
        if any(isinstance(d, ast.Name) and d.id == "classmethod" for d in function.decorator_list):
            # There, its own name is the only one for the class, and `super` finds bare functions.
            first = [*function.args.posonlyargs, *function.args.args][:1]
            if [arg.arg for arg in first] != ["cls"] or any(
                isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(function)
            ):
                raise _Doubt
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        if any(d is not None and self._constants.kind(d) != IMMUTABLE for d in defaults):
            raise _Doubt

    def _check_class(self, kind: ast.ClassDef) -> None:
        if kind.keywords:
            raise _Doubt
        for base in kind.bases:
            if not isinstance(base, ast.Name) or base.id not in _BASES | self._classes:
                raise _Doubt
        for decorator in kind.decorator_list:
            match decorator:
                case ast.Name(id=name) if name in _DECORATORS:
                    pass
                case ast.Call(func=ast.Name(id="dataclass"), args=[], keywords=keywords):
                    if not all(isinstance(each.value, ast.Constant) for each in keywords):
                        raise _Doubt
                case _:
                    raise _Doubt
        self._check_body(kind.body)
        methods = {statement.name for statement in kind.body if isinstance(statement, _Function)}
        if methods.intersection(read_in_body(kind)):
            raise _Doubt

    # ------------------------------------------------------------ what code does

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._check_name(node, name)
            case ast.Attribute(attr=name):
                self._check_attribute(node, name)
            case _:
                pass

    def _check_name(self, node: ast.Name, name: str) -> None:
        parent = self._parents[node]
        is_setter = isinstance(parent, ast.Attribute) and parent.attr in ("setter", "deleter")
        known = name in self._bound or name in _BUILTINS or name == "__name__"
        if not known and not is_setter:  # of a property, which is no name elsewhere
            raise _Doubt
        if name in self._modules and not (
            isinstance(parent, ast.Attribute) and is_listed(self._modules[name], parent.attr)
        ):
            raise _Doubt
        if (name in self._classes or name == "cls") and not self._is_class_used_well(node, parent):
            raise _Doubt
        if name in self._constants.containers and not self._is_only_read(node):
            raise _Doubt

    def _check_attribute(self, node: ast.Attribute, name: str) -> None:
        if name.startswith(_FRAMES) or name in _REVEALING or name in self._classes:
            raise _Doubt
        if _is_special(name) and name not in _SPECIAL:
            parent = self._parents[node]
            named = isinstance(parent, ast.Attribute) and parent.attr == "__name__"
            made = isinstance(parent, ast.Call) and parent.func is node
            if name != "__class__" or not (named or made):
                raise _Doubt
        if name in self._constants.containers and not (
            isinstance(node.ctx, ast.Load) and self._is_only_read(node)
        ):
            raise _Doubt

    def _is_class_used_well(self, node: ast.Name, parent: ast.AST) -> bool:
        """Tell whether a class is used without being handed on."""
        match parent:
            case ast.Call(func=func) if func is node:
                return True
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                return True
            case ast.Tuple():
                above = self._parents[parent]
                match above:
                    case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                        return True
                    case _:
                        return isinstance(above, ast.ExceptHandler)
            case ast.Attribute(attr=name):
                special = name.startswith("__") and name != "__name__"
                return not special and name not in self._storing
            case ast.ClassDef() | ast.ExceptHandler() | ast.Raise():
                return True
            case _:
                return False

    def _is_only_read(self, node: ast.expr) -> bool:
        """Tell whether a container that outlives the call is used without being handed on."""
        parent = self._parents[node]
        match parent:
            case ast.Subscript(value=value, ctx=ast.Load()):
                return value is node
            case ast.Compare(comparators=[only], ops=[ast.In() | ast.NotIn()]):
                return only is node
            case ast.For(iter=it) | ast.AsyncFor(iter=it) | ast.comprehension(iter=it):
                return it is node
            case ast.Call(func=ast.Name(id=name)):
                return name in _READERS
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="join")):
                return True
            case ast.Attribute(attr=name, ctx=ast.Load()):
                return name in _READING
            case ast.Starred(ctx=ast.Load()) | ast.FormattedValue():
                return True
            case _:
                return False


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
