"""Changes of a suite that its reference must be seen to fail before they count."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.twins.cases import CaseKey
from grader.twins.lineup import Twin, make_twin
from grader.twins.site import Site
from grader.twins.sites import find_sites, sites_of
from grader.twins.units import Pick


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


def propose(tests: ScriptTests | PytestTests, rng: Random) -> Proposal:
    """Propose a change for each case that has no certain change without flaws.

    Args:
        tests: The suite.
        rng: The source of the secret.
    """
    known = {
        key for site in find_sites(tests) if not (site.blind or site.telling) for key in site.cases
    }
    found: dict[CaseKey, list[Site]] = {}
    with suppress(RecursionError):
        for site in sites_of(tests, rng, everything=True):
            if len(site.cases) == 1:
                found.setdefault(site.cases[0], []).append(site)
    picks = []
    for key, sites in found.items():
        is_known = known & {key, key.test} or (
            key.row is None and any(other.base == key.base for other in known)
        )
        if not is_known:
            site = rng.choice(sites)
            change = rng.choice(site.changes)
            picks.append(Pick(replace(site, changes=(change,)), change))
    return Proposal(
        twin=make_twin(tests, picks), sites={pick.site.cases[0]: pick.site for pick in picks}
    )
