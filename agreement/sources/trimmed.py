"""Remove tests from a suite that plain Python does not pass here, so that the rest must pass."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from agreement.edits import Edit, Text
from agreement.pairs import Found, Judge, Outcome, Pair
from grader.model import PytestTests, SuiteFile

_ROUNDS = 4
_REASON_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trimmed:
    """A pair that passes in plain Python, or why there is none."""

    pair: Pair | None
    left_out: dict[str, str]
    """The removed tests, with plain Python's message."""
    reason: str = ""


def trim(pairs: Iterable[Pair], judge: Judge, jobs: int) -> Found:
    """Remove tests from pytest suites until plain Python passes the rest."""
    with ThreadPoolExecutor(jobs) as threads:
        trimmed = list(threads.map(lambda pair: (pair.id, _trim(pair, judge)), pairs))
    return Found(
        pairs=[each.pair for _, each in trimmed if each.pair is not None],
        left_out={id: reason for _, each in trimmed for id, reason in each.left_out.items()},
        missing={id: each.reason for id, each in trimmed if each.pair is None},
    )


def _trim(pair: Pair, judge: Judge) -> _Trimmed:
    left_out: dict[str, str] = {}
    for _round in range(_ROUNDS):
        outcome = judge(pair)
        failing = {id: _reason(outcome, id) for id, ok in outcome.cases.items() if not ok}
        if outcome.passed and not failing:
            return _Trimmed(pair=pair, left_out=left_out)
        if not failing:
            return _Trimmed(pair=None, left_out=left_out, reason=_reason(outcome, ""))
        try:
            pair = without(pair, outcome)
        except LookupError as error:
            return _Trimmed(pair=None, left_out=left_out, reason=str(error))
        left_out |= {f"{pair.id}: {id}": reason for id, reason in failing.items()}
    return _Trimmed(pair=None, left_out=left_out, reason="other tests fail in each run")


def _reason(outcome: Outcome, id: str) -> str:
    said = outcome.details.get(id) or outcome.details.get("") or outcome.verdict
    return said.strip()[:_REASON_CHARS]


Name = tuple[str, ...]
"""A test in its module: its classes and its own name; empty for the module itself."""


def without(pair: Pair, outcome: Outcome) -> Pair:
    """Return the pair without the tests that did not pass, which are named by pytest's ids.

    Raises:
        LookupError: A test cannot be found in its module, or no module is left.
    """
    tests = pair.suite.tests
    assert isinstance(tests, PytestTests)
    by_path: dict[str, dict[Name, bool]] = {}
    for id, passed in outcome.cases.items():
        path, *names = id.split("[")[0].split("::")
        in_module = by_path.setdefault(path, {})
        in_module[tuple(names)] = in_module.get(tuple(names), True) and passed
    # A module that cannot be collected is named as a whole.
    collected = tuple(path for path in tests.test_paths if () not in by_path.get(path, ()))
    if not collected:
        message = "no module can be collected"
        raise LookupError(message)
    files = tuple(
        SuiteFile(path=file.path, content=_without(file.content, by_path[file.path]))
        if file.path in collected and not all(by_path.get(file.path, {}).values())
        else file
        for file in tests.files
    )
    trimmed = replace(tests, files=files, test_paths=collected)
    return replace(pair, suite=replace(pair.suite, tests=trimmed))


def _without(content: bytes, passed: Mapping[Name, bool]) -> bytes:
    text = Text(content.decode())
    made: list[Edit] = []
    for owner in dict.fromkeys(name[:-1] for name in passed):
        hidden = sorted(name[-1] for name, ok in passed.items() if name[:-1] == owner and not ok)
        if not hidden:
            continue
        if not owner:
            made.append(text.after(text.tree.body[-1], f"del {', '.join(hidden)}"))
        elif any(ok for name, ok in passed.items() if name[:-1] == owner):
            lines = "\n".join(f"{name} = None" for name in hidden)
            made.append(text.after(_class_of(text.tree, owner).body[-1], lines))
        else:
            # Classes that inherit from it may pass.
            made.append(text.after(_class_of(text.tree, owner).body[-1], "__test__ = False"))
            made += [
                text.after(heir.body[-1], "__test__ = True")
                for heir in _heirs(text.tree, owner[-1])
                if any(ok for name, ok in passed.items() if name[:-1] == (heir.name,))
            ]
    return text.edited(made).encode()


def _heirs(tree: ast.Module, name: str) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and name in map(ast.unparse, node.bases):
            yield node


def _class_of(tree: ast.AST, names: Name) -> ast.ClassDef:
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == names[0]
    ]
    if not found:
        message = f"no class {names[0]} in its module"
        raise LookupError(message)
    return found[-1] if len(names) == 1 else _class_of(found[-1], names[1:])
