"""Reads in a submission how its objects may compare, and what its exceptions derive from."""

import ast
import re

from grader.source.syntax import UNPARSABLE, parse

_OF_EQUALITY = re.compile(r"__(?:eq|ne|instancecheck|subclasscheck)__|\b(?:compare|eq)\s*=")


def may_compare_loosely(code: str) -> bool:
    """Tell whether a class of the submission may treat different values as equal."""
    return _OF_EQUALITY.search(code) is not None


def combined_bases(code: str) -> frozenset[str]:
    """Return the names of all base classes if any class of the submission has several.

    An exception of that class may then be caught as any of them.
    """
    if "class" not in code:
        return frozenset()
    try:
        tree = parse(code)
    except UNPARSABLE:
        return frozenset()
    bases = [node.bases for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    if all(len(each) < 2 for each in bases):
        return frozenset()
    return frozenset(base.id for each in bases for base in each if isinstance(base, ast.Name))
