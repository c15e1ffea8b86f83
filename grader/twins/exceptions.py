"""Other exceptions than those that a test wants."""

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
"""Pairs from which some libraries and programs derive an exception of both kinds."""


def other_exceptions(
    node: ast.expr, names: Names, wanted: Collection[str], rng: Random
) -> tuple[list[str], bool]:
    """Return exceptions as they may be written in the place of those that a test wants.

    Args:
        node: What a test wants.
        names: What names mean.
        wanted: Exceptions that tests of the suite want.
        rng: Decides on the order.

    Returns:
        The exceptions, and whether they are likely ones: those that the suite wants elsewhere.
        What is raised for `Exception`, or for a class of the submission, may be of any usual kind;
        only what ends programs is not. None where what is raised, if it went on its way, would
        end more than its test.
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
    """Tell whether an exception may be of two kinds."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return any(
        (issubclass(one, a) and issubclass(other, b))
        or (issubclass(one, b) and issubclass(other, a))
        for a, b in _COMBINED
    )
