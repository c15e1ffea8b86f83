"""Reads tests of Exercism's tracks, such as `expect(f(2)).toBe(4)` of jest.

Each of these assertions becomes a case of expressions, as in `grader.suites.assertions`: the
submission's program shows the first value, and a program with a stand-in for the submission shows
the second one.
"""

import re
from typing import NamedTuple, NoReturn

from grader.languages import Exercises
from grader.languages.language import Matcher
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError
from grader.suites.assertions import Code, without_comments

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NAME = re.compile(r"(?<![\w$.])(?!_+(?!\w))[A-Za-z_$][\w$]*(?![\w$]|\s*(?:=(?!=)|:(?!:)))")
"""A word that is neither masked, nor the key of a table, nor the name of a member."""
_HARMLESS = frozenset(
    {
        *(
            "true",
            "false",
            "null",
            "undefined",
            "nil",
            "NaN",
            "Infinity",
            "new",
            "and",
            "or",
            "not",
        ),
        *("Map", "Set", "Date", "Math", "BigInt", "Number", "String", "Array", "Object", "Error"),
        *("function", "return", "const", "let", "local", "math", "string", "table"),
    }
)
"""Words in expected values that are no names of the tests."""
_LOOP = re.compile(r"\b(?:for|while|do|forEach|map|each)\b")
_CHAINED = re.compile(r"\s*\.\s*(?P<name>\w+(?:\s*\.\s*\w+)*)\s*\(")
_MOST_CHARS = 256 * 1024
_SHOWN_CHARS = 120


class _Assertion(NamedTuple):
    start: int
    end: int
    actual: Code
    matcher: Matcher
    argument: Code


def read_exercise(source: str, how: Exercises, solution_path: str) -> ExpressionTests:
    """Return the cases of a file of tests.

    Args:
        source: The file.
        how: How such files are written.
        solution_path: Where the file expects the submission.

    Raises:
        SuiteError: It takes nothing from the submission, asserts nothing, or has an assertion that
            cannot be taken apart.
    """
    if len(source) > _MOST_CHARS:
        message = f"the tests have {len(source)} characters; expected at most {_MOST_CHARS}"
        raise SuiteError(message)
    program, names = how.program(source, solution_path)
    if not names:
        message = f"the tests take nothing from {solution_path}"
        raise SuiteError(message)
    code = Code(*without_comments(program, how.comments, how.texts))
    found = _assertions(code, how)
    if not found:
        _refuse("the tests have no assertion", program)
    own = _own_names(code, names, how)
    expected, code = _expected_values(code, found, own, how)
    around, cases, end = list[str](), list[ExpressionCase](), 0
    for number, (each, value) in enumerate(zip(found, expected, strict=True)):
        around.append(code.text[end : each.start])
        _require_own(each, own, how)
        cases.append(each.matcher.case(str(number), each.actual.text, value))
        end = each.end
    around.append(code.text[end:])
    return ExpressionTests(
        cases=tuple(cases),
        around=tuple(around),
        stub=how.stub(names),
        solution_path=solution_path,
    )


def _assertions(code: Code, how: Exercises) -> list[_Assertion]:
    found: list[_Assertion] = []
    for begun in how.start.finditer(code.mask):
        shown = code.text[begun.start() :]
        close = code.end_of_brackets(begun.end())
        chained = None if close is None else _CHAINED.match(code.mask, close + 1)
        if "kind" in begun.groupdict() and close is not None:
            found.append(_of_arguments(code, begun, close, how))
            continue
        if close is None or chained is None:
            _refuse("an assertion has no end", shown)
        end = code.end_of_brackets(chained.end())
        argument = _single(code.cut(chained.end(), end or chained.end()))
        matcher = how.matcher(re.sub(r"\s", "", chained["name"]), argument.text)
        if end is None or matcher is None or _is_repeated(code.mask, begun.start()):
            _refuse("an assertion is of an unknown kind, or in a loop", shown)
        if matcher.argument is not None:
            at = argument.text.index(matcher.argument)
            argument = argument.cut(at, at + len(matcher.argument)).strip()
        actual = _single(code.cut(begun.end(), close))
        found.append(_Assertion(begun.start(), end + 1, actual, matcher, argument))
    return found


def _of_arguments(code: Code, begun: re.Match[str], close: int, how: Exercises) -> _Assertion:
    """Return an assertion with all that it compares in one bracket."""
    first, *more = code.cut(begun.end(), close).split(",")
    second = more[0] if more else first.cut(0, 0)
    matcher = how.matcher(begun["kind"], second.text)
    if matcher is None or _is_repeated(code.mask, begun.start()):
        _refuse("an assertion is of an unknown kind, or in a loop", code.text[begun.start() :])
    actual, expected = (second, first) if matcher.expected_first else (first, second)
    return _Assertion(begun.start(), close + 1, actual, matcher, expected)


def _single(code: Code) -> Code:
    """Return what is in brackets, without a comma at its end."""
    code = code.strip()
    return code.cut(0, len(code.mask) - code.mask.endswith(","))


def _is_repeated(mask: str, at: int) -> bool:
    """Tell whether a place is in the braces of a loop."""
    depth = 0
    for index in range(at - 1, -1, -1):
        depth += (mask[index] in ")}]") - (mask[index] in "({[")
        if depth < 0:
            depth = 0
            head = mask[mask.rfind("\n", 0, index) + 1 : index]
            if _LOOP.search(head):
                return True
    return False


def _own_names(code: Code, names: tuple[str, ...], how: Exercises) -> set[str]:
    """Return the names of what the tests take from the submission, and of what these make."""
    own = set(names)
    while True:
        made = {
            name
            for name in _assigned(code)
            if all(_is_of(value, own, how) for value in _values(code, name))
        }
        if made <= own:
            return own
        own |= made


_ASSIGNED = re.compile(r"(?<![\w$.])(?P<name>[A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]*)?=(?![=>])\s*")


_DEFINES = re.compile(r"(?P<other>(?:.*[{;])?)\s*(?:const|let|var|local)\s+|\s*")
"""What may stand before a name in the line that defines it."""


def _assigned(code: Code) -> set[str]:
    return {found["name"] for found in _ASSIGNED.finditer(code.mask)}


def _values(code: Code, name: str) -> list[Code]:
    return [
        code.cut(found.end(), _end_of_value(code, found.end())).strip()
        for found in _ASSIGNED.finditer(code.mask)
        if found["name"] == name
    ]


def _end_of_value(code: Code, start: int) -> int:
    """Return where a value ends that begins at a place."""
    depth = 0
    for index in range(start, len(code.mask)):
        char = code.mask[index]
        depth += (char in "([{") - (char in ")]}")
        if depth < 0 or (depth == 0 and char == ";"):
            return index
        if depth == 0 and char == "\n":
            following = code.mask[index:].lstrip()
            before = code.mask[start:index].rstrip()
            if before and not following.startswith(".") and before[-1] not in "+-*/,(=.":
                return index
    return len(code.mask)


def _is_of(value: Code, own: set[str], how: Exercises) -> bool:
    """Tell whether a value is a call of the submission, one of its objects, or a part of these."""
    mask = how.prefix.sub("", value.mask)
    word = _WORD.match(mask)
    if word is None or word[0] not in own:
        return False
    rest = Code(mask, mask).cut(word.end(), len(mask))
    while rest.mask:
        rest = rest.strip()
        if rest.mask.startswith(("(", "[")):
            end = rest.end_of_brackets(1)
            if end is None:
                return False
            rest = rest.cut(end + 1, len(rest.mask))
        elif (member := re.match(r"[?!]?[.:]\s*(\w+)|!", rest.mask)) is not None:
            if member[1] in how.judging:
                return False
            rest = rest.cut(member.end(), len(rest.mask))
        else:
            return not rest.mask.strip()
    return True


def _require_own(assertion: _Assertion, own: set[str], how: Exercises) -> None:
    actual = assertion.actual
    mentioned = own & set(_WORD.findall(actual.mask))
    if not (mentioned if assertion.matcher.is_of_a_function else _is_of(actual, own, how)):
        _refuse("an assertion is about more than a value of the submission", actual.text)


def _expected_values(
    code: Code, found: list[_Assertion], own: set[str], how: Exercises
) -> tuple[list[str], Code]:
    """Return the expected values, and the source without the names that stand for them.

    Raises:
        SuiteError: A value comes from the submission, or its name is also used elsewhere.
    """
    outside = code
    for each in found:
        outside = outside.blank(each.start, each.end)
    named = {word for each in found for word in _NAME.findall(each.argument.mask)}
    names: set[str] = set()
    defined: dict[str, list[tuple[int, int, int]]] = {}
    for match in _ASSIGNED.finditer(code.mask):
        line = code.mask.rfind("\n", 0, match.start()) + 1
        defines = _DEFINES.fullmatch(code.mask, line, match.start())
        is_inside = any(each.start < match.start() < each.end for each in found)
        if match["name"] in named and defines and not is_inside:
            end = _end_of_value(code, match.end())
            defined.setdefault(match["name"], []).append(
                (max(line, defines.end("other")), match.end(), end)
            )
    values: list[str] = []
    for each in found:
        text = each.argument.text
        for name in dict.fromkeys(_NAME.findall(each.argument.mask)):
            before = [place for place in defined.get(name, []) if place[0] < each.start]
            if before:
                value = code.text[before[-1][1] : before[-1][2]].strip()
                text = _replaced(text, name, f"({value})", how)
        words = set(_NAME.findall(_mask(text, how)))
        values.append(text)
        if "{expected}" not in each.matcher.expected:
            continue
        if own & words:
            _refuse("the tests expect what the submission computes", text)
        names |= words - _HARMLESS
    for start, _, end in (place for places in defined.values() for place in places):
        code, outside = code.blank(start, end), outside.blank(start, end)
    for name in names | defined.keys():
        if re.search(rf"(?<![\w$.]){re.escape(name)}(?![\w$])", outside.mask):
            _refuse("a name of an expected value is also used elsewhere", name)
    return values, code


def _mask(text: str, how: Exercises) -> str:
    return without_comments(text, how.comments, how.texts)[1]


def _replaced(text: str, name: str, value: str, how: Exercises) -> str:
    """Return an expression with a value in place of a name, except in texts."""
    parts, end = list[str](), 0
    for found in _NAME.finditer(_mask(text, how)):
        if found[0] == name:
            parts += [text[end : found.start()], value]
            end = found.end()
    return "".join([*parts, text[end:]])


def _refuse(why: str, text: str) -> NoReturn:
    shown = text.strip().split("\n")[0][:_SHOWN_CHARS]
    message = f"{why}: {shown!r}"
    raise SuiteError(message)
