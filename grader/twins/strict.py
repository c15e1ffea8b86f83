"""Makes each comparison for equality in a suite strict, wherever it is."""

import ast
from dataclasses import replace
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.source.syntax import UNPARSABLE, parse
from grader.twins.computed import other_value


def with_strict_equality(
    tests: ScriptTests | PytestTests, rng: Random
) -> ScriptTests | PytestTests:
    """Return a suite in which values are equal only if neither equals another value, too.

    For values that equal only what is right, each comparison comes out as before, whatever the
    tests make of it. An object that equals everything equals nothing in this suite.

    Args:
        tests: The suite.
        rng: Chooses the other values.
    """
    strict = _Strict(rng)
    if isinstance(tests, ScriptTests):
        cases = tuple(replace(case, source=strict.source(case.source)) for case in tests.cases)
        return replace(tests, cases=cases, setup=strict.source(tests.setup))
    files = (
        replace(file, content=strict.source(file.content.decode()).encode())
        if file.path in tests.test_paths
        else file
        for file in tests.files
    )
    return replace(tests, files=tuple(files))


_ARRAYS = ("ndarray", "Series", "DataFrame", "Index")
"""Types whose comparisons have no single result."""


class _Strict(ast.NodeTransformer):
    """Replaces comparisons of two values."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def source(self, source: str) -> str:
        """Return a source with strict comparisons; as it is if it does not parse."""
        try:
            return ast.unparse(self.visit(parse(source)))
        except UNPARSABLE:
            return source

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a comparison for equality, or its opposite."""
        self.generic_visit(node)
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                before, after = other_value(self._rng)
                strict = f"a != {before}b{after} and {before}a{after} != b"
                if isinstance(op, ast.Eq):
                    result, kept = "a == b", "not r"
                else:
                    result, kept, strict = "a != b", "r", f"not ({strict})"
                function = (
                    f"lambda a, b: (lambda r: r if r.__class__.__name__ in {_ARRAYS} or {kept} "
                    f"else {strict})({result})"
                )
                made = ast.parse(function, mode="eval").body
                return ast.Call(func=made, args=[left, right], keywords=[])
            case _:
                return node
