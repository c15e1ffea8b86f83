"""Which suites can be judged in a process of their own, found out once per suite.

Split judging serves nearly every suite, but a proxy cannot do everything that an object can.
What passes in split mode has passed. Only where a submission does not, it has to be known that
the suite itself is served: its reference solution tells, else a look at what the suite does.
"""

import ast
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from grader.judging.trees import module_tree, script_trees
from grader.model import PytestTests, ScriptTests, TestSuite

JudgedTests = ScriptTests | PytestTests

_REMEMBERED = 20_000


class Mode(StrEnum):
    """Where a suite's tests run."""

    SPLIT = "split"
    SHARED = "shared"
    BROKEN = "broken"
    """Nowhere: its own reference solution passes in neither mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A suite's mode."""

    mode: Mode
    together: bool = False
    """Split judging: whether its tests need one process of the submission for all of them."""
    reason: str = ""
    """Why the suite is broken."""


class ModeBook:
    """What is known about suites, by their content. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modes: OrderedDict[tuple[JudgedTests, str], Decision] = OrderedDict()

    def find(self, suite: TestSuite) -> Decision | None:
        """Return a suite's mode, or None where nothing is known yet."""
        with self._lock:
            return self._modes.get(_key(suite))

    def enter(self, suite: TestSuite, decision: Decision) -> None:
        """Remember a suite's mode; the oldest are forgotten."""
        with self._lock:
            self._modes[_key(suite)] = decision
            if len(self._modes) > _REMEMBERED:
                self._modes.popitem(last=False)


def _key(suite: TestSuite) -> tuple[JudgedTests, str]:
    if not isinstance(suite.tests, JudgedTests):
        raise TypeError(suite.tests)
    return suite.tests, suite.prelude


# ---------------------------------------------------------------- a look at what a suite does

_FIXTURES = frozenset({"tmp_path", "tmpdir", "tmp_path_factory", "capfd", "capfdbinary", "recwarn"})
"""Fixtures that reach what the submission's process has for itself: its files, its descriptors."""

_MODULES = frozenset(
    {
        "importlib", "inspect", "matplotlib", "pandas", "runpy", "shutil", "sklearn", "subprocess",
        "tempfile", "torch", "tracemalloc", "warnings",
    }
)  # fmt: skip
"""Modules by which tests look at or into the process that they run in."""

_PATCHES = frozenset({"patch", "setattr", "setitem", "delattr"})


def look(suite: TestSuite) -> Mode:
    """Return the mode of a suite without a reference, by what its sources do.

    Raises:
        SuiteError: A case of a script is no Python.
    """
    tests = suite.tests
    trees: Iterable[ast.Module | None]
    if isinstance(tests, ScriptTests):
        trees = script_trees(tests)
        solution = "solution"
    elif isinstance(tests, PytestTests):
        trees = (
            module_tree(file.content.decode("utf-8", "replace"))
            for file in tests.files
            if file.path.endswith(".py")
        )
        solution = tests.solution_path.removesuffix(".py").replace("/", ".")
    else:
        return Mode.SPLIT
    # What is no Python fails in either mode.
    needs_sharing = any(tree is not None and _needs_sharing(tree, solution) for tree in trees)
    return Mode.SHARED if needs_sharing else Mode.SPLIT


def _needs_sharing(tree: ast.Module, solution: str) -> bool:
    imported = _names_from(tree, solution)
    return any(_reaches_in(node, solution, imported) for node in ast.walk(tree))


def _names_from(tree: ast.AST, solution: str) -> frozenset[str]:
    """Return the names that a suite imports from the submission."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == solution
        for alias in node.names
    )


def _reaches_in(node: ast.AST, solution: str, imported: frozenset[str]) -> bool:
    match node:
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _MODULES for alias in names)
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] in _MODULES
        case ast.arg(arg=name):
            return name in _FIXTURES
        case ast.ClassDef(bases=bases):
            return any(isinstance(base, ast.Name) and base.id in imported for base in bases)
        case ast.Call(func=ast.Name(id="open")):
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[first, *_]):
            return name in _PATCHES and _patches_elsewhere(first, solution)
        case _:
            return False


def _patches_elsewhere(target: ast.expr, solution: str) -> bool:
    """Tell whether a patch changes something that the submission would see only in its process."""
    match target:
        case ast.Constant(value=str(path)):
            return not path.startswith((f"{solution}.", "builtins.input", "sys.stdin"))
        case _:
            return False
