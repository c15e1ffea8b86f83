"""Which of the submission's names the tests get where they do not ask for each by itself.

A script runs among the submission's names, and `from solution import *` takes them all. In plain
Python each of them hides the builtin, the module or the helper of the same name, and whoever
wrote the submission could decide with what the tests compare. Here what the tests compare with
stays their own:

- a builtin's name, unless a builtin's name is all that the tests want of the submission;
- what a test module imports or defines itself;
- a module, where the tests use it as the standard library's (`math.isclose`);
- helpers by which tests compare, unless they are the library's own;
- what pytest would take for a test, a mark or a hook.

A name that a test asks for by itself is always the submission's.
"""

import ast
import builtins
import importlib
import math
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

from sandbox_images.harness.split import library

_BUILTINS = frozenset(dir(builtins))
_THIRD_PARTY = {"np": "numpy", "pd": "pandas", "mock": "unittest.mock"} | {
    name: name for name in ("numpy", "pandas", "pytest", "scipy", "sympy", "torch")
}
_HELPERS_HERE = {"inf": math.inf, "nan": math.nan, "isclose": math.isclose}
_HELPERS = _HELPERS_HERE.keys() | frozenset(
    "allclose approx array_equal assert_allclose assert_array_equal raises".split()
)
_NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
_HOOKS = ("test", "pytest", "setup", "teardown", "load_tests")


def named_identifiers(sources: Iterable[str]) -> frozenset[str]:
    """Return every identifier in the suite's sources."""
    return frozenset(name for text in sources for name in re.findall(r"[A-Za-z_]\w*", text))


class Taken(NamedTuple):
    """What a suite takes from its submission without asking for each name by itself."""

    names: tuple[str, ...]
    """The submission's."""
    own: dict[str, Any]
    """What is the tests' own, though the submission has something by that name too."""


class Scope:
    """The names of one suite."""

    def __init__(self, sources: list[str], names: frozenset[str]) -> None:
        """`names` are the identifiers in `sources`."""
        self._sources = sources
        self._names = names

    def of_script(self, offered: Iterable[str]) -> "Taken":
        """Return what a script takes by the names that the submission has."""
        used = self._names.intersection(offered)
        own = self._find_own(used)
        hiding = used & _BUILTINS
        if hiding:
            used = used - hiding | self._find_wanted_builtin(hiding)
        return Taken(names=tuple(sorted(used - own.keys() - _HELPERS)), own=own)

    def of_star_import(self, offered: Iterable[str]) -> "Taken":
        """Return what `from solution import *` takes by the names that the submission has."""
        bound = frozenset().union(*map(_bound_names, self._sources))
        rest = [
            name for name in offered if name not in bound and not name.lower().startswith(_HOOKS)
        ]
        own = self._find_own(self._names.intersection(rest))
        kept = _BUILTINS | _HELPERS | own.keys()
        return Taken(names=tuple(name for name in rest if name not in kept), own=own)

    def _find_own(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what the tests mean by names that are not the submission's to define."""
        found = {name: _HELPERS_HERE.get(name) or self._own_module(name) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def _own_module(self, name: str) -> ModuleType | None:
        """Return the module that the tests mean by a name, if they mean one."""
        if name not in _THIRD_PARTY and not library.is_safe_module(name):
            return None
        pattern = re.compile(rf"\b{name}\b(\s*\.\s*\w+|\s*\()?")
        uses = [use for text in self._sources for use in pattern.findall(text)]
        attributes = {use.strip(" .\n\t") for use in uses if use.lstrip().startswith(".")}
        if not attributes or any(use.lstrip().startswith("(") for use in uses):
            return None
        try:
            module = importlib.import_module(_THIRD_PARTY.get(name, name))
        except Exception:  # noqa: BLE001 - whatever keeps it from being there
            return None
        return module if all(hasattr(module, attribute) for attribute in attributes) else None

    def _find_wanted_builtin(self, hiding: frozenset[str]) -> frozenset[str]:
        """Return the one builtin's name that the submission is to define, if there is one."""
        free = frozenset().union(*map(_free_names, self._sources))
        return hiding if len(hiding) == 1 and hiding <= free <= _BUILTINS else frozenset()


def _parse(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])  # it fails wherever it runs


def _bound_names(source: str) -> frozenset[str]:
    """Return what a module that star-imports imports, assigns or defines itself."""
    if "*" not in source:
        return frozenset()
    tree = _parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            vars(node).update(args=_NO_ARGUMENTS, body=[])  # whose names are its own
    return frozenset(_binders(tree))


def _free_names(source: str) -> frozenset[str]:
    """Return the names that a source reads and does not bind."""
    tree = _parse(source)
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return frozenset(read.difference(_binders(tree)))


def _binders(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((n.asname or n.name).partition(".")[0] for n in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                pass
