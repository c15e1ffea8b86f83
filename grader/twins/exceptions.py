"""Replacements for the exceptions that a test expects."""

import ast
import builtins
from collections.abc import Collection
from random import Random

from grader.twins.names import Names

_USUAL: tuple[type[Exception], ...] = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, ZeroDivisionError, RuntimeError,
    NotImplementedError, FileNotFoundError, StopIteration,
)  # fmt: skip
_COMBINED: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (ValueError, OSError),  # io.UnsupportedOperation
    (ValueError, IndexError),  # numpy's AxisError
    (ValueError, TypeError),
    (ValueError, RuntimeError),
    (ValueError, KeyError),
    (ArithmeticError, TypeError),  # signals of decimal
    (KeyError, AttributeError),
    (KeyError, IndexError),
    (KeyError, RuntimeError),
    (RuntimeError, TypeError),
    (RuntimeError, OSError),
    (LookupError, ValueError),
)
"""Pairs of exceptions that some class in libraries or programs derives from both."""


def other_exceptions(
    node: ast.expr, names: Names, wanted: Collection[str], rng: Random
) -> tuple[list[str], bool]:
    """Return the texts of exceptions that may replace those that a test expects.

    Args:
        node: The exceptions that the test expects.
        names: The meanings of names.
        wanted: The exceptions that tests of the suite expect.
        rng: Decides on the order.

    Returns:
        The texts, and whether they are likely: exceptions that the suite expects elsewhere. If the
        test expects `Exception` or a class of the submission, any usual exception may be raised, so
        the only replacement is `SystemExit`. There are no texts if the exception would end more
        than its test when it is not caught.
    """
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    kinds = [getattr(builtins, names.builtin(each) or "", None) for each in parts]
    known = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)]
    if any(issubclass(kind, _FATAL) or not issubclass(kind, Exception) for kind in known):
        return [], False
    others: list[type[BaseException]] = [
        kind for kind in _USUAL if not any(_may_be_both(kind, k) for k in known)
    ]
    if len(known) < len(kinds) or len(others) < len(parts):
        others = [SystemExit]
    likely = [kind for kind in others if kind.__name__ in wanted]
    if len(likely) >= len(parts):
        others = likely
    found = [kind.__name__ for kind in others]
    rng.shuffle(found)
    if isinstance(node, ast.Tuple) and len(found) >= len(parts):
        found = [f"({', '.join(found[: len(parts)])}{',' * (len(parts) == 1)})"]
    return found, bool(likely)


_FATAL = (RecursionError, MemoryError)


def _may_be_both(one: type[BaseException], other: type[BaseException]) -> bool:
    """Tell whether one exception may be an instance of both classes."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return any(
        (issubclass(one, a) and issubclass(other, b))
        or (issubclass(one, b) and issubclass(other, a))
        for a, b in _COMBINED
    )
