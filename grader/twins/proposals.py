"""Changes of a suite that its reference must be seen to fail before they count."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.twins.cases import CaseKey
from grader.twins.lineup import Twin, make_twin
from grader.twins.site import Site
from grader.twins.sites import find_sites, sites_of
from grader.twins.units import Pick

_MOST = 3
"""The most proposals for a suite, since each takes a run of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Changes that a right program may not fail, one for each case."""

    twin: Twin
    """The suite with all of these changes."""
    sites: Mapping[CaseKey, Site]
    """The sites, each with one change, by case."""

    def approved(self, failed: Collection[CaseKey]) -> tuple[Site, ...]:
        """Return the sites that the suite's reference failed.

        Args:
            failed: The cases that the reference passes in the original and fails in the changed
                suite. Pass none if the run did not end in order, since then all cases fail.
        """
        return tuple(site for key, site in self.sites.items() if key in failed)


def propose(tests: ScriptTests | PytestTests, rng: Random) -> tuple[Proposal, ...]:
    """Propose changes of the expectations that have no certain change without flaws.

    Each proposal has at most one change for each case.

    Args:
        tests: The suite.
        rng: The source of the secret.
    """
    known = {
        (key, place)
        for site in find_sites(tests)
        if not (site.blind or site.telling)
        for key in site.cases
        for place in _places(site)
    }
    of_rows = {(key.base, place) for key, place in known}
    found: dict[CaseKey, dict[object, list[Site]]] = {}
    with suppress(RecursionError):
        for site in sites_of(tests, rng, everything=True):
            if len(site.cases) != 1:
                continue
            (key,) = site.cases
            for place in _places(site):
                is_known = {(key, place), (key.test, place)} & known
                if not is_known and not (key.row is None and (key.base, place) in of_rows):
                    found.setdefault(key, {}).setdefault(place, []).append(site)
    chosen = {key: rng.sample([*sites.values()], len(sites)) for key, sites in found.items()}
    rounds = min(_MOST, max(map(len, chosen.values()), default=0))
    return tuple(
        _proposal(
            tests,
            [rng.choice(sites[number]) for sites in chosen.values() if number < len(sites)],
            rng,
        )
        for number in range(rounds)
    )


def _places(site: Site) -> Iterator[tuple[str, int]]:
    """Yield the places of the expectations that a site changes."""
    return ((statement.source, statement.last_line) for statement in site.statements)


def _proposal(tests: ScriptTests | PytestTests, sites: Iterable[Site], rng: Random) -> Proposal:
    picks = []
    for site in sites:
        change = rng.choice(site.changes)
        picks.append(Pick(replace(site, changes=(change,)), change))
    return Proposal(
        twin=make_twin(tests, picks), sites={pick.site.cases[0]: pick.site for pick in picks}
    )
