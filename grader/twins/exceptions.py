"""Other exceptions than those that a test wants."""

import ast
import builtins
from random import Random

from grader.twins.names import Names

_USUAL = (
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
    (ArithmeticError, ValueError),
    (KeyError, AttributeError),
    (KeyError, IndexError),
    (KeyError, RuntimeError),
    (RuntimeError, TypeError),
    (RuntimeError, OSError),
    (LookupError, ValueError),
)
"""Pairs from which some libraries and programs derive an exception of both kinds."""


def other_exceptions(node: ast.expr, names: Names, rng: Random) -> list[str]:
    """Return exceptions as they may be written in the place of those that a test wants.

    Empty where what is raised may be one of any kind: a class of the submission, `Exception`.
    """
    wanted = node.elts if isinstance(node, ast.Tuple) else [node]
    kinds = [getattr(builtins, names.builtin(each) or "", None) for each in wanted]
    known = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)]
    if not known or len(known) != len(kinds):
        return []
    others = [kind.__name__ for kind in _USUAL if not any(_may_be_both(kind, k) for k in known)]
    rng.shuffle(others)
    if isinstance(node, ast.Tuple):
        count = len(node.elts)
        if len(others) < count:
            return []
        return [f"({', '.join(others[:count])}{',' if count == 1 else ''})"]
    return others


def _may_be_both(one: type[Exception], other: type[Exception]) -> bool:
    """Tell whether an exception may be of two kinds."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return any(
        (issubclass(one, a) and issubclass(other, b))
        or (issubclass(one, b) and issubclass(other, a))
        for a, b in _COMBINED
    )
