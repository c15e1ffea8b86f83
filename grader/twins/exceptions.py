"""Other exceptions than those that a test wants."""

import ast
import builtins
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
    (ArithmeticError, ValueError),
    (KeyError, AttributeError),
    (KeyError, IndexError),
    (KeyError, RuntimeError),
    (RuntimeError, TypeError),
    (RuntimeError, OSError),
    (LookupError, ValueError),
)
"""Pairs from which some libraries and programs derive an exception of both kinds."""


def other_exceptions(node: ast.expr, names: Names, rng: Random) -> tuple[list[str], bool]:
    """Return exceptions as they may be written in the place of those that a test wants.

    Returns:
        The exceptions, and whether they are likely ones. What is raised for `Exception`, or for a
        class of the submission, may be of any usual kind; only what ends programs is not.
    """
    wanted = node.elts if isinstance(node, ast.Tuple) else [node]
    kinds = [getattr(builtins, names.builtin(each) or "", None) for each in wanted]
    known = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)]
    usual: list[type[BaseException]] = [
        kind for kind in _USUAL if not any(_may_be_both(kind, k) for k in known)
    ]
    if len(known) == len(kinds) and len(usual) >= len(wanted):
        likely = True
    elif any(issubclass(SystemExit, kind) or issubclass(kind, SystemExit) for kind in known):
        return [], False
    else:
        usual, likely = [SystemExit], False
    others = [kind.__name__ for kind in usual]
    rng.shuffle(others)
    if isinstance(node, ast.Tuple) and likely:
        return [f"({', '.join(others[: len(wanted)])}{',' * (len(wanted) == 1)})"], likely
    return others, likely


def _may_be_both(one: type[BaseException], other: type[BaseException]) -> bool:
    """Tell whether an exception may be of two kinds."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return any(
        (issubclass(one, a) and issubclass(other, b))
        or (issubclass(one, b) and issubclass(other, a))
        for a, b in _COMBINED
    )
