"""Cases of known outcome, hidden among a suite's own where the submission shares its process.

One canary must pass and one must fail. A submission that makes failing tests pass, or stops
tests from running, by reaching into the process cannot tell which cases are which, so that the
one that must fail passes too. Where the suite compares what the submission returns, that canary
compares the same with a random text, which no result equals but one that equals everything.
None of this is proof against every attack, as split judging is: only suites that cannot be
split need it.
"""

import ast
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.judging.trees import script_trees
from grader.model import CaseResult, PytestTests, ScriptCase, ScriptTests, SuiteFile
from grader.syntax import parse
from grader.verdict import Verdict

_WORDS = (
    "basic bounds chain copy default edge empty exact large lists long mixed nested order pair "
    "range repeat reverse round shape short simple single small sorted strings twice types values"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """The two cases, by id."""

    must_pass: str
    must_fail: str

    def split(
        self, cases: Sequence[CaseResult]
    ) -> tuple[tuple[CaseResult, ...], tuple[CaseResult, ...]]:
        """Return the suite's own results, and those of the canaries."""
        ids = (self.must_pass, self.must_fail)
        own = tuple(case for case in cases if case.id not in ids)
        return own, tuple(case for case in cases if case.id in ids)

    def betray(self, results: Sequence[CaseResult]) -> bool:
        """Tell whether a canary had the wrong outcome.

        A canary that was lost with the rest of its run, to a crash or a limit, says nothing:
        such a run has not passed anyway.
        """
        for case in results:
            if case.id == self.must_fail and case.verdict is Verdict.PASSED:
                return True
            if case.id == self.must_pass and case.verdict is Verdict.FAILED:
                return True
        return False


def into_script(tests: ScriptTests) -> tuple[ScriptTests, Canaries]:
    """Return a script with canaries at places that no one can foresee."""
    canaries = Canaries(must_pass=secrets.token_hex(8), must_fail=secrets.token_hex(8))
    cases = list(tests.cases)
    compared = [found for tree in script_trees(tests)[1:] for found in _compared(tree)]
    for id, holds in ((canaries.must_pass, True), (canaries.must_fail, False)):
        condition = _condition(compared, holds=holds)
        case = ScriptCase(id=id, source=f"assert {condition}")
        cases.insert(_random.randrange(len(cases) + 1), case)
    return replace(tests, cases=tuple(cases)), canaries


def into_pytest(tests: PytestTests) -> tuple[PytestTests, Canaries]:
    """Return a suite with canaries among the functions of its first test module."""
    path = tests.test_paths[0]
    files = {file.path: file for file in tests.files}
    source = files[path].content + b"\n"
    tree = parse(source)
    compared = _compared(tree)
    names = [_new_name(tree) for _ in range(2)]
    canaries = Canaries(must_pass=f"{path}::{names[0]}", must_fail=f"{path}::{names[1]}")
    lines = source.splitlines(keepends=True)
    places = [*_gaps(tree), len(lines)]
    lines.append(b"")
    for name, holds in zip(names, (True, False), strict=True):
        at = _random.choice(places)
        # Before the line itself, so that the numbers of the others stay what they were.
        condition = _condition(compared, holds=holds)
        lines[at] = f"\ndef {name}():\n    assert {condition}\n\n\n".encode() + lines[at]
    file = SuiteFile(path=path, content=b"".join(lines))
    return replace(tests, files=tuple(file if f.path == path else f for f in tests.files)), canaries


_random = random.SystemRandom()


def _condition(compared: Sequence[str], *, holds: bool) -> str:
    """Return the source of a condition whose truth is known."""
    if compared and not holds:
        return f"{_random.choice(compared)} == {secrets.token_hex(4)!r}"
    return _comparison(holds=holds)


def _compared(tree: ast.Module) -> list[str]:
    """Return the expressions that tests compare and that need nothing local to a test."""
    found = []
    local = _local_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=ast.Compare(left=ast.Call() as left, ops=[ast.Eq()])):
                pass
            case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[ast.Call() as left, _]):
                pass
            case _:
                continue
        if not local & {n.id for n in ast.walk(left) if isinstance(n, ast.Name)}:
            found.append(ast.unparse(left))
    return found


def _local_names(tree: ast.Module) -> set[str]:
    """Return every name that only exists inside some function or expression, or may."""
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return arguments | stored


def _comparison(*, holds: bool) -> str:
    """Return source that compares two numbers, as a test of a simple function would."""
    left, right = _random.randrange(2, 90), _random.randrange(2, 90)
    total = left + right + (0 if holds else _random.randrange(1, 9))
    return _random.choice(
        [
            f"sum([{left}, {right}]) == {total}",
            f"{left} + {right} == {total}",
            f"len(range({left + right})) == {total}",
            f"max({total}, 1) == {left + right}",
        ]
    )


def _new_name(tree: ast.Module) -> str:
    """Return a name for a test that the module does not have, like one that it might."""
    taken = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    while (name := "_".join(["test", *_random.sample(_WORDS, 2)])) in taken:
        pass
    return name


def _gaps(tree: ast.Module) -> list[int]:
    """Return the indices of lines before which a function can stand at the top level."""
    return [
        min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
