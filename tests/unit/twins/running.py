"""Runs small suites in this process; their sources are in the tests."""

import sys
import types
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest

from grader.model import PytestTests, ScriptCase, ScriptTests, SuiteFile
from grader.twins import Lineup, Pick, Site, find_sites, keys_of


def seeded(seed: int) -> Random:
    """Return a random generator that gives the same secrets in every run."""
    return Random(seed)  # noqa: S311


def script(*cases: str, setup: str = "") -> ScriptTests:
    """Return a script with cases numbered from 0."""
    numbered = tuple(ScriptCase(id=str(n), source=source) for n, source in enumerate(cases))
    return ScriptTests(cases=numbered, setup=setup)


def module(source: str) -> PytestTests:
    """Return a suite of one module."""
    file = SuiteFile(path="test_it.py", content=source.encode())
    return PytestTests(files=(file,), test_paths=("test_it.py",))


def passed_cases(tests: object, code: str = "") -> set[str]:
    """Return the ids of the cases of a script that pass; each has a namespace of its own."""
    assert isinstance(tests, ScriptTests)
    passed = set()
    for case in tests.cases:
        namespace: dict[str, object] = {}
        exec(code, namespace)  # noqa: S102
        exec(tests.setup, namespace)  # noqa: S102
        try:
            exec(case.source, namespace)  # noqa: S102
        except (Exception, SystemExit, pytest.fail.Exception):  # noqa: BLE001, S112 - whatever ends a case fails it
            continue
        passed.add(case.id)
    return passed


def passed_tests(tests: object, code: str = "") -> set[str]:
    """Return the ids of the methods of a module's test classes that pass."""
    assert isinstance(tests, PytestTests)
    solution = types.ModuleType("solution")
    exec(code, solution.__dict__)  # noqa: S102
    before = sys.modules.get("solution")
    sys.modules["solution"] = solution
    try:
        namespace: dict[str, object] = {"__name__": "test_it"}
        exec(tests.files[0].content, namespace)  # noqa: S102
    finally:
        if before is None:
            del sys.modules["solution"]
        else:
            sys.modules["solution"] = before
    passed = set()
    for name, cls in namespace.items():
        if isinstance(cls, type) and issubclass(cls, unittest.TestCase):
            for method in unittest.defaultTestLoader.getTestCaseNames(cls):
                result = cls(method).run()
                if result is not None and result.wasSuccessful():
                    passed.add(f"test_it.py::{name}::{method}")
    return passed


@dataclass(frozen=True)
class Changed:
    """A twin with what was changed in it, by the ids of the cases in the original."""

    tests: ScriptTests | PytestTests
    changed: Mapping[str, Pick]


def make_twins(
    tests: ScriptTests | PytestTests,
    passed: Sequence[str],
    rng: Random,
    *,
    collected: Sequence[str] | None = None,
    sites: Sequence[Site] | None = None,
) -> tuple[Changed, Changed]:
    """Return two twins of a line-up. If all cases change together, they are changed in both."""
    lineup = Lineup(tests, find_sites(tests) if sites is None else sites, rng)
    keys = keys_of(passed if collected is None else collected)
    wanted = [keys[id] for id in passed]
    twins = [
        Changed(twin.tests, {id: pick for id in passed if (pick := twin.pick(keys[id]))})
        for twin in lineup.twins(wanted)
    ]
    if sum(any(unit.has(key) for key in wanted) for unit in lineup.units) == 1:
        twins = [twin for twin in twins if twin.changed]
    one, other = (twins * 2)[:2]
    return one, other
