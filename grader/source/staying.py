"""Tell by reading a pytest suite whether the judge of it may stay for the next suite.

That a suite can be judged apart (`by_value`) says that it uses few names, but not what its names
stand for: pytest and unittest hand it objects that lead to their own internals, such as an
exception with its frames. So each attribute that it reads has to be on a list as well: those of
plain data, and of `self` those that the suite defines or that unittest has for tests.
"""

import ast
import importlib
import unittest
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from re import Match, Pattern

from grader.model import PytestTests
from grader.source.allowed import LEADING_ON, MODULES, NOT_OF_OBJECTS, TEST_MODULES
from grader.source.names import bound_names, module_name, walk
from grader.source.trees import module_tree

_PLAIN = (
    *(int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range),
    *(Counter, OrderedDict, defaultdict, deque, Decimal, Fraction, Match, Pattern),
    *(date, datetime, time, timedelta, timezone),
)
_OF_ERRORS = frozenset("args exception match type value".split())
"""Attributes of exceptions, and of what `raises` and `assertRaises` return."""
_OF_MARKS = frozenset("parametrize skip".split())
"""Marks without conditions, which pytest executes if they are text."""
_READABLE = (
    {name for kind in _PLAIN for name in dir(kind) if not name.startswith(LEADING_ON)}
    - NOT_OF_OBJECTS
    - {"format"}  # which reads attributes that its text names
    | _OF_ERRORS
    | _OF_MARKS
)
_HOOKS = frozenset("setUp setUpClass tearDown tearDownClass longMessage maxDiff".split())
"""Names of unittest's that a test case may define itself."""
_OF_TEST_CASES = frozenset(
    {name for name in dir(unittest.TestCase) if name.startswith(("assert", "fail"))}
    - NOT_OF_OBJECTS
    | _HOOKS
    | {"subTest"}
)
_OF_MODULES = TEST_MODULES | {
    module: names or frozenset(dir(importlib.import_module(module)))
    for module, names in MODULES.items()
}
_SETS_UP = "conftest.py"


@lru_cache(maxsize=4096)
def leaves_nothing(tests: PytestTests) -> bool:
    """Tell whether a suite that can be judged apart leaves its judge as it found it."""
    trees = [module_tree(file.content.decode("utf-8", "replace")) for file in tests.files]
    if any(PurePosixPath(file.path).name == _SETS_UP for file in tests.files):
        return False
    found = [tree for tree in trees if tree is not None]
    solution = module_name(tests.solution_path)
    return len(found) == len(trees) and _Reading(found, solution).leaves_nothing()


class _Reading:
    """Reads the modules of a suite."""

    def __init__(self, trees: list[ast.Module], solution: str) -> None:
        self._nodes = [node for tree in trees for node in walk(tree)]
        self._bound = Counter(bound_names(trees))
        self._solution = solution
        self._imports = Counter[str]()
        self._modules: dict[str, str] = {}
        """Local names of modules."""
        self._of_submission: set[str] = set()
        """Local names of what is imported from the submission."""
        self._methods: list[ast.FunctionDef] = []
        for node in self._nodes:
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        local = alias.asname or alias.name
                        self._imports[local] += 1
                        self._modules[local] = alias.name
                case ast.ImportFrom(module=module, names=names):
                    local_names = [alias.asname or alias.name for alias in names]
                    self._imports.update(local_names)
                    if module == solution:
                        self._of_submission.update(local_names)
                case ast.ClassDef(body=body):
                    self._methods += [each for each in body if isinstance(each, ast.FunctionDef)]
                case _:
                    pass

    def leaves_nothing(self) -> bool:
        return (
            not any(name.startswith("pytest_") or name == "request" for name in self._bound)
            # No imported name and no `self` is bound again, so their attributes are known.
            and all(self._bound[name] == count for name, count in self._imports.items())
            and self._bound["self"] == sum(map(_takes_self, self._methods))
            and not (self._own_names & set(dir(unittest.TestCase)) - _HOOKS)
            and all(map(self._is_readable, self._nodes))
        )

    @cached_property
    def _own_names(self) -> set[str]:
        """Return the names that the suite's test cases define for themselves."""
        stored = {
            node.attr
            for node in self._nodes
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        bodies: Iterable[ast.stmt] = (
            each for node in self._nodes if isinstance(node, ast.ClassDef) for each in node.body
        )
        assigned = (each for each in bodies if isinstance(each, ast.Assign | ast.AnnAssign))
        return stored.union(bound_names(assigned), (method.name for method in self._methods))

    def _is_readable(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                return attr in _OF_TEST_CASES or attr in self._own_names
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._modules:
                return self._is_of_module(self._modules[name], attr)
            case ast.Attribute(value=ast.Call(func=made, args=[], keywords=[])) if (
                self._is_of_submission(made)
            ):
                return True  # a method of a new instance, which another process holds
            case ast.Attribute(attr=attr):
                return attr in _READABLE
            case _:
                return True

    def _is_of_module(self, module: str, attr: str) -> bool:
        return module == self._solution or attr in _OF_MODULES.get(module, ())

    def _is_of_submission(self, made: ast.expr) -> bool:
        match made:
            case ast.Name(id=name):
                return name in self._of_submission
            case ast.Attribute(value=ast.Name(id=name)):
                return self._modules.get(name) == self._solution
            case _:
                return False


def _takes_self(method: ast.FunctionDef) -> bool:
    first = [*method.args.posonlyargs, *method.args.args][:1]
    return [argument.arg for argument in first] == ["self"]
