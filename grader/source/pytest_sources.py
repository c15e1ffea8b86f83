"""The source of a suite's tests by their ids, to show what a failed test checks."""

import ast
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from grader.model import PytestTests
from grader.source.names import first_line
from grader.source.trees import module_tree


def source_of(tests: PytestTests, id: str) -> str:
    """Return the source of the test with a pytest node id; "" if it cannot be found.

    Inherited tests and tests that are made at run time are not found.
    """
    path, _, name = id.partition("::")
    content = next((file.content for file in tests.files if file.path == path), None)
    if content is None:
        return ""
    return _functions(content).get(name.partition("[")[0], "")


@lru_cache(maxsize=256)
def _functions(content: bytes) -> Mapping[str, str]:
    """Return the functions of a module and the methods of its classes, by their dotted path."""
    text = content.decode("utf-8", "replace")
    module = module_tree(text)
    if module is None:
        return MappingProxyType({})
    lines = text.splitlines(keepends=True)
    found: dict[str, str] = {}
    _collect(module.body, "", lines, found)
    return MappingProxyType(found)


def _collect(body: list[ast.stmt], prefix: str, lines: list[str], found: dict[str, str]) -> None:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                source = "".join(lines[first_line(statement) - 1 : statement.end_lineno])
                found[prefix + statement.name] = source
            case ast.ClassDef():
                _collect(statement.body, f"{prefix}{statement.name}::", lines, found)
            case _:
                pass
