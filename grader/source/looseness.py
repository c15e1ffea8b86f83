"""Reads in a submission how its objects may compare, and what its exceptions derive from."""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

from grader.source.names import name_bound_by
from grader.source.syntax import UNPARSABLE, parse
from grader.source.trees import module_tree

_OF_COMPARISONS = re.compile(
    r"__(?:contains|eq|ne|instancecheck|subclasscheck)__|\b(?:compare|eq)\s*="
)
_MOST_BUILTIN = 3
"""The most exceptions of Python that one honest exception derives from."""


def may_compare_loosely(code: str) -> bool:
    """Tell whether a class of the submission may equal, or contain, different values."""
    return _OF_COMPARISONS.search(code) is not None


def combined_bases(code: str) -> frozenset[str]:
    """Return the names of all base classes if any class of the submission has several.

    An exception of that class may then be caught as any of them. No honest exception is more than
    a few of Python's own at once, so the bases of such a class do not count.
    """
    if "class" not in code and "type" not in code:
        return frozenset()
    try:
        tree = parse(code)
    except UNPARSABLE:
        return frozenset()
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    if any(map(_makes_class, ast.walk(tree))):
        # Any exceptions together may be its bases, since a function may pass them on.
        made = [[n for n in own if n in bases or _is_error(n)] for own in _names_together(tree)]
        bases |= {f"made {number}": own for number, own in enumerate(made)}
    counted = [own for name, own in bases.items() if len(_builtin(name, bases)) <= _MOST_BUILTIN]
    if all(len(own) < 2 for own in counted):
        return frozenset()
    return frozenset(base for own in counted for base in own)


def _makes_class(node: ast.AST) -> bool:
    """Tell whether a node makes a class by a call."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_, _, _]):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "new_class"
        case _:
            return False


def _is_error(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _names_together(tree: ast.Module) -> Iterator[list[str]]:
    """Yield the names in each tuple and in the arguments of each call."""
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=parts) | ast.Call(args=parts):
                yield [part.id for part in parts if isinstance(part, ast.Name)]
            case _:
                pass


def _builtin(name: str, bases: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the exceptions of Python that a class derives from, by way of others or not."""
    found: set[str] = set()
    pending = [name]
    seen: set[str] = set()
    while pending:
        each = pending.pop()
        if each in bases and each not in seen:
            seen.add(each)
            pending += bases[each]
        elif each not in bases and hasattr(builtins, each):
            found.add(each)
    return found


# ---------------------------------------------------------------- what cannot compare loosely

_PLAIN_MODULES = frozenset(
    "bisect collections copy datetime decimal fractions heapq itertools math random re statistics "
    "string textwrap time typing".split()
)
"""Modules of which no public object equals others than it should, or changes a class."""
_PLAIN_NAMES = {
    "__future__": {"annotations"},
    "abc": {"ABC", "abstractmethod"},
    "dataclasses": {"dataclass", "field"},
    "functools": {"cache", "cached_property", "lru_cache", "reduce", "total_ordering"},
    "json": {"dumps", "loads"},
}
"""What may be imported from further modules. Not an `Enum`, which makes classes by a call, too."""
_PLAIN_BASES = frozenset({"ABC", "Generic", "NamedTuple", "Protocol", "TypedDict"})
"""Library classes that leave the equality of derived classes alone. Others, such as `Fraction` and
`typing.AbstractSet`, have one that asks methods which a derived class can replace."""
_REACHING = frozenset(
    "ForwardRef Formatter ag_frame compile cr_frame delattr eval exec f_back f_builtins f_globals "
    "f_locals get_type_hints getattr gi_frame globals locals setattr tb_frame vars".split()
)
"""Names and attributes that lead to other code, or to names that are computed."""
_PLAIN_DUNDERS = frozenset(
    f"__{name}__"
    for name in (
        "abs add aenter aexit aiter anext bool call ceil delitem doc enter exit float floor "
        "floordiv ge getitem gt hash iadd imul init int isub iter le len lt mod mul name neg new "
        "next pos post_init pow qualname radd repr reversed rmul round rsub setitem slots str sub "
        "truediv trunc"
    ).split()
)


def compares_plainly(code: str) -> bool:
    """Tell whether all objects that a submission can make certainly equal only what they should.

    They do if it defines no equality, and has nothing by which it could reach other code, or make
    or change a class in a way that cannot be read here.
    """
    if may_compare_loosely(code):
        return False
    tree = module_tree(code)
    if tree is None:
        return False
    nodes = list(ast.walk(tree))
    modules = {
        alias.asname or alias.name: alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    of_names = {node.value: node.attr for node in nodes if isinstance(node, ast.Attribute)}
    types = {each for node in nodes for each in _asked_types(node)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return (
        all(map(_is_plain, nodes))
        and all(of_names.get(n) in _public(modules[n.id]) for n in names if n.id in modules)
        and all(name in types for name in names if name.id == "type")
        and _has_plain_bases(nodes)
    )


@cache
def _public(module: str) -> frozenset[str]:
    """Return the names that a plain module offers, without those that it only imports itself."""
    found = import_module(module)
    own = [name for name, each in vars(found).items() if not isinstance(each, ModuleType)]
    return frozenset(name for name in getattr(found, "__all__", own) if not name.startswith("_"))


def _has_plain_bases(nodes: Sequence[ast.AST]) -> bool:
    """Tell whether no class inherits an equality that it could change by other methods."""
    bound: dict[str, list[ast.AST]] = {}
    for node in nodes:
        if (name := name_bound_by(node)) is not None:
            bound.setdefault(name, []).append(node)
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    return all(_is_plain_base(base, bound) for each in classes for base in each.bases)


def _is_plain_base(base: ast.expr, bound: Mapping[str, Sequence[ast.AST]]) -> bool:
    """Tell whether a base is a builtin, a class of the submission, or one that has no equality.

    Args:
        base: The base class.
        bound: What binds each name.
    """
    match base:
        case ast.Subscript(value=generic):
            return _is_plain_base(generic, bound)
        case ast.Call(func=ast.Name(id="namedtuple" as name)):
            return all(isinstance(each, ast.alias) for each in bound.get(name, ()))
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            is_module = all(isinstance(each, ast.alias) for each in bound.get(module, ()))
            return is_module and name in _PLAIN_BASES
        case ast.Name(id=name) if name in bound:
            return all(
                isinstance(each, ast.ClassDef)
                or (isinstance(each, ast.alias) and each.name in _PLAIN_BASES)
                for each in bound[name]
            )
        case ast.Name(id=name):
            return hasattr(builtins, name)
        case _:
            return False


def _asked_types(node: ast.AST) -> Iterator[ast.expr]:
    """Yield `type` where it only names or compares the class of an object."""
    match node:
        case ast.Attribute(value=ast.Call(func=function, args=[_]), attr="__name__"):
            yield function
        case ast.Compare(left=left, comparators=others):
            for side in (left, *others):
                if isinstance(side, ast.Call) and len(side.args) == 1:
                    yield side.func
        case _:
            pass


def _is_plain(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return all(alias.name in _PLAIN_MODULES for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            if module in _PLAIN_MODULES:
                return all(alias.name == "*" or alias.name in _public(module) for alias in names)
            return all(alias.name in _PLAIN_NAMES.get(module, ()) for alias in names)
        case ast.ImportFrom() | ast.ClassDef(keywords=[_, *_]):
            return False
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.alias(name=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
        ):
            return _is_plain_name(name)
        case ast.MatchClass(kwd_attrs=names):
            return all(map(_is_plain_name, names))
        case _:
            return True


def _is_plain_name(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__")
    return name not in _REACHING and (not is_special or name in _PLAIN_DUNDERS)
