"""The trees of a suite's sources, parsed once and shared by all readers.

Trees take many times the memory of their sources, so only the last ones are kept. They are shared
and must not be changed.
"""

import ast
from functools import lru_cache

from grader.model import ScriptTests
from grader.model.errors import SuiteError
from grader.source.syntax import UNPARSABLE, parse

_KEPT = 4


@lru_cache(maxsize=_KEPT)
def script_trees(tests: ScriptTests) -> tuple[ast.Module, ...]:
    """Return the trees of a script's setup and of each of its cases.

    Raises:
        SuiteError: One of them is not Python; the message says which.
    """
    trees = []
    for name, source in (("setup", tests.setup), *((c.id, c.source) for c in tests.cases)):
        try:
            trees.append(parse(source))
        except UNPARSABLE as error:
            message = f"the suite's case {name!r} does not parse: {error}"
            raise SuiteError(message) from error
    return tuple(trees)


@lru_cache(maxsize=_KEPT)
def module_tree(source: str) -> ast.Module | None:
    """Return the tree of a module; None if it is not Python."""
    try:
        return parse(source)
    except UNPARSABLE:
        return None
