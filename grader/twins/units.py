"""Chooses what is changed of a suite, and together with which cases."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.twins.cases import CaseKey, keys_of
from grader.twins.site import Site, least_flawed
from grader.twins.sites import find_sites
from grader.twins.source import Edit

_LIKELIEST = 2


@dataclass(frozen=True, slots=True)
class Pick:
    """A site with the change that was chosen for it."""

    site: Site
    change: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """Sites that change the same cases."""

    sites: tuple[Site, ...]

    @property
    def cases(self) -> frozenset[CaseKey]:
        """The cases that change together."""
        return frozenset(self.sites[0].cases)

    def has(self, key: CaseKey) -> bool:
        """Tell whether a case is one of these."""
        return key in self.cases or key.test in self.cases

    def picks(self, most: int, rng: Random) -> list[Pick]:
        """Choose different changes, of different sites as far as there are some.

        A site's first changes are the likeliest.
        """
        count = max(_LIKELIEST, -(-most // len(self.sites)))
        left = [
            [Pick(site, change) for change in rng.sample(likely, len(likely))]
            for site in rng.sample(self.sites, len(self.sites))
            for likely in [site.changes[:count]]
        ]
        picks: dict[tuple[str, tuple[Edit, ...]], Pick] = {}
        while any(left) and len(picks) < most:
            for changes in filter(None, left):
                pick = changes.pop()
                picks.setdefault((pick.site.source, pick.change), pick)
        return [*picks.values()][:most]


def find_units(sites: Sequence[Site], rng: Random) -> tuple[Unit, ...]:
    """Return units that have no case in common and cover all cases with sites."""
    sites_of: dict[CaseKey, list[Site]] = {}
    for site in _preferred(sites):
        for key in site.cases:
            sites_of.setdefault(key, []).append(site)
    keys = _single(sites_of)
    units: list[Unit] = []
    done: set[CaseKey] = set()
    rng.shuffle(keys)
    # Sites of several cases come first, since their changes affect all of these cases.
    for key in keys:
        own = _alone(sites_of.get(key, []), key)
        wide = sites_of.get(key.test, []) or sites_of.get(key, [])
        if own or key in done:
            continue
        site = rng.choice(wide)
        unit = Unit(tuple(s for s in wide if s.cases == site.cases))
        affected = {key for key in keys if unit.has(key)}
        if affected & done:
            continue
        done |= affected
        units.append(unit)
    for key in keys:
        own = _alone(sites_of.get(key, []), key)
        if own and key not in done:
            done.add(key)
            units.append(Unit(tuple(own)))
    return tuple(units)


def _preferred(sites: Sequence[Site]) -> Iterator[Site]:
    """Yield sites, except those whose cases have better ones.

    Sites without flaws are better, and so are those of one test. Of the flawed ones, those that
    change what the tests share are better.
    """
    better = [site for site in sites if not (site.blind or site.telling or site.shared)]
    good = {name for site in better for name in _names(site)}
    kept: set[tuple[CaseKey, ...]] = set()
    taken: set[CaseKey] = set()
    for site in sorted(sites, key=lambda site: -len(site.cases)):
        if site.shared and good.isdisjoint(site.cases) and taken.isdisjoint(site.cases):
            kept.add(site.cases)
            taken.update(site.cases)
    for site in sites:
        if site.cases in kept if site.shared else not taken.intersection(_names(site)):
            yield site


def _names(site: Site) -> Iterator[CaseKey]:
    for key in site.cases:
        yield from (key, key.test)


def _single(sites_of: Mapping[CaseKey, object]) -> list[CaseKey]:
    """Return the cases of a suite that have sites: each row of parameters if it has its own."""
    rows = {key.base: key.rows for key in sites_of if key.row is not None}
    keys: list[CaseKey] = []
    for base in dict.fromkeys(key.base for key in sites_of):
        count = rows.get(base)
        keys += [CaseKey(base)] if count is None else _rows(base, count)
    return [key for key in keys if key in sites_of or key.test in sites_of]


def _rows(base: str, count: int) -> list[CaseKey]:
    return [CaseKey(base, row, count) for row in range(count)]


def _alone(sites: Iterable[Site], key: CaseKey) -> list[Site]:
    """Return the sites of one case alone."""
    return least_flawed([site for site in sites if site.cases == (key,)])


def confirmable(tests: ScriptTests | PytestTests, cases: Collection[str]) -> frozenset[str]:
    """Return those of the given cases that have an expectation that can be changed.

    The ids of a test with parameters do not say which case has which parameters. So either all of
    its cases are returned or none.
    """
    known = {key for site in find_sites(tests) for key in site.cases}
    return frozenset(
        id
        for id, key in keys_of(cases).items()
        if key.test in known
        or (key.rows is not None and known.issuperset(_rows(key.base, key.rows)))
    )
