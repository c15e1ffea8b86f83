"""Sites of what several tests expect: a constant or an oracle of their module.

If only the comparison were changed, code that looks for the right value would still find it. So the
constant or the oracle itself is changed, and all tests that depend on it change together.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from grader.source.names import Function
from grader.twins.cases import CaseKey
from grader.twins.computed import other_value
from grader.twins.decoys import Pool, decoys, parsed
from grader.twins.found import Found, Shared
from grader.twins.site import Site, statement_at, statement_of
from grader.twins.source import Edit, SuiteSource
from grader.twins.values import Values, apart

_LEAVES_A_CONSTANT = 4
_TRIES = 24
_MOST_USERS = 50
"""The most expectations of a constant, since each is computed to see whether a change shows."""

Cases = tuple[CaseKey, ...]
_Keys = tuple[object, ...]


def shared_sites(
    found: Iterable[Found], pool: Pool, rng: Random, most: int, *, joint: bool
) -> Iterator[Site]:
    """Yield the sites of constants and oracles.

    Args:
        found: The expectations of the suite.
        pool: The literals that the suite expects.
        rng: Decides on the changes.
        most: The most changes of one literal.
        joint: Whether a change of a single literal is not enough; see `find_sites`.
    """
    by_shared: dict[Shared, list[Found]] = {}
    for each in found:
        for shared in each.shared:
            if (each.all_rows or each.cases) in shared.uses:
                by_shared.setdefault(shared, []).append(each)
    for shared, users in by_shared.items():
        if isinstance(shared.node, Function):
            yield from _of_oracle(shared, shared.node, users, rng)
        elif not joint and len(users) <= _MOST_USERS:
            yield from _of_constant(shared, shared.node, users, pool, rng, most)


def _of_oracle(
    shared: Shared, oracle: Function, users: Sequence[Found], rng: Random
) -> Iterator[Site]:
    """Yield the site of a function whose results are only expected."""
    expecting = [each for each in users if each.expectation.oracle in _loads(shared)]
    certain = {each.expectation.oracle for each in expecting}
    if certain != _loads(shared) or not _have_all_rows(expecting, shared.uses):
        return
    source = expecting[0].expectation.reached.source
    edits: list[Edit] = []
    before, after = other_value(rng)
    for node in _returns(oracle):
        if node.value is None:
            return
        start, end = source.span(node.value)
        edits += [
            Edit(start=start, end=start, text=f"{before}("),
            Edit(start=end, end=end, text=f"){after}"),
        ]
    yield _site(shared.uses, expecting, [tuple(edits)], telling=True)


def _loads(shared: Shared) -> set[ast.Name | None]:
    return {load for loads in shared.uses.values() for load in loads}


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the `return` statements of a function, without those of inner functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield from _returns(child)


def _of_constant(
    shared: Shared,
    constant: ast.expr,
    users: Sequence[Found],
    pool: Pool,
    rng: Random,
    most: int,
) -> Iterator[Site]:
    """Yield the sites of the literals of a constant."""
    paths = dict(_paths(constant, ()))
    expecting: dict[ast.expr, list[Found]] = {}
    for each in users:
        expected = each.expectation.expected
        if expected is not None:
            for _, leaf in islice(each.reader.leaves(expected), 2000):
                if leaf in paths:
                    expecting.setdefault(leaf, []).append(each)
    source = users[0].expectation.reached.source
    for leaf in rng.sample([*expecting], min(len(expecting), _LEAVES_A_CONSTANT)):
        uses = {
            cases: loads
            for cases, loads in shared.uses.items()
            if any(_may_read(source, load, paths[leaf]) for load in loads)
        }
        text = source.text_of(leaf)
        changes: dict[tuple[Edit, ...], None] = {}
        failing: list[Found] = []
        for other in islice(decoys(leaf, text, pool, rng), _TRIES):
            tree = parsed(other)
            if tree is None or "\n" in text + other or "\r" in text + other:
                continue
            apart_now = [each for each in expecting[leaf] if _is_apart(each, leaf, tree)]
            if _have_all_rows(apart_now, uses):
                start, end = source.span(leaf)
                changes[(Edit(start=start, end=end, text=other),)] = None
                failing += apart_now
            if len(changes) == most:
                break
        if changes:
            yield _site(uses, failing, [*changes], telling=False)


def _is_apart(found: Found, leaf: ast.expr, other: ast.expr) -> bool:
    """Tell whether a change of a literal certainly changes what is expected."""
    expectation = found.expectation
    if expectation.expected is None:
        return False
    env = expectation.reached.env
    before = Values(found.names, env).of(expectation.expected)
    after = Values(found.names, env, {leaf: other}).of(expectation.expected)
    return apart(before, after, expectation.tolerance)


def _have_all_rows(found: Iterable[Found], uses: Mapping[Cases, object]) -> bool:
    """Tell whether expectations are of all cases that depend on something."""
    rows: dict[Cases, set[int | None]] = {}
    for each in found:
        rows.setdefault(each.all_rows or each.cases, set()).add(each.cases[0].row)
    counts = {each.all_rows or each.cases: each.cases[0].rows or 1 for each in found}
    return all(len(rows.get(cases, ())) == counts.get(cases) for cases in uses)


def _paths(node: ast.expr, keys: _Keys) -> Iterator[tuple[ast.expr, _Keys]]:
    """Yield the expressions in a display with the keys and indices that lead to them."""
    yield node, keys
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) if not any(
            isinstance(item, ast.Starred) for item in items
        ):
            for index, item in enumerate(items):
                yield from _paths(item, (*keys, index))
        case ast.Dict(keys=names, values=values) if all(
            isinstance(name, ast.Constant) for name in names
        ):
            for name, value in zip(names, values, strict=True):
                if isinstance(name, ast.Constant):
                    yield from _paths(value, (*keys, name.value))
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _paths(child, (*keys, None))


def _may_read(source: SuiteSource, load: ast.Name, keys: _Keys) -> bool:
    """Tell whether a use of a constant may depend on its part at some keys and indices."""
    node: ast.AST = load
    for key in keys:
        parent = source.parent(node)
        match parent:
            case ast.Subscript(value=value, slice=ast.Constant(value=taken)) if (
                value is node and key is not None
            ):
                if type(taken) is not type(key) or (isinstance(taken, int) and taken < 0):
                    return True
                if taken != key:
                    return False
                node = parent
            case _:
                return True
    return True


def _site(
    uses: Mapping[Cases, Sequence[ast.Name]],
    failing: Iterable[Found],
    changes: Sequence[tuple[Edit, ...]],
    *,
    telling: bool,
) -> Site:
    users = [*failing]
    source = users[0].expectation.reached.source
    # A test may compare with it more than once.
    statements = [statement_at(source, load) for loads in uses.values() for load in loads]
    return Site(
        cases=tuple(key for cases in uses for key in cases),
        source=source.name,
        statements=tuple(dict.fromkeys([*statements, *map(statement_of, users)])),
        changes=tuple(changes),
        certain=True,
        telling=telling,
        blind=any(user.expectation.blind for user in users),
        shared=True,
    )
