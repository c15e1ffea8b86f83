"""The values that assignments and loops bind to names, as far as the source shows them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.twins.values import Bound

_MAX_DEPTH = 6

Row = Bound | tuple[Bound | None, ...]


def resolved(bound: Bound) -> Bound:
    """Return the expression that a name stands for. The names that led to it become its tables."""
    for _ in range(_MAX_DEPTH):
        match bound.node:
            case ast.Name(id=name) if name in bound.env:
                found = bound.env[name]
                tables = bound.tables + found.tables
                if found.scope is not None:
                    tables += ((found.scope, name),)
                bound = replace(found, tables=tables)
            case _:
                break
    return bound


def bindings(target: ast.expr, bound: Bound) -> Iterator[tuple[str, Bound | None]]:
    """Yield the names of a target with the expression that each gets; None if that is unknown."""
    match target:
        case ast.Name(id=name):
            yield name, bound
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            found = resolved(bound)
            match found.node:
                case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) == len(
                    targets
                ) and not any(isinstance(x, ast.Starred) for x in [*items, *targets]):
                    for inner, item in zip(targets, items, strict=True):
                        yield from bindings(inner, replace(found, node=item))
                case _:
                    yield from ((name, None) for name in stored_names(target))
        case _:
            yield from ((name, None) for name in stored_names(target))


def row_bindings(target: ast.expr, row: Row) -> Iterator[tuple[str, Bound | None]]:
    """Yield the names of a loop's target with the expression that each gets from a row."""
    if isinstance(row, Bound):
        yield from bindings(target, row)
        return
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets) if len(targets) == len(row):
            for inner, bound in zip(targets, row, strict=True):
                if bound is not None:
                    yield from bindings(inner, bound)
        case _:
            pass


def table_rows(table: Bound) -> list[Row] | None:
    """Return the items that a loop over an expression iterates over; None if they are unknown."""
    found = resolved(table)
    match found.node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            if any(isinstance(item, ast.Starred) for item in items):
                return None
            return [replace(found, node=item) for item in items]
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            rows = table_rows(replace(found, node=inner))
            return None if rows is None else [(None, _packed(row)) for row in rows]
        case ast.Call(func=ast.Name(id="zip"), args=args):
            columns = [table_rows(replace(found, node=arg)) for arg in args]
            return _zipped(columns)
        case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
            pairs = resolved(replace(found, node=inner))
            if isinstance(pairs.node, ast.Dict) and _are_distinct(pairs.node.keys):
                cells = zip(pairs.node.keys, pairs.node.values, strict=True)
                return [(replace(pairs, node=k), replace(pairs, node=v)) for k, v in cells if k]
            return None
        case ast.Call(func=ast.Name(id="range"), args=args):
            try:
                numbers = range(*map(ast.literal_eval, args))
            except (TypeError, ValueError):
                return None
            return [()] * len(numbers[:2])
        case _:
            return None


def _are_distinct(keys: Sequence[ast.expr | None]) -> bool:
    """Tell whether the keys of a display are different constants."""
    values = [key.value for key in keys if isinstance(key, ast.Constant)]
    return len(values) == len(keys) == len(set(values))


def stays(row: Row) -> bool:
    """Tell whether a row certainly stays in its table."""
    cells = [row] if isinstance(row, Bound) else [cell for cell in row if cell is not None]
    return all(scope.is_unchanged(name) for cell in cells for scope, name in cell.tables)


def _packed(row: Row) -> Bound | None:
    """Return a row as one expression; None if a part of it is unknown."""
    if isinstance(row, Bound):
        return row
    cells = [cell for cell in row if cell is not None]
    if not cells or len(cells) != len(row):
        return None
    items = ast.Tuple(elts=[cell.node for cell in cells], ctx=ast.Load())
    tables = tuple(table for cell in cells for table in cell.tables)
    return replace(cells[0], node=items, tables=tables)


def _zipped(columns: Sequence[list[Row] | None]) -> list[Row] | None:
    """Return the rows of a `zip`; None if a column is unknown, which may be the shortest."""
    known = [column for column in columns if column is not None]
    if not known or len(known) != len(columns):
        return None
    return [tuple(map(_packed, cells)) for cells in zip(*known, strict=False)]


def stored_names(target: ast.expr) -> list[str]:
    """Return the names in a target."""
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
