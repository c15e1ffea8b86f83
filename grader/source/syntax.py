"""Parse Python source safely, without running it.

All parsing must go through this module. The parser reports doubtful escapes through the warning
filters of the whole process: as noise on a terminal or, if warnings are errors, as an error. Then a
label would be refused because of how the trainer was started. And hostile text can crash it.
"""

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `parse` raises if a source is not Python."""

MAX_PARSE_CHARS = 64 * 1024
"""Dense hostile text of this size costs 0.15 s and 70 MB."""
MAX_NESTING = 100
"""Most levels of brackets, and of unary operators in a row. The parser's own bound of 6000 levels
needs up to 1 MiB of C stack, which a thread has unless it was made with less."""
MAX_FSTRING_FIELDS = 4000
"""CPython 3.11 needs quadratic time for them."""

_BRACKET = re.compile(r"[(\[{)\]}]")
_UNARY_RUN = re.compile(rf"[-+~]{{{MAX_NESTING}}}")
_FSTRING = re.compile(r"[fF][rR]?[\"']")
# Warning filters belong to the whole process, not to a thread. The parser holds the interpreter
# lock anyway, so this lock costs nothing.
_lock = threading.Lock()


def parse(source: str | bytes, name: str = "<source>") -> ast.Module:
    """Return the tree of a source; `name` is that of its file.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: It is not Python; see `UNPARSABLE`.
    """
    with quiet():
        return ast.parse(source, name)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the parser's warnings; not around `parse`, which does this itself."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def may_be_parsed(source: str) -> bool:
    """Tell whether a submission's text can do the parser no harm."""
    if len(source) > MAX_PARSE_CHARS or _UNARY_RUN.search(source):
        return False
    if source.count("{") > MAX_FSTRING_FIELDS and _FSTRING.search(source):
        return False
    return _nesting(source) <= MAX_NESTING


def _nesting(source: str) -> int:
    """Return the deepest nesting of brackets, including those in texts and comments."""
    if source.count("(") + source.count("[") + source.count("{") <= MAX_NESTING:
        return 0
    depth = deepest = 0
    for match in _BRACKET.finditer(source):
        depth = depth + 1 if match[0] in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
