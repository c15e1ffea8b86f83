"""The meanings of names in a source: builtins, names of libraries, or the suite's own."""

import ast
import builtins
import sys
from collections.abc import Collection, Iterable

from grader.twins.source import SuiteSource

_BUILTINS = frozenset(dir(builtins))


class Names:
    """The imports and definitions anywhere in a source."""

    def __init__(
        self,
        sources: Iterable[SuiteSource],
        others: "Names | None" = None,
        *,
        own_modules: Collection[str] = (),
    ) -> None:
        """Read sources that share a namespace, with each other and with `others`.

        Args:
            sources: The sources.
            others: What others define.
            own_modules: Modules of the suite that do not depend on the submission.
        """
        self.own_modules = own_modules
        self._own: set[str] = set() if others is None else set(others._own)
        self._origins: dict[str, str] = {} if others is None else dict(others._origins)
        self._imported: set[str] = set() if others is None else set(others._imported)
        for source in sources:
            for node in source.nodes:
                self._read(node)

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.alias):
            self._imported.add(node.asname or node.name.partition(".")[0])
        match node:
            case ast.Import(names=names):
                for alias in names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._origins[alias.asname or whole] = whole
            case ast.ImportFrom(module=module, names=names, level=0):
                for alias in names:
                    self._origins[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.ImportFrom(names=names):
                self._own.update(alias.asname or alias.name for alias in names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                self._own.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._own.add(name)
            case ast.ClassDef(name=name):
                self._own.add(name)
            case _:
                pass

    def is_imported(self, node: ast.expr) -> bool:
        """Tell whether an expression is an object that a module has, which is not just made."""
        match node:
            case ast.Name(id=name):
                return name in self._imported
            case ast.Attribute(value=inner):
                return self.is_imported(inner)
            case _:
                return False

    def is_own(self, node: ast.Name) -> bool:
        """Tell whether the suite itself defines a name, other than by importing it."""
        return node.id in self._own

    def builtin(self, node: ast.expr) -> str | None:
        """Return the name of the builtin that an expression means, or None."""
        match node:
            case ast.Name(id=name):
                known = name in _BUILTINS and name not in self._own and name not in self._origins
                return name if known else None
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name):
                return name if self._origins.get("builtins") == "builtins" else None
            case _:
                return None

    def library(self, node: ast.expr) -> str | None:
        """Return the full name of what is imported, such as "numpy.array", or None."""
        match node:
            case ast.Name(id=name):
                if name in self._own:
                    return None
                # A script may use a module that the submission imports.
                return self._origins.get(name, name if name in sys.stdlib_module_names else None)
            case ast.Attribute(value=inner, attr=name):
                found = self.library(inner)
                return None if found is None else f"{found}.{name}"
            case _:
                return None


def makes_object(node: ast.AST) -> bool:
    """Tell whether an expression calls a class, to go by its name."""
    return isinstance(node, ast.Call) and call_name(node.func)[:1].isupper()


def call_name(expression: ast.expr) -> str:
    """Return the last part of the called name; "" if there is no name."""
    match expression:
        case ast.Call(func=inner):
            return call_name(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
