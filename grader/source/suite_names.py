"""What the names in the sources of a suite stand for, if it can be judged apart."""

import ast
from collections.abc import Iterable, Iterator
from typing import NoReturn

from grader.source.allowed import MODULES, STAR, TEST_MODULES, is_builtin
from grader.source.names import (
    bound_names,
    free_names,
    is_fixture,
    parametrised,
    walk,
    walk_scope,
)


class NotAllowedError(Exception):
    """The suite does something that could distinguish a copy from the original."""


STARTS_TESTS = ("unittest", "main")
"""Allowed only in code that does not run, since it calls any function that a text names."""


def deny(why: str) -> NoReturn:
    """End the reading of a suite that cannot be judged apart.

    Raises:
        NotAllowedError: Always.
    """
    raise NotAllowedError(why)


class SuiteNames:
    """What the names in a suite's sources stand for."""

    def __init__(self, trees: Iterable[ast.Module], *, solution: str | None) -> None:
        """Read the imports, and which names stand for functions of the submission.

        Args:
            trees: Of the suite's sources.
            solution: The module that tests import the submission as; None for a script, which
                runs in the submission's namespace.

        Raises:
            NotAllowedError: The suite cannot be judged apart from the submission.
        """
        self._trees = tuple(trees)
        self._solution = solution
        self.bound = set(bound_names(self._trees))
        self.modules: dict[str, str] = {}
        """Local names of imported modules."""
        self.solution_names: set[str] = set()
        """Local names of the submission's module."""
        self._imported: dict[str, str] = {}
        """Names imported from the submission: the local name, and the submission's own."""
        self.wanted: set[str] = set()
        """The submission's own names of these."""
        self.has_star = False
        self.functions = {
            node.name: node
            for tree in self._trees
            for node in walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self._calls = [
            node
            for tree in self._trees
            for node in walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        self.parameters = {"self", "cls"}
        """The parameters that tests and fixtures may have."""
        self.callables: set[str] = set()
        """Names that stand for functions of the submission: its own, and parameters."""
        for tree in self._trees:
            self._read_imports(tree)
        self.callables |= self._imported.keys()
        self._settle_meanings()
        self._follow_parameters()

    def _read_imports(self, tree: ast.Module) -> None:
        for node in walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self._read_import(alias)
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    for alias in names:
                        self._read_import_from(module, alias)
                case ast.ImportFrom():
                    deny("a relative import")
                case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
                    self.parameters |= set(parametrised(names))
                case ast.FunctionDef(name=name) if is_fixture(node):
                    self.parameters.add(name)

    def _read_import(self, alias: ast.alias) -> None:
        local = alias.asname or alias.name
        if self._solution is not None and alias.name == self._solution:
            self.solution_names.add(local)
        elif alias.name in MODULES or (self._solution and alias.name in TEST_MODULES):
            self.modules[local] = alias.name
        else:
            deny(f"import {alias.name}")

    def _read_import_from(self, module: str, alias: ast.alias) -> None:
        if self._solution is not None and module == self._solution:
            if alias.name == STAR:
                self.has_star = True
            else:
                self._imported[alias.asname or alias.name] = alias.name
                self.wanted.add(alias.name)
        elif not self.is_listed(module, alias.name):
            deny(f"from {module} import {alias.name}")
        elif (module, alias.name) == STARTS_TESTS:
            self.modules[alias.asname or alias.name] = ".".join(STARTS_TESTS)

    def is_listed(self, module: str, name: str) -> bool:
        """Tell whether a suite may use a name of a module."""
        of_tests = TEST_MODULES.get(module) if self._solution else None
        listed = MODULES.get(module, of_tests)
        if listed is None or name.startswith("_") or name == STAR:
            return False
        return not listed or name in listed

    def _settle_meanings(self) -> None:
        """Check that no name belongs to the submission in one place and to the tests in another.

        In `def check(double): ...` followed by `check(double)`, both are the same function.

        Raises:
            NotAllowedError: A name belongs to both.
        """
        free = {name for tree in self._trees for name in free_names(tree)}
        local = self.bound - set(bound_names(self._trees, walk_scope))
        for name in {name for name in free & local if not is_builtin(name)}:
            if not self._is_handed_down(name):
                deny(f"{name!r} has two meanings")
            self.bound.remove(name)

    def _is_handed_down(self, name: str) -> bool:
        """Tell whether a name is bound only as a parameter that receives its outer object."""
        takers = {
            function.name
            for function in self.functions.values()
            if name in {argument.arg for argument in function.args.args}
        }
        bindings = sum(bound == name for bound in bound_names(self._trees))
        given = [
            isinstance(argument, ast.Name) and argument.id == name
            for call in self._calls
            for parameter, argument in self.passed(call)
            if parameter == name
        ]
        return bindings == len(takers) and bool(given) and all(given)

    def _follow_parameters(self) -> None:
        """Find the parameters of the suite's functions that receive functions to call."""
        grown = True
        while grown:
            grown = False
            for call in self._calls:
                for parameter, argument in self.passed(call):
                    if self.is_callable(argument) and parameter not in self.callables:
                        self.callables.add(parameter)
                        grown = True

    def passed(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """Yield the arguments of a call of the suite's own function, with their parameters."""
        function = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None:
            return
        named = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        yield from zip(named, call.args, strict=False)
        yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)

    def is_callable(self, node: ast.expr) -> bool:
        """Tell whether an expression stands for a function of the submission."""
        match node:
            case ast.Name(id=name):
                return name in self.callables or self.is_free(name)
            case ast.Attribute(value=ast.Name(id=name)) if name in self.solution_names:
                return True
            case ast.Attribute(value=ast.Call(func=made, args=[], keywords=[]), attr=attr):
                # A method of a new instance.
                return self.is_callable(made) and not attr.startswith("_")
            case _:
                return False

    def is_free(self, name: str) -> bool:
        """Tell whether a name can only come from the submission's namespace."""
        from_there = self._solution is None or self.has_star
        return from_there and name not in self.bound and not is_builtin(name)

    def own_names(self, function: ast.expr) -> set[str]:
        """Return the submission's own name for an expression's object, if it has one."""
        match function:
            case ast.Name(id=name) if name in self._imported or self.is_free(name):
                return {self._imported.get(name, name)}
            case ast.Attribute(attr=attr):
                return {attr}
            case _:
                return set()

    def before_star(self) -> set[str]:
        """Return the names that a star import from the submission may replace."""
        found: set[str] = set()
        for tree in self._trees:
            stars = [
                index
                for index, node in enumerate(tree.body)
                if isinstance(node, ast.ImportFrom)
                and node.module == self._solution
                and node.names[0].name == STAR
            ]
            if stars:
                found.update(bound_names(tree.body[: stars[-1]]))
        return found - {STAR}
