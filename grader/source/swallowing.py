"""Whether the tests of a suite catch the failures of their own assertions.

In all other suites, a case that passes although one of its assertions failed has been cheated: the
submission has caught the error (`sandbox_images.harness.runners.swallowed`).
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.model import PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.source.trees import module_tree, script_trees

CAUGHT = "an assertion failed, but the code that was tested caught the error"
"""The message of a case that failed for this reason alone, in a run's report."""

_FAILURES = frozenset("AssertionError BaseException Exception Failed failureException".split())
_CATCHERS = frozenset("assertRaises assertRaisesRegex raises suppress".split())
_ELSEWHERE = frozenset("Process ProcessPoolExecutor Thread ThreadPoolExecutor Timer".split())
"""What runs code where its errors end, or are kept for others to ask for."""


@lru_cache(maxsize=4096)
def catches_failures(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether a suite may go on after a failed assertion by its own doing."""
    return any(any(map(_catches, ast.walk(tree))) for tree in _trees(tests))


def _trees(tests: ScriptTests | PytestTests) -> Iterator[ast.Module]:
    if isinstance(tests, ScriptTests):
        try:
            yield from script_trees(tests)
        except SuiteError:
            return  # which is refused as such
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
