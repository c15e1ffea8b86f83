"""Finds the expectations of a suite's cases."""

import ast
from collections import Counter
from collections.abc import Iterator

from grader.model import PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.source.pytest_tests import ExpectedTests, find_tests
from grader.source.swallowing import catches_failures
from grader.twins.cases import CaseKey
from grader.twins.expectations import ExpectationReader
from grader.twins.found import Found
from grader.twins.helpers import Helpers
from grader.twins.modules import TestModule
from grader.twins.names import Names
from grader.twins.own_modules import own_modules
from grader.twins.source import SuiteSource
from grader.twins.walk import Frame, Walk

SETUP = ""
"""The name that a script's setup has as a source."""


def find_expectations(
    tests: ScriptTests | PytestTests, *, everything: bool = False
) -> Iterator[Found]:
    """Yield the expectations that the cases of a suite certainly evaluate, in that order.

    Args:
        tests: The suite.
        everything: Whether to yield also expectations that may not be evaluated.
    """
    if isinstance(tests, ScriptTests):
        yield from _of_script(tests, everything=everything)
    else:
        yield from _of_pytest(tests, everything=everything)


# ---------------------------------------------------------------- scripts


def _of_script(tests: ScriptTests, *, everything: bool) -> Iterator[Found]:
    noted = not catches_failures(tests)
    setup = SuiteSource(SETUP, tests.setup.encode("utf-8", "surrogatepass"))
    sources = [
        SuiteSource(case.id, case.source.encode("utf-8", "surrogatepass")) for case in tests.cases
    ]
    needed = [_needed(source) for source in sources]
    counts = Counter(name for names in needed for name in names)
    of_setup, mentioned_in_setup = Names([setup]), _mentioned(setup)
    for source, own in zip(sources, needed, strict=True):
        names = Names([source], of_setup)
        elsewhere = frozenset(name for name in counts if counts[name] > (name in own))
        module = Helpers(names, [setup, source], mentioned_in_setup | elsewhere)
        walk = Walk(names, module.helper_of(None), noted=noted, everywhere=everything)
        scope = module.scope(source)
        walk.block(source.tree.body, Frame(source=source, scope=scope, env={}))
        spans = [(source.name, 0, len(source.content))]
        if len(sources) == 1:
            spans.append((SETUP, 0, len(setup.content)))
        for reached in walk.found:
            reader = ExpectationReader(names, reached, frozenset(), everything=everything)
            for expectation in reader.read():
                yield Found(
                    cases=(CaseKey(source.name),),
                    expectation=expectation,
                    names=names,
                    reader=reader,
                    own=tuple(spans),
                )


def _needed(source: SuiteSource) -> frozenset[str]:
    """Return the names that a case may read before it gives them a value itself.

    Cases of a script share a namespace, so a value that one of them gives may be for a later one.
    """
    needed: set[str] = set()
    bound: set[str] = set()
    for statement in source.tree.body:
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
            ):
                names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
                needed |= names - bound
                bound.add(target)
            case _:
                needed |= names - bound
    return frozenset(needed)


def _mentioned(source: SuiteSource) -> frozenset[str]:
    return frozenset(node.id for node in source.nodes if isinstance(node, ast.Name))


def _of_pytest(tests: PytestTests, *, everything: bool) -> Iterator[Found]:
    modules = {
        file.path: file
        for file in tests.files
        if file.path.endswith(".py") and file.path != tests.solution_path
    }
    own = own_modules(modules.values(), tests.solution_path)
    noted = not catches_failures(tests)
    try:
        expected = find_tests(tests)
    except SuiteError:
        expected = ExpectedTests(required=())  # which is refused elsewhere
    for path in tests.test_paths:
        source = SuiteSource(path, modules[path].content if path in modules else b"")
        module = TestModule(source, expected, noted=noted, everything=everything, own_modules=own)
        yield from module.read()
