"""Names in the tests of an exercise: what they are given, and which of them the submission has."""

import re

from grader.languages import Exercises
from grader.languages.reading_tests import refuse
from grader.suites.masked import Code

WORD = re.compile(r"[A-Za-z_$][\w$]*")
NAME = re.compile(r"(?<![\w$.])(?!_+(?!\w))[A-Za-z_$][\w$]*(?![\w$]|\s*(?:=(?!=)|:(?!:)))")
"""A word that is neither masked, nor the key of a table, nor the name of a member."""
ASSIGNED = re.compile(
    r"(?<![\w$.])(?P<name>[A-Za-z_$][\w$]*)[ \t]*(?::(?!:)(?P<type>[^=\n]*))?=(?![=>])\s*"
)
"""What is ahead of a value that a name is given."""
_GOES_ON = re.compile(r"\s*(?:[.+*/%?:|&<>=^-]|(?:and|or)\b)")
"""What a line begins with that continues the one before."""
_MEMBER = re.compile(r"(?:[?!&]?[.:]|::|\?*->)\s*(\w+)[?!]?|::\s*<[\w\s,&]*>|!")
_OPERATORS = (" + ", " - ", " * ", " / ", " ** ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_VALUE_CHARS = 8 * 1024


def own_names(code: Code, names: tuple[str, ...], how: Exercises) -> set[str]:
    """Return the names of what the tests take from the submission, and of what these make."""
    own = set(names)
    values: dict[str, list[Code]] = {}
    for found in ASSIGNED.finditer(code.mask):
        value = code.cut(found.end(), end_of_value(code, found.end(), how)).strip()
        values.setdefault(found["name"], []).append(value)
    while True:
        made = {
            name
            for name, given in values.items()
            if name not in own and all(is_of(value, own, how) for value in given)
        }
        if not made:
            return own
        own |= made


def end_of_value(code: Code, start: int, how: Exercises) -> int:
    """Return where a value ends that begins at a place.

    Raises:
        SuiteError: It is too long.
    """
    depth, last = 0, ""
    for index in range(start, len(code.mask)):
        char = code.mask[index]
        depth += (char in "([{") - (char in ")]}")
        if index - start > _MOST_VALUE_CHARS:
            refuse("a value is too long", code.text[start:])
        if depth < 0 or (depth == 0 and char == ";"):
            return index
        if depth == 0 and char == "\n" and how.lines_end:
            goes_on = _GOES_ON.match(code.mask, index)
            if last and last not in "+-*/,(=." and goes_on is None:
                return index
        elif not char.isspace():
            last = char
    return len(code.mask)


def is_of(value: Code, own: set[str], how: Exercises) -> bool:
    """Tell whether a value is a call of the submission, one of its objects, or a part of these."""
    if len(terms := value.split(*_OPERATORS)) > 1:
        others = [each for each in terms if not is_of(each, own, how)]
        return len(others) < len(terms) and all(_NUMBER.fullmatch(each.text) for each in others)
    mask = how.prefix.sub("", value.mask)
    word = WORD.match(mask)
    if mask.startswith("("):
        end = value.end_of_brackets(1) if mask == value.mask else None
        if end is None or not is_of(value.cut(1, end).strip(), own, how):
            return False
        rest = value.cut(end + 1, len(mask))
    elif word is None or word[0] not in own:
        return False
    else:
        rest = Code(mask, mask).cut(word.end(), len(mask))
    while rest.mask:
        rest = rest.strip()
        if rest.mask.startswith(("(", "[")):
            end = rest.end_of_brackets(1)
            if end is None:
                return False
            rest = rest.cut(end + 1, len(rest.mask))
        elif (member := _MEMBER.match(rest.mask)) is not None:
            if member[1] in how.judging:
                return False
            rest = rest.cut(member.end(), len(rest.mask))
        else:
            return not rest.mask.strip()
    return True
