"""Makes suites with a secret, random part of their expectations changed."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from grader.model import PytestTests, ScriptTests, SuiteFile
from grader.source.pytest_tests import base_id
from grader.twins.found import CaseKey
from grader.twins.sites import Site, find_sites, joint_sites, sites_of
from grader.twins.source import Edit, edited
from grader.twins.tests import SETUP


@dataclass(frozen=True, slots=True)
class Pick:
    """A site with the change that was chosen for it."""

    site: Site
    change: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A suite with some expectations changed."""

    tests: ScriptTests | PytestTests
    changed: Mapping[str, Pick]
    """The changed cases, which a right program must fail, by their ids in the original suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Changes that a right program may not fail, one for each case."""

    twin: Twin
    """The suite with all of these changes."""
    sites: Mapping[str, Site]
    """The sites, each with one change, by the id of the case."""

    def approved(self, failed: Collection[str]) -> tuple[Site, ...]:
        """Return the sites that the suite's reference failed.

        Args:
            failed: The cases that the reference passes in the original and fails in the changed
                suite, by their ids in the original. Pass none if the run did not end in order,
                since then all cases fail.
        """
        return tuple(site for id, site in self.sites.items() if id in set(failed))


def propose(tests: ScriptTests | PytestTests, collected: Sequence[str], rng: Random) -> Proposal:
    """Propose a change for each case that has no certain change, or only telling ones.

    Args:
        tests: The suite.
        collected: Ids of all its cases, in order.
        rng: The source of the secret.
    """
    known = {key for site in find_sites(tests) if not site.telling for key in site.cases}
    keys = _keys(collected)
    found: dict[CaseKey, list[Site]] = {}
    with suppress(RecursionError):
        for site in sites_of(tests, rng, everything=True):
            if len(site.cases) == 1:
                found.setdefault(site.cases[0], []).append(site)
    picks: dict[str, Pick] = {}
    for id, key in keys.items():
        if key in found and not {key, CaseKey(key.base)} & known:
            site = rng.choice(found[key])
            change = rng.choice(site.changes)
            picks[id] = Pick(replace(site, changes=(change,)), change)
    twin = _twin(tests, [*picks.values()], keys, set(collected))
    return Proposal(twin=twin, sites={id: pick.site for id, pick in picks.items()})


def confirmable(tests: ScriptTests | PytestTests, cases: Collection[str]) -> frozenset[str]:
    """Return those of the given cases that have an expectation that can be changed.

    The ids of a test with parameters do not say which case has which parameters. So either all of
    its cases are returned or none.
    """
    known = {key for site in find_sites(tests) for key in site.cases}
    keys = _keys(cases)
    rows = {(key.base, key.rows): 0 for key in known}
    for key in known:
        rows[key.base, key.rows] += 1
    return frozenset(
        id
        for id, key in keys.items()
        if CaseKey(key.base) in known
        or (key.rows is not None and rows.get((key.base, key.rows)) == key.rows)
    )


def make_twins(
    tests: ScriptTests | PytestTests,
    passed: Collection[str],
    rng: Random,
    *,
    collected: Sequence[str] | None = None,
    sites: Sequence[Site] | None = None,
    last: bool = False,
) -> tuple[Twin, Twin]:
    """Return two suites; each confirmable case is changed in one of them, chosen at random.

    If there is only one case, or all cases can only be changed together, they are changed in both
    suites, in different ways if possible.

    Args:
        tests: The suite.
        passed: Ids of the cases to change.
        rng: The source of the secret; `random.SystemRandom()` outside of tests.
        collected: Ids of all cases of the suite in order, which says which case has which
            parameters; by default `passed`.
        sites: The sites to choose from: by default those of `find_sites`. The caller may add
            those that the suite's reference has approved; see `propose`.
        last: Whether to change the last expectation of each case, instead of a random one. A test
            ends at its first failure, so a change of an early expectation may affect other cases.
            But code that is wrong early and right at the end is only found by changing any.
    """
    found = find_sites(tests) if sites is None else sites
    keys = _keys(passed if collected is None else collected)
    wanted = {id: key for id, key in keys.items() if id in set(passed)}
    groups = _groups(wanted, keys, found, rng)
    picked: tuple[list[Pick], list[Pick]] = ([], [])
    if len(groups) == 1:
        (group,) = groups
        first = group.pick(rng, last=last)
        picked = [first], [group.pick(rng, last=last, but=first)]
    else:
        for group in groups:
            picked[rng.randrange(2)].append(group.pick(rng, last=last))
    one, other = (_twin(tests, picks, keys, set(passed)) for picks in picked)
    return one, other


def sites_to_doubt(
    tests: ScriptTests | PytestTests,
    collected: Sequence[str],
    believed: Mapping[str, Pick],
    rng: Random,
) -> list[Site]:
    """Return the sites for a second look at cases that passed although they were changed.

    They change the same statements again, most of what each expects at once. An honest program
    whose own equality ignores what was changed before fails these changes.

    Args:
        tests: The suite.
        collected: Ids of all its cases, in order.
        believed: What was changed in the cases that passed, by their ids in the original.
        rng: The source of the secret.
    """
    keys = _keys(collected)
    doubted = [keys[id] for id in believed]
    statements = {pick.site.statement for pick in believed.values()}
    known = {(pick.site.source, pick.change) for pick in believed.values()}
    found = []
    for site in joint_sites(tests, statements, rng):
        changes = tuple(c for c in site.changes if (site.source, c) not in known)
        if changes and any(_touches(site, key) for key in doubted):
            found.append(replace(site, changes=changes))
    return found


def pair_cases(original: Sequence[str], changed: Sequence[str]) -> dict[str, str]:
    """Return the ids of cases in the original suite by their ids in a changed one.

    pytest's ids have parameters in them, so changing a parameter may change an id. The order of a
    test's cases stays the same. Cases without a partner are left out.
    """
    by_key = {key: id for id, key in _keys(original).items()}
    pairs = {id: by_key.get(key) for id, key in _keys(changed).items()}
    return {id: partner for id, partner in pairs.items() if partner is not None}


def _keys(ids: Collection[str]) -> dict[str, CaseKey]:
    """Return the case that each id means: the test and the row of its parameters."""
    bases = [(id, base_id(id)) for id in ids]
    counts = Counter(base for id, base in bases if base != id)
    seen: Counter[str] = Counter()
    keys = {}
    for id, base in bases:
        if base == id:
            keys[id] = CaseKey(id)
        else:
            keys[id] = CaseKey(base, seen[base], counts[base])
            seen[base] += 1
    return keys


@dataclass(frozen=True, slots=True)
class _Group:
    """Sites that change the same cases."""

    sites: tuple[Site, ...]

    def pick(self, rng: Random, *, last: bool, but: Pick | None = None) -> Pick:
        """Choose a site and a change, if possible other than `but`."""
        latest = max(site.order for site in self.sites)
        sites = [site for site in self.sites if site.order == latest] if last else self.sites
        every = [Pick(site, change) for site in sites for change in site.changes]
        others = [pick for pick in every if pick != but]
        elsewhere = [pick for pick in others if but is not None and pick.site != but.site]
        return rng.choice(elsewhere or others or every)


def _groups(
    wanted: Mapping[str, CaseKey], keys: Mapping[str, CaseKey], sites: Sequence[Site], rng: Random
) -> list[_Group]:
    """Return groups of sites that have no case in common and cover all cases with sites."""
    sites_of: dict[CaseKey, list[Site]] = {}
    for site in sites:
        for key in site.cases:
            sites_of.setdefault(key, []).append(site)
    groups: list[_Group] = []
    done: set[CaseKey] = set()
    order = [*wanted.values()]
    rng.shuffle(order)
    # Sites of several cases come first, since their changes affect all of these cases.
    for key in order:
        own = _alone(sites_of.get(key, []), key)
        wide = sites_of.get(CaseKey(key.base), []) if not own else []
        wide = wide or ([] if own else sites_of.get(key, []))
        if own or not wide or key in done:
            continue
        site = rng.choice(wide)
        same = tuple(s for s in wide if s.cases == site.cases)
        affected = {key for key in keys.values() if _touches(site, key)}
        if affected & done:
            continue
        done |= affected
        groups.append(_Group(same))
    for key in order:
        own = _alone(sites_of.get(key, []), key)
        if own and key not in done:
            done.add(key)
            groups.append(_Group(tuple(own)))
    return groups


def _alone(sites: Sequence[Site], key: CaseKey) -> list[Site]:
    """Return the sites of one case alone, without telling ones if there are others."""
    own = [site for site in sites if site.cases == (key,)]
    return [site for site in own if not site.telling] or own


def _touches(site: Site, key: CaseKey) -> bool:
    return key in site.cases or CaseKey(key.base) in site.cases


def _twin(
    tests: ScriptTests | PytestTests,
    picks: Sequence[Pick],
    keys: Mapping[str, CaseKey],
    passed: set[str],
) -> Twin:
    edits: dict[str, list[Edit]] = {}
    changed: dict[str, Pick] = {}
    for pick in picks:
        site = pick.site
        edits.setdefault(site.source, []).extend(pick.change)
        changed |= {id: pick for id, key in keys.items() if id in passed and _touches(site, key)}
    return Twin(tests=rewritten(tests, edits), changed=changed)


def rewritten(
    tests: ScriptTests | PytestTests, edits: Mapping[str, Sequence[Edit]]
) -> ScriptTests | PytestTests:
    """Return a suite with edits made in its sources, by name."""
    if isinstance(tests, ScriptTests):
        cases = tuple(
            replace(case, source=edited(case.source.encode(), edits[case.id]).decode())
            if case.id in edits
            else case
            for case in tests.cases
        )
        if SETUP in edits:
            tests = replace(tests, setup=edited(tests.setup.encode(), edits[SETUP]).decode())
        return replace(tests, cases=cases)
    files = tuple(
        SuiteFile(path=file.path, content=edited(file.content, edits[file.path]))
        if file.path in edits
        else file
        for file in tests.files
    )
    return replace(tests, files=files)
