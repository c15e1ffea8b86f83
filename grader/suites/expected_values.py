"""Finds what tests in other languages have only to make expected values.

Otherwise these values would be in the submission's program.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from grader.model.errors import SuiteError
from grader.suites.masked import Code, mask_of

WORD = re.compile(r"\$?[A-Za-z_]\w*")
"""A name."""
ASSIGNS = r"(?::?=(?![=>])|<-)"
"""What stands between a name and its value."""
_MOST_NAMES = 4


def without_expected(
    code: Code,
    assertions: Iterable[tuple[int, int]],
    actual: Iterable[str],
    expected: Sequence[str],
) -> Code:
    """Return tests without the statements that only make expected values.

    Args:
        code: The tests.
        assertions: Where assertions begin and end.
        actual: The expressions that they compare.
        expected: The expressions of the values that these must have.

    Raises:
        SuiteError: A name of an expected value is also used elsewhere.
    """
    left, others = code, code
    for start, end in assertions:
        others = others.blank(start, end)
    compared = " ".join(map(mask_of, actual))
    for name in sorted({name for text in expected for name in _data_names(mask_of(text))}):
        uses = [each.start() for each in _uses(name).finditer(others.mask)]
        statements = [_changing(others, at, name) for at in uses]
        if not any(statements) and not values_given(others, name):
            continue
        is_input = _uses(name).search(compared) is not None or None in statements
        if is_input and any(_is_shown(others, name, text) for text in expected):
            message = f"the tests expect {name!r}, which is used elsewhere, too"
            raise SuiteError(message)
        for start, end in [] if is_input else filter(None, statements):
            left = left.blank(start, end)
    return left


def _uses(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$.]){re.escape(name)}(?!\w)")


def _data_names(mask: str) -> set[str]:
    """Return the names in an expression that are not those of functions or parts."""
    return {
        found[0]
        for found in WORD.finditer(mask)
        if not mask[: found.start()].endswith((".", "->"))
        and not mask[found.end() :].lstrip().startswith("(")
    }


_BEFORE_NAME = re.compile(
    r"(?!\s*(?:for|foreach|if|while|until|unless|return|else|switch|case|in)\b)"
    r"[\w<>:.*&\[\]?$@% \t]*"
)
_CHANGES = re.compile(
    r"\s*(?:\[[^\]\n]*\]\s*)*(?::(?!=)[^=;\n()]*)?"
    r"(?:(?:[-+*/.%|&^]|<<|\*\*|\?\?)?=(?!=)|:=|<-|\+\+|--|<<"
    r"|\.(?:push|push_back|push_str|append|add|addAll|put|insert|set|unshift|emplace_back)!?\s*\()"
)
_DECLARED = re.compile(r"(?:\s*:[^=;\n()]*)?(?:;|\n|\s\w+\n)")


def _changing(code: Code, at: int, name: str) -> tuple[int, int] | None:
    """Return the statement that declares or changes the name at a place; None if it is read."""
    start = max(code.mask.rfind(char, 0, at) for char in "\n;{}()") + 1
    before = re.sub(r"<[^;=]*>", "", code.mask[start:at])
    if code.is_in_brackets(at) or not _BEFORE_NAME.fullmatch(before):
        return None
    is_declared = before.strip() and _DECLARED.match(code.mask, at + len(name))
    if not is_declared and not _CHANGES.match(code.mask, at + len(name)):
        return None
    return start, code.end_of_statement(at, ";\n")


def _is_shown(code: Code, name: str, expected: str) -> bool:
    """Tell whether the submission can see an expected value if it can see the value of a name.

    It can if the name alone is expected, or if its value is a text or list, or made from one.
    """
    mask = mask_of(expected)
    if name not in _data_names(mask):
        return False
    if mask.strip() == name:
        return True
    pending, seen = [name], {name}
    for _ in range(_MOST_NAMES):
        given = [value for each in pending for value in values_given(code, each)]
        if any(re.search(r"[\"'`{\[]", value) for value in given):
            return True
        pending = [each for value in given for each in _data_names(value) - seen]
        seen |= set(pending)
    return False


@lru_cache(maxsize=1024)
def values_given(code: Code, name: str) -> list[str]:
    """Return the masks of what is assigned to a name, by itself or with others."""
    assigned = re.compile(
        rf"(?<![\w$.]){re.escape(name)}\s*(?:[,:][^=;\n()]*)?[\])}}]?\s*{ASSIGNS}\s*"
    )
    return [
        code.mask[found.end() : code.end_of_statement(found.end(), ";\n")].strip()
        for found in assigned.finditer(code.mask)
    ]
