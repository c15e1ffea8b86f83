"""Changes each comparison for equality in a suite on which an assertion rests, wherever it is."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.source.syntax import UNPARSABLE, parse
from grader.twins.cases import CaseKey
from grader.twins.computed import other_value


def asserts_equality(tests: ScriptTests | PytestTests, key: CaseKey) -> bool:
    """Tell whether a case has an assertion with a comparison for equality."""
    try:
        if isinstance(tests, ScriptTests):
            bodies: list[ast.AST] = [parse(c.source) for c in tests.cases if c.id == key.base]
        else:
            name = key.base.rpartition("::")[2]
            files = (file for file in tests.files if file.path in tests.test_paths)
            trees = [parse(file.content.decode()) for file in files]
            bodies = [
                node
                for tree in trees
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name == name
            ]
    except UNPARSABLE:
        return False
    return any(
        isinstance(node, ast.Compare) and _is_equality(node)
        for body in bodies
        for statement in ast.walk(body)
        if isinstance(statement, ast.Assert)
        for node in ast.walk(statement)
    )


def _is_equality(node: ast.Compare) -> bool:
    return isinstance(node.ops[0], ast.Eq | ast.NotEq)


def compared_otherwise(
    tests: ScriptTests | PytestTests, rng: Random, *, everywhere: bool
) -> Iterator[ScriptTests | PytestTests]:
    """Yield a suite in which each comparison has another right side, and one with another left.

    No change is certain to matter: a comparison may decide nothing. But an object that equals
    everything passes one of the two suites.

    Args:
        tests: The suite.
        rng: Chooses the other values.
        everywhere: Whether to change also what an assertion compares itself, and not only what it
            rests on.
    """
    for is_left in (False, True):
        change = _Change(rng, is_left=is_left, everywhere=everywhere)
        if isinstance(tests, ScriptTests):
            cases = tuple(replace(c, source=change.source(c.source)) for c in tests.cases)
            yield replace(tests, cases=cases, setup=change.source(tests.setup))
        else:
            files = (
                replace(file, content=change.source(file.content.decode()).encode())
                if file.path in tests.test_paths
                else file
                for file in tests.files
            )
            yield replace(tests, files=tuple(files))


class _Change(ast.NodeTransformer):
    """Replaces one side of each comparison."""

    def __init__(self, rng: Random, *, is_left: bool, everywhere: bool) -> None:
        self._rng = rng
        self._everywhere = everywhere
        self._is_left = is_left

    def source(self, source: str) -> str:
        """Return a source with its comparisons changed; as it is if it does not parse."""
        try:
            return ast.unparse(self.visit(parse(source)))
        except UNPARSABLE:
            return source

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Change the condition, or only its operands."""
        node.test = self.visit(node.test) if self._everywhere else self._with_operands(node.test)
        return node

    def _with_operands(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.BoolOp(values=values):
                node.values = [self._with_operands(each) for each in values]
            case ast.UnaryOp(operand=operand):
                node.operand = self._with_operands(operand)
            case ast.Compare():
                self.generic_visit(node)
            case _:
                node = self.visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Change one side of a comparison for equality."""
        self.generic_visit(node)
        if _is_equality(node):
            if self._is_left:
                node.left = self._other(node.left)
            else:
                node.comparators[0] = self._other(node.comparators[0])
        return node

    def _other(self, node: ast.expr) -> ast.expr:
        before, after = other_value(self._rng)
        return ast.parse(f"{before}{ast.unparse(node)}{after}", mode="eval").body
