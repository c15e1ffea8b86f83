"""Counts the rows of a pytest test, which are the sets of parameters that it runs with.

Only rows that the source shows count: displays, names bound once to one, and ranges. A test may
have more rows than that, never fewer.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from grader.source.names import Function, bound_names, is_fixture, parametrised


@dataclass(frozen=True, slots=True)
class _Fixture:
    rows: int
    needs: frozenset[str]


class Rows:
    """What the marks and fixtures of a module give to its tests."""

    def __init__(self, module: ast.Module) -> None:
        """Read the module."""
        self._tables = dict(_tables(module))
        self._fixtures = dict(self._read_fixtures(module))

    def of_marks(self, marks: Iterable[ast.expr]) -> int:
        """Return how many rows decorators or marks give, outermost first.

        Those below a decorator that is not pytest's may be lost.
        """
        rows = 1
        for mark in marks:
            name = mark.func if isinstance(mark, ast.Call) else mark
            if not ast.unparse(name).startswith(("pytest.", "mark.")):
                break
            if (values := _values_of(mark)) is not None:
                rows *= max(1, self._size(values))
        return rows

    def of_test(self, test: Function) -> int:
        """Return how many rows the decorators of a test and the fixtures that it names give."""
        pending = _needs(test)
        given = {name for mark in test.decorator_list for name in _names_of(mark)}
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in self._fixtures and name not in seen and name not in given:
                seen.add(name)
                pending |= self._fixtures[name].needs
        return self.of_marks(test.decorator_list) * prod(self._fixtures[n].rows for n in seen)

    def _read_fixtures(self, module: ast.Module) -> Iterator[tuple[str, _Fixture]]:
        defined = Counter(n.name for n in ast.walk(module) if isinstance(n, Function))
        for node in module.body:
            if not isinstance(node, ast.FunctionDef) or defined[node.name] > 1:
                continue
            if is_fixture(node) and isinstance(node.decorator_list[0], ast.Call):
                given = {k.arg: k.value for k in node.decorator_list[0].keywords}
                if "name" not in given:
                    rows = self._size(given["params"]) if "params" in given else 1
                    yield node.name, _Fixture(max(1, rows), frozenset(_needs(node)))

    def _size(self, values: ast.expr) -> int:
        """Return how many values an expression holds for certain."""
        match values:
            case ast.Name(id=name):
                return self._tables.get(name, 0)
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(stop))]):
                return stop
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._size(left) + self._size(right)
            case _:
                return _shown(values)


def _tables(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that always hold what a display at the top of the module shows."""
    bindings = Counter(bound_names([module]))
    changed: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id=name)):
                changed.add(name)  # by a method
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                changed.add(name)
            case _:
                pass
    for statement in module.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if bindings[name] == 1 and name not in changed:
                yield name, _shown(value)
            case _:
                pass


def _shown(values: ast.expr) -> int:
    """Return how many values a display shows; 0 if the expression is something else."""
    if not isinstance(values, ast.List | ast.Tuple):
        return 0
    return sum(not isinstance(each, ast.Starred) for each in values.elts)


def _values_of(mark: ast.expr) -> ast.expr | None:
    """Return the values that a decorator or mark gives, if it is `parametrize`."""
    match mark:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_, values, *_]):
            return values
        case ast.Call(func=ast.Attribute(attr="parametrize"), keywords=keywords):
            return next((k.value for k in keywords if k.arg == "argvalues"), None)
        case _:
            return None


def _names_of(mark: ast.expr) -> Iterator[str]:
    match mark:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
            yield from parametrised(names)
        case ast.Call(func=ast.Attribute(attr="parametrize"), keywords=keywords):
            yield from (n for k in keywords if k.arg == "argnames" for n in parametrised(k.value))
        case _:
            pass


def _needs(function: Function) -> set[str]:
    """Return the fixtures that a test or fixture names as parameters."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args]
    return {a.arg for a in [*named[: len(named) - len(spec.defaults)], *spec.kwonlyargs]}
