"""What a submission says of its own equality, and of the kinds of its exceptions."""

import ast
import re

from grader.source.syntax import UNPARSABLE, parse

_OF_EQUALITY = re.compile(r"__(?:eq|ne|instancecheck|subclasscheck)__|\b(?:compare|eq)\s*=")


def may_compare_loosely(code: str) -> bool:
    """Tell whether a class of the submission may ignore something when it compares."""
    return _OF_EQUALITY.search(code) is not None


def combined_bases(code: str) -> frozenset[str]:
    """Return the names of base classes, if a class of the submission has several.

    An exception may then be of more kinds than one.
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
