"""Twins of suites: the same tests with a secret part of their expectations changed.

A pass in a process that tests and submission share counts only if the changed tests fail: code that
passes all of them has fooled the tests. See docs/twins.md.

    find_sites     the sites of a suite, at which an expectation can be changed; once per suite
    confirmable    the cases that have a site
    make_twins     two changed suites; each case is changed in one of them
    sites_to_doubt the sites for a second look at cases that passed although they were changed
    propose        changes that count only if the suite's reference fails them
    pair_cases     the cases of a changed suite with those of the original
"""

from grader.twins.found import CaseKey
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
    "CaseKey",
    "Pick",
    "Proposal",
    "Site",
    "Statement",
    "Twin",
    "confirmable",
    "find_sites",
    "make_twins",
    "pair_cases",
    "propose",
    "sites_to_doubt",
]
