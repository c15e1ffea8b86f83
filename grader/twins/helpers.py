"""The functions that a suite's tests share, and the scopes in them."""

import ast
from collections.abc import Mapping

from grader.source.names import Function
from grader.twins.leaving import is_generator
from grader.twins.names import Names
from grader.twins.scopes import HelperOf, Scope
from grader.twins.source import SuiteSource


class Helpers:
    """The functions of sources that share a namespace, and their scopes."""

    def __init__(
        self, names: Names, sources: list[SuiteSource], outside: frozenset[str] = frozenset()
    ) -> None:
        self._names = names
        self._outside = outside
        self._scopes: dict[tuple[ast.AST, ast.ClassDef | None], Scope] = {}
        self._functions: dict[str, tuple[Function, SuiteSource]] = {}
        taken: set[str] = set()
        for source in sources:
            for node in source.nodes:
                match node:
                    case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                        if source.parent(node) is source.tree:
                            taken.update({name} & self._functions.keys())
                            self._functions[name] = (node, source)
                        elif not isinstance(source.parent(node), ast.ClassDef):
                            taken.add(name)
                    case ast.Name(id=name, ctx=ast.Store()) | ast.ClassDef(name=name):
                        taken.add(name)
                    case ast.arg(arg=name):
                        taken.add(name)
                    case _:
                        pass
        for name in taken:
            self._functions.pop(name, None)

    def scope(self, source: SuiteSource) -> Scope:
        """Return the scope of a module."""
        return self._scope(source.tree, source, None, {})

    def scope_of(
        self,
        function: Function,
        source: SuiteSource,
        owner: ast.ClassDef | None,
        methods: Mapping[str, Function],
    ) -> Scope:
        """Return the scope of a function, which is a method if there is an `owner`."""
        return self._scope(function, source, owner, methods)

    def _scope(
        self,
        root: ast.Module | Function,
        source: SuiteSource,
        owner: ast.ClassDef | None,
        methods: Mapping[str, Function],
    ) -> Scope:
        key = (root, owner)
        if key not in self._scopes:
            helper_of = self.helper_of(owner, methods, source)
            outside = self._outside if isinstance(root, ast.Module) else frozenset[str]()
            self._scopes[key] = Scope(root, source, self._names, helper_of, outside)
        return self._scopes[key]

    def helper_of(
        self,
        owner: ast.ClassDef | None,
        methods: Mapping[str, Function] | None = None,
        method_source: SuiteSource | None = None,
    ) -> HelperOf:
        """Return a function that finds the suite's own function that a call means."""
        known = methods or {}

        def find(call: ast.Call) -> tuple[Function, Scope, int] | None:
            match call.func:
                case ast.Name(id=name) if name in self._functions:
                    function, source = self._functions[name]
                    skipped = 0
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if (
                    name in known and method_source is not None
                ):
                    function, source = known[name], method_source
                    skipped = 0 if _is_static(function) else 1
                case _:
                    return None
            decorated = bool(function.decorator_list) and not _is_static(function)
            if decorated or is_generator(function) or isinstance(function, ast.AsyncFunctionDef):
                return None
            return function, self._scope(function, source, owner, known), skipped

        return find


def _is_static(function: Function) -> bool:
    names = [d.id for d in function.decorator_list if isinstance(d, ast.Name)]
    return names == ["staticmethod"] and len(function.decorator_list) == 1
