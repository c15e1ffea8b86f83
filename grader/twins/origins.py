"""Tells whether the tests compute a value by themselves, without the submission."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.source.names import Function, parametrised
from grader.twins.mentions import function_around
from grader.twins.names import Names, call_name
from grader.twins.source import SuiteSource
from grader.twins.values import Bound

LIBRARIES = frozenset(
    # `test` is Python's own, too, with helpers for tests.
    {*sys.stdlib_module_names, "test", "hypothesis", "numpy", "pandas", "pytest", "scipy"}
)
Definition = Function | ast.ClassDef

_ASKING = (ast.Await, ast.Yield, ast.YieldFrom)
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Origins:
    """Reads what the expressions of a source depend on."""

    names: Names
    source: SuiteSource

    def is_own(self, node: ast.AST, env: Mapping[str, Bound], depth: int = 0) -> bool:
        """Tell whether the value of an expression certainly does not come from the submission.

        Args:
            node: The expression, or a function of the suite's own.
            env: The expressions that names stand for.
            depth: How many names led to it.
        """
        if depth > _MAX_DEPTH or any(isinstance(each, _ASKING) for each in ast.walk(node)):
            return False
        inside = set(_bound_in(node))
        return all(
            self._is_own_name(each, env, depth + 1)
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and each.id not in inside
        )

    def is_fixed(self, node: ast.AST, env: Mapping[str, Bound], depth: int = 0) -> bool:
        """Tell whether an expression needs nothing that a submission could easily replace.

        A submission can replace builtin functions, and what modules have.

        Args:
            node: The expression, which is the tests' own, or a function of the suite's own.
            env: The expressions that names stand for.
            depth: How many names led to it.
        """
        if depth > _MAX_DEPTH:
            return False
        for each in ast.walk(node):
            match each:
                case ast.Call(func=ast.Name(id=name)) if name not in env and isinstance(
                    function := self._defined(name), Function
                ):
                    if not self.is_fixed(function, env, depth + 1):
                        return False
                case ast.Call() | ast.Attribute():
                    return False
                case ast.Name(id=name) if name in env:
                    bound = env[name]
                    if not self.is_fixed(bound.node, bound.env, depth + 1):
                        return False
                case ast.Name() if self.names.library(each) is not None:
                    return False
                case _:
                    pass
        return True

    def _is_own_name(self, node: ast.Name, env: Mapping[str, Bound], depth: int) -> bool:
        if node.id in env:
            bound = env[node.id]
            function = function_around(self.source, node) or self.source.tree
            put_in = _put_into(function).get(node.id, ()) if bound.source is self.source else ()
            return self.is_own(bound.node, bound.env, depth) and all(
                self.is_own(each, env, depth) for each in put_in
            )
        library = self.names.library(node)
        if library is not None:
            return library.partition(".")[0] in LIBRARIES or any(
                library.startswith(f"{module}.") for module in self.names.own_modules
            )
        if self.names.builtin(node) is not None:
            return True
        within = function_around(self.source, node)
        if within is not None and node.id in {argument.arg for argument in within.args.args}:
            return self._is_given(node.id, within, env, depth) or self._is_own_fixture(
                node.id, env, depth
            )
        tables = _tables_in(within or self.source.tree).get(node.id)
        if tables:
            return all(table is not None and self.is_own(table, env, depth) for table in tables)
        found = self._defined(node.id)
        return isinstance(found, Function) and self.is_own(found, env, depth)

    def _is_given(
        self, name: str, function: Function, env: Mapping[str, Bound], depth: int
    ) -> bool:
        """Tell whether a test's decorators make an argument, out of what the tests compute."""
        return any(
            isinstance(decorator, ast.Call)
            and name in self._made_by(decorator, function)
            and self.is_own(decorator, env, depth)
            for decorator in function.decorator_list
        )

    def _made_by(self, decorator: ast.Call, function: Function) -> Iterator[str | None]:
        """Yield the arguments of a test that a decorator makes."""
        if call_name(decorator) == "parametrize" and decorator.args:
            yield from parametrised(decorator.args[0])
        elif self.names.library(decorator.func) == "hypothesis.given":
            yield from (keyword.arg for keyword in decorator.keywords)
            last = function.args.args[::-1][: len(decorator.args)]
            yield from (argument.arg for argument in last)

    def _is_own_fixture(self, name: str, env: Mapping[str, Bound], depth: int) -> bool:
        """Tell whether an argument of a test is a fixture that the tests compute."""
        found = self._defined(name)
        if not isinstance(found, Function) or depth > _MAX_DEPTH:
            return False
        arguments = {argument.arg for argument in found.args.args} - {"request"}
        return self.is_own(found, env, depth) and all(
            self._is_own_fixture(argument, env, depth + 1) for argument in arguments
        )

    def _defined(self, name: str) -> Definition | None:
        """Return the only function or class of the module that has a name."""
        found = definitions_in(self.source).get(name, ())
        return found[0] if len(found) == 1 else None


@lru_cache(maxsize=16)
def definitions_in(source: SuiteSource) -> Mapping[str, Sequence[Definition]]:
    """Return the functions and classes of a source by name, wherever they are."""
    found: dict[str, list[Definition]] = {}
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name, []).append(node)
    return found


def _bound_in(node: ast.AST) -> Iterator[str]:
    """Yield the names that an expression or a function binds itself."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case _:
                pass


@lru_cache(maxsize=16)
def _put_into(root: ast.AST) -> Mapping[str, Sequence[ast.expr]]:
    """Return what statements put into the object that each name stands for."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(root):
        match node:
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
                found.setdefault(name, []).append(value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=args)):
                found.setdefault(name, []).extend(args)
            case _:
                pass
    return found


@lru_cache(maxsize=16)
def _tables_in(root: ast.AST) -> Mapping[str, Sequence[ast.expr | None]]:
    """Return what the loops iterate over that bind each name; None for any other binding."""
    tables: dict[str, list[ast.expr | None]] = {}
    in_loops: set[ast.AST] = set()
    for node in ast.walk(root):
        match node:
            case ast.For(target=target, iter=table):
                stored = {n: n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                in_loops.update(stored)
                for name in set(stored.values()):
                    tables.setdefault(name, []).append(table)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if node not in in_loops:
                tables.setdefault(name, []).append(None)
            case _:
                pass
    return tables
