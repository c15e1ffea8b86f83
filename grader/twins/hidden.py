"""Tells whether a value may rest on comparisons that are hidden in it.

`all(f(x) == y for x, y in rows)` is true for an object that equals everything. A twin can only
expect the opposite of the whole condition, and then such an object fails, like a right program. So
that change shows that the assertion is evaluated, and not that the submission's values are right.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from grader.twins.mentions import function_around
from grader.twins.origins import LIBRARIES, Origins, definitions_in
from grader.twins.values import Bound

_EQUALITIES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_METHODS = frozenset(
    "__contains__ __eq__ __getitem__ __ne__ count difference discard get index intersection "
    "isdisjoint issubset issuperset pop remove symmetric_difference union".split()
)
"""Methods that compare what they are given."""
_FUNCTIONS = re.compile(r"operator\.|.*(close|equal|isin)")
"""Functions of libraries that compare what they are given."""


@dataclass(frozen=True, slots=True)
class HiddenComparisons:
    """Looks for comparisons in the expressions of a source."""

    origins: Origins
    own_methods: frozenset[str]
    """Names of methods that the suite's classes define themselves."""

    def are_in(self, node: ast.expr, env: Mapping[str, Bound]) -> bool:
        """Tell whether the tests may compare values where an expression is evaluated.

        What the submission compares itself does not count, and so neither does what it is given.

        Args:
            node: The expression.
            env: The expressions that names stand for.
        """
        return self._are_in(node, env, set())

    def _are_in(self, node: ast.AST, env: Mapping[str, Bound], seen: set[ast.AST]) -> bool:
        """Tell the same; what names stand for is looked at once, and kept in `seen`."""
        match node:
            case ast.Compare(ops=ops) if any(isinstance(op, _EQUALITIES) for op in ops):
                return True
            case ast.Assert():
                return True
            case ast.Subscript(slice=index) if any(
                isinstance(each, ast.Call) for each in ast.walk(index)
            ):
                return True
            case ast.Name(id=name, ctx=ast.Load()):
                return self._name_compares(node, name, env, seen)
            case ast.Call():
                return self._call_compares(node, env, seen)
            case _:
                return any(self._are_in(each, env, seen) for each in ast.iter_child_nodes(node))

    def _call_compares(self, call: ast.Call, env: Mapping[str, Bound], seen: set[ast.AST]) -> bool:
        names, function = self.origins.names, call.func
        library = names.library(function) or ""
        match function:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.own_methods:
                return self._own_compares(name, seen)
            case ast.Attribute(attr=name) if name.startswith("assert"):
                return True
            case ast.Attribute(value=receiver, attr=name) if not library:
                if not self.origins.is_own(receiver, env):
                    return self._are_in(receiver, env, seen)
                if name in _METHODS and not all(isinstance(a, ast.Constant) for a in call.args):
                    return True
            case _:
                pass
        if _FUNCTIONS.match(library) is not None or any(
            library.startswith(f"{module}.") for module in names.own_modules
        ):
            return True
        if self._are_in(function, env, seen):
            return True
        is_known = library.partition(".")[0] in LIBRARIES or self.origins.is_own(function, env)
        return is_known and any(
            self._are_in(each, env, seen) for each in ast.iter_child_nodes(call)
        )

    def _name_compares(
        self, node: ast.Name, name: str, env: Mapping[str, Bound], seen: set[ast.AST]
    ) -> bool:
        within = function_around(self.origins.source, node) or self.origins.source.tree
        if _is_made_by_steps(within, name) and _compares_by_itself(within):
            return True
        if name not in env:
            return self._own_compares(name, seen)
        bound = env[name]
        if bound.node in seen:
            return False
        seen.add(bound.node)
        return self._are_in(bound.node, bound.env, seen)

    def _own_compares(self, name: str, seen: set[ast.AST]) -> bool:
        """Tell whether a function or a class of the suite compares values."""
        found = definitions_in(self.origins.source).get(name, ())
        new = [each for each in found if each not in seen]
        seen.update(new)
        return any(self._are_in(child, {}, seen) for each in new for child in each.body)


@lru_cache(maxsize=64)
def _is_made_by_steps(root: ast.AST, name: str) -> bool:
    """Tell whether a function assigns a variable several times, or changes it in place."""
    stores = 0
    for node in _outside_functions(root):
        match node:
            case ast.Name(id=found, ctx=ast.Store()) if found == name:
                stores += 1
            case ast.AugAssign(target=ast.Name(id=found)) if found == name:
                return True
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()) if (
                found == name
            ):
                return True
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=found)))) if (
                found == name
            ):
                return True
            case _:
                pass
    return stores > 1


@lru_cache(maxsize=16)
def _compares_by_itself(root: ast.AST) -> bool:
    """Tell whether a function compares something outside of its assertions."""
    return any(
        isinstance(each, ast.Compare) and any(isinstance(op, _EQUALITIES) for op in each.ops)
        for statement in _outside_functions(root)
        if isinstance(statement, ast.stmt) and not isinstance(statement, ast.Assert)
        for child in ast.iter_child_nodes(statement)
        if isinstance(child, ast.expr)
        for each in ast.walk(child)
    )


def _outside_functions(root: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a function or a module, but not in the functions and classes inside it."""
    for child in ast.iter_child_nodes(root):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from _outside_functions(child)
