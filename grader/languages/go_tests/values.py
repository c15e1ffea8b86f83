"""Decides conditions about a row of a table."""

import re

from grader.languages.go_tests.source import (
    close_or,
    end_of_type,
    is_around,
    refuse_tokens,
    tokens_of,
)
from grader.languages.go_tests.tables import TableRow
from grader.languages.reading_tests import Tokens, close, refuse, split, texts_of


def decided(tokens: Tokens, row: TableRow) -> bool:
    """Return the truth of a condition about a row.

    Raises:
        SuiteError: It cannot be told.
    """
    value = value_of(tokens, row)
    if not isinstance(value, bool):
        refuse_tokens("a condition about a row cannot be decided", tokens)
    return value


def value_of(tokens: Tokens, row: TableRow) -> object:
    """Return a bool, a number, None for nil, or something that equals only an equal value.

    Raises:
        SuiteError: It cannot be told.
    """
    while is_around(tokens):
        tokens = tokens[1:-1]
    texts = texts_of(tokens)
    for signs in (("==", "!="), ("<", ">", "<=", ">=")):
        sides = split(tokens, *signs)
        if len(sides) == 2:
            sign = tokens[len(sides[0])].text
            one, other = (value_of(each, row) for each in sides)
            if sign in ("==", "!="):
                return _same(one, other, tokens) is (sign == "==")
            if isinstance(one, int) and isinstance(other, int):
                return {
                    "<": one < other,
                    ">": one > other,
                    "<=": one <= other,
                    ">=": one >= other,
                }[sign]
    if len(tokens) == 1:
        if texts[0] in ("true", "false"):
            return texts[0] == "true"
        if texts[0] == "nil":
            return None
        if tokens[0].kind == "number" and texts[0].isdecimal():
            return int(texts[0])
        if tokens[0].kind == "text" and texts[0][0] != "'":
            return texts[0]
    if len(tokens) == 2 and texts[0] == "-" and texts[1].isdecimal():
        return -int(texts[1])
    if texts[:2] == ["len", "("] and close(tokens, 1) == len(tokens) - 1:
        inner = value_of(tokens[2:-1], row)
        if isinstance(inner, tuple):
            return len(inner)
        if inner is None:
            return 0
    is_field = row.name and len(tokens) == 3 and texts[:2] == [row.name, "."]
    if is_field and texts[2] in row.types:
        if texts[2] not in row.fields:
            return _zero(row.types[texts[2]])
        return value_of(tokens_of(row.fields[texts[2]]), row)
    if len(tokens) == 1 and texts[0] in row.variables:
        return value_of(tokens_of(row.variables[texts[0]][1]), row)
    if tokens and tokens[0].text == "[" and tokens[-1].text in ("}", ")"):
        at = end_of_type(tokens, 0)
        if close_or(tokens, at) == len(tokens) - 1:
            if texts_of(tokens[at:]) == ["(", "nil", ")"]:
                return None
            if tokens[at].text == "{":
                return tuple(filter(None, split(tokens[at + 1 : -1], ",")))
    return refuse_tokens("a condition about a row cannot be decided", tokens)


def _same(one: object, other: object, tokens: Tokens) -> bool:
    """Tell whether two values of `value_of` are equal.

    Raises:
        SuiteError: It cannot be told.
    """
    if isinstance(one, str) and isinstance(other, str):
        empty = [each in ('""', "``") for each in (one, other)]
        if one == other or any(empty):
            return one == other or all(empty)
        if "\\" not in one + other and one[0] == other[0]:
            return False
    elif None in (one, other):
        if all(each is None or isinstance(each, tuple) for each in (one, other)):
            return one is other
    elif type(one) is type(other) and not isinstance(one, tuple):
        return one == other
    return refuse_tokens("a condition about a row cannot be decided", tokens)


def _zero(kind: str) -> object:
    """Return the value of a field that a row does not give, as `value_of` does.

    Raises:
        SuiteError: It cannot be told.
    """
    if kind == "bool":
        return False
    if kind == "string":
        return '""'
    if re.fullmatch(r"u?int\d*", kind):
        return 0
    if kind.startswith(("[]", "*", "map[")) or kind == "error":
        return None
    return refuse("a condition about a row cannot be decided", kind)
