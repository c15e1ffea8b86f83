"""Twins of suites: the same tests with a secret part of their expectations changed.

A pass in a process that tests and submission share counts only if the changed tests fail: code that
passes all of them has fooled the tests. See docs/twins.md.

    find_sites     the sites of a suite, at which an expectation can be changed; once per suite
    confirmable    the cases that have a site
    Lineup         changes some sites of a suite in each run, in a secret order
    with_strict_comparisons  a suite in which nothing equals everything
    propose        changes that count only if the suite's reference fails them
    keys_of        the cases that the ids of a run mean
    settled_ids    the ids that cases have in the suite as it is
"""

from grader.twins.cases import CaseKey, keys_of, settled_ids
from grader.twins.lineup import Lineup, Twin
from grader.twins.proposals import Proposal, propose
from grader.twins.site import Site, Statement
from grader.twins.sites import find_sites
from grader.twins.strict import with_strict_comparisons
from grader.twins.units import Pick, Unit, confirmable

__all__ = [
    "CaseKey",
    "Lineup",
    "Pick",
    "Proposal",
    "Site",
    "Statement",
    "Twin",
    "Unit",
    "confirmable",
    "find_sites",
    "keys_of",
    "propose",
    "settled_ids",
    "with_strict_comparisons",
]
