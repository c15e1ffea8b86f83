"""Reads in a submission how its objects may compare, and what its exceptions derive from."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

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
    if "class" not in code:
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
    counted = [own for name, own in bases.items() if len(_builtin(name, bases)) <= _MOST_BUILTIN]
    if all(len(own) < 2 for own in counted):
        return frozenset()
    return frozenset(base for own in counted for base in own)


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
    "enum": {"Enum", "Flag", "IntEnum", "IntFlag", "StrEnum", "auto", "unique"},
    "functools": {"cache", "cached_property", "lru_cache", "reduce", "total_ordering"},
    "json": {"dumps", "loads"},
}
"""What may be imported from further modules."""
_REACHING = frozenset(
    "ForwardRef ag_frame compile cr_frame delattr eval exec f_back f_builtins f_globals f_locals "
    "get_type_hints getattr gi_frame globals locals setattr tb_frame vars".split()
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
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    of_names = {node.value: node.attr for node in nodes if isinstance(node, ast.Attribute)}
    types = {each for node in nodes for each in _asked_types(node)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return (
        all(map(_is_plain, nodes))
        and all(_is_public(of_names.get(name)) for name in names if name.id in modules)
        and all(name in types for name in names if name.id == "type")
    )


def _is_public(attribute: str | None) -> bool:
    """Tell whether a module is only asked for something of its own, and not for a module."""
    return (
        attribute is not None
        and not attribute.startswith("_")
        and attribute not in sys.stdlib_module_names
    )


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
                return all(_is_public(alias.name) or alias.name == module for alias in names)
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
            is_special = name.startswith("__") and name.endswith("__")
            return name not in _REACHING and (not is_special or name in _PLAIN_DUNDERS)
        case _:
            return True
