"""Tell whether the tests of a suite catch their own failed assertions.

In all other suites, a case that passes although one of its assertions failed is a cheat: the
submission has caught the error (`sandbox_images.harness.runners.swallowed`).
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.model import PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.source.trees import module_tree, script_trees

CAUGHT = "an assertion failed, but the code that was tested caught the error"
"""The message in a run's report, if a case failed for this reason alone."""

_FAILURES = frozenset("AssertionError BaseException Exception Failed failureException".split())
_CATCHERS = frozenset("assertRaises assertRaisesRegex raises suppress".split())
_ELSEWHERE = frozenset("Process ProcessPoolExecutor Thread ThreadPoolExecutor Timer".split())
"""Names of APIs that run code and keep its errors, or drop them."""


@lru_cache(maxsize=4096)
def catches_failures(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether a suite itself may continue after a failed assertion."""
    return any(any(map(_catches, ast.walk(tree))) for tree in _trees(tests))


def _trees(tests: ScriptTests | PytestTests) -> Iterator[ast.Module]:
    if isinstance(tests, ScriptTests):
        try:
            yield from script_trees(tests)
        except SuiteError:
            return  # which is refused elsewhere
    else:
        for file in tests.files:
            if file.path.endswith(".py"):
                tree = module_tree(file.content.decode("utf-8", "replace"))
                if tree is not None:
                    yield tree


def _catches(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=caught):
            return caught is not None and _names_failure(caught)
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _ELSEWHERE:
            return True
        case (
            ast.keyword(arg="return_exceptions") | ast.Attribute(attr="exception" | "set_exception")
        ):
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _CATCHERS:
            return any(map(_names_failure, [*node.args, *(k.value for k in node.keywords)]))
    return False


def _names_failure(expression: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in _FAILURES
        for node in ast.walk(expression)
    )
