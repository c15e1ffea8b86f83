"""Counts the rows of a pytest test, which are the sets of parameters that it runs with.

Only rows that the source shows count: displays, names bound once to one, ranges, and what plain
functions such as `zip` make of these. A test may have more rows than that, never fewer.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from grader.source.names import Function, bound_names, is_fixture, parametrised
from grader.source.pytest_skips import RowSkips, find_row_skips

_Shown = tuple[list[ast.expr], bool]
"""The rows that an expression shows, and whether it has no others."""
_NOTHING: _Shown = ([], False)
_UNKNOWN = ast.Name(id="", ctx=ast.Load())
"""Stands for a row that the source does not show."""
_MOST_ROWS = 10_000
"""If a range or a sum has more, it counts as not shown: a short source can make any number."""
_READING = frozenset({"copy", "count", "get", "index", "items", "keys", "values"})
"""Methods that do not change a table."""


@dataclass(frozen=True, slots=True)
class _Fixture:
    rows: int
    needs: frozenset[str]


class Rows:
    """What the marks and fixtures of a module give to its tests."""

    def __init__(self, module: ast.Module) -> None:
        """Read the module."""
        self._tables: dict[str, _Shown] = {}
        for name, value in _tables(module):
            self._tables[name] = self._read(value)
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
                rows *= max(1, len(self._read(values)[0]))
        return rows

    def of_test(self, test: Function) -> int:
        """Return how many rows the decorators of a test and the fixtures that it names give."""
        return self.of_marks(test.decorator_list) * prod(
            fixture.rows for fixture in self._fixtures_of(test)
        )

    def skips_of(self, test: Function) -> RowSkips:
        """Return which of its rows a test skips itself, as far as the source shows them."""
        given = [values for mark in test.decorator_list if (values := _values_of(mark)) is not None]
        rows = None
        if len(given) == 1 and all(fixture.rows == 1 for fixture in self._fixtures_of(test)):
            found, is_whole = self._read(given[0])
            rows = found if is_whole else None
        return find_row_skips(test, _given_names(test), rows)

    def _fixtures_of(self, test: Function) -> list[_Fixture]:
        """Return the fixtures that a test names, and those that they need."""
        pending = _needs(test)
        replaced = set(_given_names(test))
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in self._fixtures and name not in seen and name not in replaced:
                seen.add(name)
                pending |= self._fixtures[name].needs
        return [self._fixtures[name] for name in seen]

    def _read_fixtures(self, module: ast.Module) -> Iterator[tuple[str, _Fixture]]:
        defined = Counter(n.name for n in ast.walk(module) if isinstance(n, Function))
        for node in module.body:
            if not isinstance(node, ast.FunctionDef) or defined[node.name] > 1:
                continue
            if is_fixture(node) and isinstance(node.decorator_list[0], ast.Call):
                given = {k.arg: k.value for k in node.decorator_list[0].keywords}
                if "name" not in given:
                    rows = len(self._read(given["params"])[0]) if "params" in given else 1
                    yield node.name, _Fixture(max(1, rows), frozenset(_needs(node)))

    def _read(self, values: ast.expr) -> _Shown:
        match values:
            case ast.Name(id=name):
                return self._tables.get(name, _NOTHING)
            case ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]):
                return _read_range(bounds)
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner], keywords=[]):
                return self._read(inner)
            case ast.Call(func=ast.Name(id="sorted" | "enumerate"), args=[inner, *_]):
                found, is_whole = self._read(inner)
                return [_UNKNOWN] * len(found), is_whole
            case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as inner, keywords=[]):
                columns = [self._read(each) for each in inner]
                if not all(is_whole for _, is_whole in columns):
                    return _NOTHING
                rows = zip(*(items for items, _ in columns), strict=False)
                return [ast.Tuple(elts=list(row), ctx=ast.Load()) for row in rows], True
            case ast.Call(func=ast.Attribute(value=table, attr="items" | "keys" | "values")):
                found, is_whole = self._read(table)
                return [_UNKNOWN] * len(found), is_whole
            case ast.ListComp(generators=[ast.comprehension(iter=inner, ifs=[], is_async=0)]):
                found, is_whole = self._read(inner)
                return [_UNKNOWN] * len(found), is_whole
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                (first, first_whole), (rest, rest_whole) = self._read(left), self._read(right)
                if len(first) + len(rest) > _MOST_ROWS:
                    return _NOTHING
                return first + rest, first_whole and rest_whole
            case _:
                return _read_display(values)


def _read_range(bounds: Sequence[ast.expr]) -> _Shown:
    try:
        numbers = range(*map(ast.literal_eval, bounds))
    except (TypeError, ValueError):
        return _NOTHING
    if len(numbers[: _MOST_ROWS + 1]) > _MOST_ROWS:
        return _NOTHING
    return [ast.Constant(value=number) for number in numbers], True


def _tables(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that always hold what one statement at the top of the module gives them."""
    bindings = Counter(bound_names([module]))
    changed: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if method not in _READING:
                changed.add(name)
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
                yield name, value
            case _:
                pass


def _read_display(values: ast.expr) -> _Shown:
    if isinstance(values, ast.Dict):
        keys = {ast.dump(key) for key in values.keys if isinstance(key, ast.Constant)}
        return [_UNKNOWN] * len(keys), len(keys) == len(values.keys)
    if not isinstance(values, ast.List | ast.Tuple):
        return _NOTHING
    shown = [each for each in values.elts if not isinstance(each, ast.Starred)]
    return shown, len(shown) == len(values.elts)


def _values_of(mark: ast.expr) -> ast.expr | None:
    """Return the values that a decorator or mark gives, if it is `parametrize`."""
    match mark:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_, values, *_]):
            return values
        case ast.Call(func=ast.Attribute(attr="parametrize"), keywords=keywords):
            return next((k.value for k in keywords if k.arg == "argvalues"), None)
        case _:
            return None


def _given_names(test: Function) -> list[str]:
    """Return the parameters that the decorators of a test give values to."""
    names: list[str] = []
    for mark in test.decorator_list:
        match mark:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[given, *_]):
                names += parametrised(given)
            case ast.Call(func=ast.Attribute(attr="parametrize"), keywords=keywords):
                names += (n for k in keywords if k.arg == "argnames" for n in parametrised(k.value))
            case _:
                pass
    return names


def _needs(function: Function) -> set[str]:
    """Return the fixtures that a test or fixture names as parameters."""
    spec = function.args
    named = [*spec.posonlyargs, *spec.args]
    return {a.arg for a in [*named[: len(named) - len(spec.defaults)], *spec.kwonlyargs]}
