"""Failed assertions of the tests that did not fail their test.

Code that tests call can catch what they raise: a callback's caller, a context manager, an
`except` whose class the submission has chosen. A case that passes although one of its assertions
has failed has not really passed. Suites that catch such errors themselves are left alone; the
grader finds them (`grader.source.swallowing`). The submission shares the process and could undo
this, but not by accident.
"""

import ast
from collections.abc import Callable
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any

_NOTE = "@failed"
"""A name that source code cannot have."""


class Swallowed:
    """Counts the failed assertions of a case."""

    def __init__(self) -> None:
        self._failed: list[None] = []
        self.note: Callable[[], None] = partial(self._failed.append, None)
        """Counts one, in C: tracers and profilers of tests see no frame of it."""

    def take(self) -> bool:
        """Tell whether a failed assertion was counted since the last call."""
        has_failed = bool(self._failed)
        self._failed.clear()
        return has_failed

    def settle(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """Return a case's outcome: it has failed if a failed assertion was swallowed."""
        if not self.take() or outcome["outcome"] != "passed":
            return outcome
        message = "an assertion failed, but the code that was tested caught the error"
        return {"outcome": "failed", "type": "AssertionError", "message": message}


def compile_noting(source: str, filename: str, namespace: dict[str, Any], noted: Swallowed) -> Any:
    """Compile a script's statements so that assertions are noted when they fail."""
    namespace[_NOTE] = noted.note
    tree = _Noting().visit(ast.parse(source, filename))
    return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)


class _Noting(ast.NodeTransformer):
    """Makes `assert test, message` note its failure before it raises."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        note = ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [], []))
        fails = ast.If(
            test=ast.UnaryOp(ast.Not(), node.test),
            body=[note, ast.Assert(test=ast.Constant(value=False), msg=node.msg)],
            orelse=[],
        )
        for made in ast.walk(fails):
            if not hasattr(made, "lineno"):
                ast.copy_location(made, node)
        return fails


def note_in_pytest(noted: Swallowed) -> None:
    """Have the assertions of pytest and unittest tests noted when they fail."""
    import unittest

    import _pytest.assertion.rewrite as rewrite
    import _pytest.outcomes as outcomes

    _wrap(rewrite, "_format_explanation", noted.note)
    _wrap(unittest.TestCase, "_formatMessage", noted.note)
    _wrap(unittest.TestCase, "fail", noted.note)
    _wrap(outcomes.Failed, "__init__", noted.note)


def _wrap(owner: Any, name: str, note: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def noting(*args: Any, **kwargs: Any) -> Any:
        note()
        return original(*args, **kwargs)

    # For tracers, debuggers and tracebacks it is a function of the module whose function it wraps.
    code = noting.__code__.replace(
        co_filename=original.__code__.co_filename, co_firstlineno=original.__code__.co_firstlineno
    )
    its_own = FunctionType(code, original.__globals__, name, None, noting.__closure__)
    setattr(owner, name, update_wrapper(its_own, original))
