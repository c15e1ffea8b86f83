"""Finds the sites of a suite: expectations that can be changed so that a right program fails."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from random import Random, SystemRandom

from grader.model import PytestTests, ScriptTests
from grader.twins.cases import CaseKey
from grader.twins.changes import joint_changes, literal_changes
from grader.twins.decoys import Pool, pool_of
from grader.twins.exceptions import other_exceptions
from grader.twins.found import Found
from grader.twins.literals import named_expression
from grader.twins.mentions import function_around
from grader.twins.shared import shared_sites
from grader.twins.site import Site, least_flawed, statements_between
from grader.twins.source import Edit, SuiteSource
from grader.twins.tests import find_expectations
from grader.twins.values import Values

_SITES_A_CASE = 12
_CHANGES = 2
"""The most changes of one literal."""
_CHANGES_OF_FEW = 5
"""The same for a suite of few cases, since each of them needs more wrong values."""
_FEW_CASES = 2


@lru_cache(maxsize=512)
def find_sites(tests: ScriptTests | PytestTests, *, joint: bool = False) -> tuple[Site, ...]:
    """Return the sites of a suite, each with randomly chosen changes.

    Args:
        tests: The suite.
        joint: Whether a change replaces most of the literals of an expectation, and not just one.
            If an object's own equality ignores something, such as a field or multiples of a number,
            it may ignore a change of one literal, but hardly that of most of them. On the other
            hand, code that knows a part of what is expected can tell that it was changed.
    """
    rng = Random(SystemRandom().getrandbits(64))  # noqa: S311 - seeded from the system
    try:
        return tuple(sites_of(tests, rng, joint=joint))
    except RecursionError:
        return ()  # code that is nested so deeply is not read


def sites_of(
    tests: ScriptTests | PytestTests,
    rng: Random,
    *,
    everything: bool = False,
    joint: bool = False,
) -> Iterator[Site]:
    """Yield the sites of a suite, with changes drawn from `rng`.

    Args:
        tests: The suite.
        rng: Decides which changes are listed.
        everything: Whether to yield sites for which it is not certain that a right program fails,
            in place of certain ones.
        joint: As in `find_sites`.
    """
    found = list(find_expectations(tests, everything=everything))
    pool = pool_of(_expected(found), _exceptions(found))
    most = _CHANGES_OF_FEW if len({each.cases for each in found}) <= _FEW_CASES else _CHANGES
    maker = _SiteMaker(
        pool=pool,
        asked=_answers(found),
        rows=_rows(found),
        rng=rng,
        certain=not everything,
        joint=joint,
        most=most,
    )
    made = [(each, [*maker.sites(each)]) for each in found]
    sites: list[Site] = []
    if not everything:
        sites += shared_sites(found, pool, rng, most, joint=joint)
    by_case: dict[tuple[CaseKey, ...], list[Site]] = {}
    for each, own in rng.sample(made, len(made)):
        usable = (site for site in own if not (everything and site.telling))
        by_case.setdefault(each.cases, []).extend(usable)
    for of_case in by_case.values():
        sites += least_flawed(of_case)[:_SITES_A_CASE]
    blind = {
        key.base
        for each, own in made
        if _is_blind(each, own) or (joint and _rests_on_equality(each, own))
        for key in each.cases
    }
    different: dict[object, Site] = {}
    for site in sites:
        different.setdefault((site.source, site.changes, site.cases), site)
    for site in different.values():
        yield replace(site, has_blind=any(key.base in blind for key in site.cases))


def _is_blind(found: Found, sites: Sequence[Site]) -> bool:
    """Tell whether no change of an expectation shows each wrong value that may meet it."""
    if not sites:
        return found.expectation.is_blind
    computed = found.expectation.replaceable
    return all(site.blind or (site.computed and computed) for site in sites)


def _rests_on_equality(found: Found, sites: Sequence[Site]) -> bool:
    """Tell whether a value is only compared with others of another type.

    An equality of the submission's own may refuse these, and hold for each object of its class.
    """
    turns = frozenset(found.expectation.turns)
    return all(turns.issuperset(site.changes) for site in sites) and any(
        isinstance(node, ast.Eq) or (isinstance(node, ast.Attribute) and "Equal" in node.attr)
        for node in ast.walk(found.expectation.reached.node)
    )


def _expected(found: Iterable[Found]) -> Iterator[tuple[ast.expr, str]]:
    """Yield the literals that are expected, whole and in parts, as written."""
    for each in found:
        expected = each.expectation.expected
        if expected is not None:
            for source, leaf in islice(each.reader.leaves(expected), 50):
                yield leaf, source.text_of(leaf)
            if each.expectation.reached.source.holds(expected):
                yield expected, each.expectation.reached.source.text_of(expected)


def _exceptions(found: Iterable[Found]) -> Iterator[str]:
    """Yield the names of the exceptions that are expected."""
    for each in found:
        if each.expectation.exceptions is not None:
            place = named_expression(each.expectation.exceptions)
            if place is not None:
                yield from (n.id for n in ast.walk(place[1]) if isinstance(n, ast.Name))


def _rows(found: Iterable[Found]) -> dict[tuple[ast.AST, tuple[CaseKey, ...]], set[int | None]]:
    """Return the rows in which each expectation of a parametrised test is evaluated."""
    rows: dict[tuple[ast.AST, tuple[CaseKey, ...]], set[int | None]] = {}
    for each in found:
        if not each.expectation.reached.passed_over:
            place = each.expectation.reached.node, each.all_rows
            rows.setdefault(place, set()).add(each.cases[0].row)
    return rows


def _answers(found: Iterable[Found]) -> dict[str, int]:
    """Count how often the suite asks each question."""
    counts: dict[str, int] = {}
    for each in found:
        if key := _question(each):
            counts[key] = counts.get(key, 0) + 1
    return counts


def _question(found: Found) -> str:
    """Return the call that an expectation is about, as text; "" if its arguments are unknown."""
    asked: ast.expr | None = found.expectation.asked
    env = found.expectation.reached.env
    if isinstance(asked, ast.Name) and (bound := env.get(asked.id)) is not None:
        asked, env = bound.node, bound.env
    if not isinstance(asked, ast.Call):
        return ""
    values = Values(found.names, env)
    arguments = [*asked.args, *(k.value for k in asked.keywords)]
    if not all(map(values.is_known, arguments)) or _is_of_object(asked.func):
        return ""
    return f"{ast.dump(asked.func)} {[values.of(argument) for argument in arguments]!r}"


def _is_of_object(function: ast.expr) -> bool:
    """Tell whether a called function is a method of an object, whose state may have changed."""
    match function:
        case ast.Attribute(value=ast.Call(func=inner)):
            return _is_of_object(inner)
        case ast.Attribute(value=ast.Name(id=name)):
            return not name[:1].isupper()
        case _:
            return not isinstance(function, ast.Name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SiteMaker:
    """Makes the sites of expectations."""

    pool: Pool
    asked: Mapping[str, int]
    rows: Mapping[tuple[ast.AST, tuple[CaseKey, ...]], set[int | None]]
    rng: Random
    certain: bool
    joint: bool
    most: int
    """The most changes of one literal."""

    def sites(self, found: Found) -> Iterator[Site]:
        """Yield the sites of one expectation."""
        expectation, rng = found.expectation, self.rng
        # If the same call has two expected values, a reader knows that one of them is wrong.
        telling = self.asked.get(_question(found), 0) > 1
        if self.joint:
            changed = joint_changes(found, self.pool, rng)
        else:
            changed = literal_changes(found, self.pool, rng, self.most, certain=self.certain)
        literal = [
            site
            for place, changes, named in changed
            for site in self._site(
                found, place, changes, telling=telling or named, blind=expectation.blind
            )
        ]
        yield from literal
        if expectation.exceptions is not None:
            place = named_expression(expectation.exceptions)
            if place is not None:
                wanted = [] if self.joint else self.pool.like("exception", rng, 50)
                others, likely = other_exceptions(place[1], found.names, wanted, rng)
                start, end = place[0].span(place[1])
                again = _again(found, *place)
                swaps = [
                    tuple(Edit(start=a, end=b, text=text) for a, b in [(start, end), *again])
                    for text in others
                ]
                yield from self._site(
                    found,
                    place[0],
                    swaps,
                    telling=not likely,
                    blind=expectation.blind,
                    elsewhere=True,
                )
        # An object of a loose class may honestly equal another value that is computed.
        may_hold = self.joint and expectation.computed and found.tests_equality
        denial = expectation.denial if self.joint else ()
        if expectation.turns and not literal and not may_hold:
            turns = denial or rng.sample(expectation.turns, len(expectation.turns))
            yield from self._site(
                found,
                expectation.reached.source,
                turns,
                telling=telling or expectation.telling,
                blind=expectation.blind or expectation.opposite or bool(denial),
                computed=expectation.computed,
            )

    def _site(
        self,
        found: Found,
        source: SuiteSource,
        changes: Sequence[tuple[Edit, ...]],
        *,
        telling: bool,
        blind: bool = False,
        computed: bool = False,
        elsewhere: bool = False,
    ) -> Iterator[Site]:
        """Yield a site with those changes that affect no other cases than the known ones."""
        usable = [change for change in changes if found.owns(source, change)]
        if not usable:
            return
        cases = found.cases
        if found.row_span is not None:
            start, end = found.row_span
            # For a change of one row, what all rows share, such as the docstring, stays as it is.
            within = [tuple(e for e in c if start <= e.start and e.end <= end) for c in usable]
            if all(within):
                usable = within
            elif self.certain and not self._is_in_all_rows(found):
                return
            else:
                cases = found.all_rows
                usable = [each for each, own in zip(usable, within, strict=True) if each != own]
        yield Site(
            cases=cases,
            source=source.name,
            statements=(statements_between(found, source, usable),),
            changes=tuple(usable),
            certain=self.certain,
            telling=telling,
            blind=blind,
            computed=computed,
            elsewhere=elsewhere or found.expectation.reached.goes_on,
        )

    def _is_in_all_rows(self, found: Found) -> bool:
        """Tell whether each row of a parametrised test evaluates an expectation."""
        evaluated = self.rows.get((found.expectation.reached.node, found.all_rows), set())
        return len(evaluated) == found.cases[0].rows


def _again(found: Found, source: SuiteSource, node: ast.expr) -> list[tuple[int, int]]:
    """Return the spans in which a test names an exception again after it has caught it."""
    reached = found.expectation.reached
    if source is not reached.source or not isinstance(node, ast.Name):
        return []
    inside = function_around(source, node)
    if inside is None:
        return []
    _, done = source.span(source.statement(reached.node))
    spans = [
        source.span(each)
        for each in ast.walk(inside)
        if isinstance(each, ast.Name) and each.id == node.id
    ]
    return [span for span in spans if span[0] >= done]
