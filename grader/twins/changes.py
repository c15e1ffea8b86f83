"""Replacements for the literals of an expectation."""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from random import Random

from grader.twins.decoys import Pool, decoys, parsed, starts_from, steps_from
from grader.twins.found import Found
from grader.twins.literals import Place
from grader.twins.mentions import Mentions
from grader.twins.names import Names
from grader.twins.source import Edit, SuiteSource, edited
from grader.twins.values import Tolerance, Values, apart

_LEAVES_A_SITE = 4
_TRIES = 24
_CLOSE = 2
"""How close values are that are used only if there are no others."""
_ENOUGH_OTHERS = 5
_JOINT_CHANGES = 8
_JOINT_TRIES = 24
_JOINT_LEAVES = 60
"""Share of an expectation's literals that change together.

Not all change: code that knows a few of the literals must not be able to rely on their change.
"""


def literal_changes(
    found: Found, pool: Pool, rng: Random, most: int, *, certain: bool
) -> Iterator[tuple[SuiteSource, list[tuple[Edit, ...]], bool]]:
    """Yield literals, each as its source, its changes, and whether the test's name mentions it.

    Args:
        found: The expectation.
        pool: The literals that the suite expects.
        rng: Decides on the changes.
        most: The most changes of one literal.
        certain: Whether a change must certainly make the expected value another one.
    """
    expectation = found.expectation
    expected = expectation.expected
    if expected is None:
        return
    leaves, is_single = _own_leaves(found, expected)
    if len(leaves) > _LEAVES_A_SITE:
        leaves = rng.sample(leaves, _LEAVES_A_SITE)
    env = expectation.reached.env
    before = Values(found.names, env).of(expected)
    mentions = Mentions(expectation.reached.source, expectation.reached.node)
    for source, leaf in leaves:
        start, end = source.span(leaf)
        text = source.text(start, end)
        changes: list[tuple[Edit, ...]] = []
        likely: list[bool] = []
        here = pool if leaf is expected else pool.near(_literals_near(found, leaf))
        tried: set[str] = set()
        for other in islice(decoys(leaf, text, here, rng), _TRIES):
            tree = None if other in tried else parsed(other)
            tried.add(other)
            if tree is None or _lines(other) != _lines(text):
                continue
            after = Values(found.names, env, {leaf: tree}).of(expected)
            if apart(before, after, expectation.tolerance) or (
                not certain and _may_differ(leaf, tree, expectation.tolerance, found.names)
            ):
                edit = Edit(start=start, end=end, text=other)
                changes.append(
                    _with_mentions(found, mentions, source, (edit,), leaf if is_single else None)
                )
                likely.append(_is_sorted(after) or not _is_sorted(before))
            if sum(likely) == most:
                break
        if any(likely):
            changes = [change for change, keeps in zip(changes, likely, strict=True) if keeps]
        if changes:
            yield source, changes[:most], mentions.names(text)


def _own_leaves(found: Found, expected: ast.expr) -> tuple[list[Place], bool]:
    """Return the literals that no other case depends on, and whether the expectation has just one.

    A literal that is also in what is asked is left out, since both sides would change. So is one
    that is used together with literals of a row, as in `max(wanted, 3)`: it may make no difference
    in another row.
    """
    leaves = list(dict.fromkeys(islice(found.reader.leaves(expected), 2000)))
    asked = _asked(found)
    own = [place for place in leaves if place[1] not in asked and _owns(found, *place)]
    of_row = [place for place in own if _is_in_row(found, *place)]
    return of_row or own, len(leaves) == 1


def _is_in_row(found: Found, source: SuiteSource, leaf: ast.expr) -> bool:
    """Tell whether a literal is a parameter of its case, or in one."""
    if found.row_span is None:
        return False
    start, end = source.span(leaf)
    return found.row_span[0] <= start and end <= found.row_span[1]


def _asked(found: Found) -> set[ast.AST]:
    """Return the nodes of what is compared with an expected value, and of the variables in it."""
    seen: set[ast.AST] = set()
    asked = found.expectation.asked
    pending = [] if asked is None else [(asked, found.expectation.reached.env)]
    while pending:
        root, env = pending.pop()
        nodes = list(ast.walk(root))
        seen.update(nodes)
        parts = {n.value for n in nodes if isinstance(n, ast.Subscript)}  # of a row, for example
        for node in nodes:
            if isinstance(node, ast.Name) and node not in parts:
                bound = env.get(node.id)
                if bound is not None and bound.node not in seen:
                    pending.append((bound.node, bound.env))
    return seen


def _owns(found: Found, source: SuiteSource, leaf: ast.expr) -> bool:
    """Tell whether no other case depends on a literal."""
    start, end = source.span(leaf)
    return found.owns(source, [Edit(start=start, end=end, text="")])


def _with_mentions(
    found: Found,
    mentions: Mentions,
    source: SuiteSource,
    edits: tuple[Edit, ...],
    leaf: ast.expr | None,
) -> tuple[Edit, ...]:
    """Add the edits by which the surroundings of an expectation agree with its change.

    Args:
        found: The expectation.
        mentions: Its surroundings.
        source: The source that is edited.
        edits: The change of literals of the expectation.
        leaf: The changed literal, if the expectation has no other.
    """
    expected = found.expectation.expected
    if source is not mentions.source or expected is None:
        return edits
    if leaf is not None:
        start, end = edits[0].start, edits[0].end
    elif source.holds(expected):
        start, end = source.span(expected)
    else:
        return edits
    if any(edit.start < start or end < edit.end for edit in edits):
        return edits
    inside = (replace(edit, start=edit.start - start, end=edit.end - start) for edit in edits)
    old = source.text(start, end)
    new = edited(source.content[start:end], inside).decode()
    more = mentions.edits(old, new)
    if leaf is not None:
        more += mentions.row_id(leaf, old, new)
    more += [edit for edit in mentions.printed(old, new) if found.owns(source, [edit])]
    return (*edits, *(edit for edit in more if edit.end <= start or end <= edit.start))


def _literals_near(found: Found, leaf: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Yield the literals of an expectation, and of what it asks, except `leaf`."""
    reached = found.expectation.reached
    asked = found.expectation.asked
    if isinstance(asked, ast.Name) and asked.id in reached.env:
        asked = reached.env[asked.id].node
    for whole in (asked, found.expectation.expected):
        nodes = islice(ast.walk(whole), 200) if whole is not None else ()
        for node in nodes:
            if isinstance(node, ast.Constant) and node is not leaf and reached.source.holds(node):
                yield node, reached.source.text_of(node)


def _is_sorted(value: object) -> bool:
    """Tell whether a value is a sorted list, which a reader may notice."""
    if not isinstance(value, list) or len(value) < 3:
        return False
    with suppress(TypeError):
        return bool(value == sorted(value))
    return False


def _may_differ(leaf: ast.expr, other: ast.expr, tolerance: Tolerance, names: Names) -> bool:
    """Tell whether two literals differ by themselves, whatever the expression around them does."""
    if isinstance(leaf, ast.Name | ast.Attribute):
        return ast.dump(leaf) != ast.dump(other)
    values = Values(names)
    return apart(values.of(leaf), values.of(other), tolerance)


def joint_changes(
    found: Found, pool: Pool, rng: Random
) -> Iterator[tuple[SuiteSource, list[tuple[Edit, ...]], bool]]:
    """Yield sources with changes of most literals of an expectation together.

    There are none if the objects that a test makes may honestly equal what a change expects.
    """
    expectation = found.expectation
    if expectation.expected is None or found.tests_equality:
        return
    env = expectation.reached.env
    values = Values(found.names, env)
    before = values.of(expectation.expected)
    known, is_single = _own_leaves(found, expectation.expected)
    mentions = Mentions(expectation.reached.source, expectation.reached.node)
    by_source: dict[SuiteSource, dict[ast.expr, list[tuple[Edit, ast.expr]]]] = {}
    for source, leaf in rng.sample(known, min(len(known), _JOINT_LEAVES)):
        others = _joint_others(found, source, leaf, pool, rng)
        if others:
            by_source.setdefault(source, {})[leaf] = others
    for source, others_of in by_source.items():
        changes: dict[tuple[Edit, ...], None] = {}
        for picked in _combinations(others_of, rng):
            trees: dict[ast.AST, ast.expr] = {leaf: tree for leaf, (_, tree) in picked.items()}
            after = Values(found.names, env, trees).of(expectation.expected)
            if apart(before, after, expectation.tolerance):
                edits = tuple(edit for edit, _ in picked.values())
                only = next(iter(picked)) if is_single else None
                changes[_with_mentions(found, mentions, source, edits, only)] = None
            if len(changes) == _JOINT_CHANGES:
                break
        if changes:
            yield source, [*changes], False


def _combinations(
    known: Mapping[ast.expr, Sequence[tuple[Edit, ast.expr]]], rng: Random
) -> Iterator[dict[ast.expr, tuple[Edit, ast.expr]]]:
    """Yield changes of most of the literals, each time chosen at random."""
    if len(known) == 1:
        ((leaf, others),) = known.items()
        yield from ({leaf: other} for other in rng.sample(others, len(others)))
        return
    leaves = [*known]
    for _ in range(_JOINT_TRIES):
        # Always more than half, since an equality may leave out a few of them.
        changed = rng.sample(leaves, rng.randint(len(leaves) // 2 + 1, len(leaves)))
        yield {leaf: rng.choice(known[leaf]) for leaf in changed}


def _joint_others(
    found: Found, source: SuiteSource, leaf: ast.expr, pool: Pool, rng: Random
) -> list[tuple[Edit, ast.expr]]:
    """Return the edits that may replace a literal if others change, too, with their trees."""
    start, end = source.span(leaf)
    text = source.text(start, end)
    values = Values(found.names, found.expectation.reached.env)
    before = values.of(leaf)
    others: dict[int, list[tuple[Edit, ast.expr]]] = {}
    texts = list(islice(decoys(leaf, text, pool, rng), _TRIES))
    if type(before) is int:
        texts += steps_from(before, text)
    if type(before) is str:
        texts += starts_from(text, rng)
    for other in dict.fromkeys(texts):
        tree = parsed(other)
        edit = Edit(start=start, end=end, text=other)
        if tree is None or _lines(other) != _lines(text):
            continue
        after = values.of(tree)
        if apart(before, after, found.expectation.tolerance):
            others.setdefault(_closeness(before, after), []).append((edit, tree))
    chosen: list[tuple[Edit, ast.expr]] = []
    for closeness in sorted(others):
        if len(chosen) < (1 if closeness == _CLOSE else _ENOUGH_OTHERS):
            chosen += others[closeness]
    return chosen


def _closeness(one: object, other: object) -> int:
    """Return how likely an equality is that ignores the difference of two values, from 0 on.

    Integers should differ by more than half and by a number without factors up to 7, the other
    being nearer to 0, since a class may saturate. Texts should differ in letters, and as early as
    in the first.
    """
    match one, other:
        case int(), int():
            difference = abs(one - other)
            if math.gcd(difference, 2 * 3 * 5 * 7) != 1 or 2 * difference <= abs(one):
                return _CLOSE
            return 0 if one == 0 < other or 0 <= other * (1 if one > 0 else -1) < abs(one) else 1
        case str(), str():
            if _letters(one) == _letters(other):
                return _CLOSE
            return 1 if _letters(one)[:1] == _letters(other)[:1] else 0
        case _:
            return 0


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _lines(text: str) -> int:
    return text.count("\n") + text.count("\r")
