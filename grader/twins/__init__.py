"""Twins of suites: the same tests with a secret part of their expectations changed.

A pass in the submission's own process is believed only where the changed tests fail: code that
passes them all has fooled the tests. See docs/twins.md.

    find_sites     where a suite's expectations can be changed; once per suite
    confirmable    which cases have such a place
    make_twins     two changed suites that share out the cases between them
    sites_to_doubt where to change cases that passed as they were changed
    propose        changes that the suite's reference has to fail before they count
    pair_cases     the cases of a changed suite by those of the original
"""

from grader.twins.found import Where
from grader.twins.make import (
    Pick,
    Proposal,
    Twin,
    confirmable,
    make_twins,
    pair_cases,
    propose,
    sites_to_doubt,
)
from grader.twins.sites import Site, Statement, find_sites

__all__ = [
    "Pick",
    "Proposal",
    "Site",
    "Statement",
    "Twin",
    "Where",
    "confirmable",
    "find_sites",
    "make_twins",
    "pair_cases",
    "propose",
    "sites_to_doubt",
]
