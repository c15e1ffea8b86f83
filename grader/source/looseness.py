"""Reads in a submission how its objects may compare, and what its exceptions derive from."""

import ast
import builtins
import re
from collections.abc import Mapping, Sequence

from grader.source.syntax import UNPARSABLE, parse

_OF_COMPARISONS = re.compile(
    r"__(?:contains|eq|ne|instancecheck|subclasscheck)__|\b(?:compare|eq)\s*="
)
_MOST_BUILTIN = 3
"""The most exceptions of Python that one honest exception derives from."""


def may_compare_loosely(code: str) -> bool:
    """Tell whether a class of the submission may equal, or contain, different values."""
    return _OF_COMPARISONS.search(code) is not None


def combined_bases(code: str) -> frozenset[str]:
    """Return the names of all base classes if any class of the submission has several.

    An exception of that class may then be caught as any of them. No honest exception is more than
    a few of Python's own at once, so the bases of such a class do not count.
    """
    if "class" not in code:
        return frozenset()
    try:
        tree = parse(code)
    except UNPARSABLE:
        return frozenset()
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    counted = [own for name, own in bases.items() if len(_builtin(name, bases)) <= _MOST_BUILTIN]
    if all(len(own) < 2 for own in counted):
        return frozenset()
    return frozenset(base for own in counted for base in own)


def _builtin(name: str, bases: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the exceptions of Python that a class derives from, by way of others or not."""
    found: set[str] = set()
    pending = [name]
    seen: set[str] = set()
    while pending:
        each = pending.pop()
        if each in bases and each not in seen:
            seen.add(each)
            pending += bases[each]
        elif each not in bases and hasattr(builtins, each):
            found.add(each)
    return found
