"""Tells which of a suite's modules do not depend on the submission."""

import ast
from collections.abc import Iterable
from functools import lru_cache

from grader.model import SuiteFile
from grader.source.names import module_name
from grader.twins.origins import LIBRARIES
from grader.twins.source import tree_of

_IMPORTERS = frozenset({"importlib", "pkgutil", "runpy", "sys"})


def own_modules(files: Iterable[SuiteFile], solution_path: str) -> frozenset[str]:
    """Return the names of a suite's modules that certainly do not depend on the submission.

    Args:
        files: All modules of the suite.
        solution_path: The submission's file, whose name means the submission wherever it is.
    """
    submission = module_name(solution_path).rpartition(".")[2]
    found: set[str] = set()
    imports = {module_name(file.path): _imports(file.content) for file in files}
    waiting = {name: imported for name, imported in imports.items() if imported is not None}
    while True:
        done = [name for name, imported in waiting.items() if imported <= found]
        if not done:
            return frozenset(found)
        for name in done:
            del waiting[name]
            # A module is imported by its path from the root or, by default, from its own folder.
            found |= {name, name.rpartition(".")[2]} - {submission}


# Suites of large packages have many files in common.
@lru_cache(maxsize=1024)
def _imports(content: bytes) -> frozenset[str] | None:
    """Return the modules that a source imports, without libraries; None if some are unknown."""
    tree = tree_of(content)
    if content.strip() and not tree.body:
        return None  # it does not parse
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module)
            case ast.ImportFrom() | ast.Name(id="__import__"):
                return None
            case _:
                pass
    tops = {name: name.partition(".")[0] for name in found}
    if not _IMPORTERS.isdisjoint(tops.values()):
        return None
    return frozenset(name for name, top in tops.items() if top not in LIBRARIES)
