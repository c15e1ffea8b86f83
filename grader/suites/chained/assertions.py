"""Finds the assertions of an exercise, such as `expect(f(2)).toBe(4)` of jest, and their values."""

import re
from typing import NamedTuple

from grader.languages import Exercises
from grader.languages.language import Matcher
from grader.languages.reading_tests import refuse
from grader.suites.chained.names import NAME, WORD, is_of
from grader.suites.masked import Code, brackets

_LOOP = re.compile(r"\b(?:for|foreach|while|do|forEach|map|each)\b")
_CHAINED = re.compile(r"\s*\.\s*(?P<name>\w+(?:\s*\.\s*\w+)*)\s*\(")
_LOOSER = ("||", "&&", " ? ", " | ", " & ", " ^ ")
"""Operators that take an equality for a part of their operands."""
_TOLERANCE = re.compile(r"\d*\.?\d+(?:[eE]-?\d+)?")


class Assertion(NamedTuple):
    """An assertion about a value of the submission."""

    start: int
    end: int
    actual: Code
    """The value of the submission."""
    matcher: Matcher
    argument: Code
    """What is expected."""
    at: int
    """Where the value over the submission begins."""


def find_assertions(code: Code, how: Exercises, own: set[str]) -> list[Assertion]:
    """Return the assertions of some tests.

    Raises:
        SuiteError: One is not known, or may not be evaluated exactly once.
    """
    found: list[Assertion] = []
    loops, around = _loops(code.mask), brackets(code.mask)[0]
    bodies = None if how.test is None else {each.end() - 1 for each in how.test.finditer(code.mask)}
    for begun in how.start.finditer(code.mask):
        shown = code.text[begun.start() :]
        if any(start < begun.start() < end for start, end in loops):
            refuse("an assertion is in a loop", shown)
        if bodies is not None and not (
            around[begun.start()] in bodies and _begins_statement(code.mask, begun.start())
        ):
            refuse("an assertion is not directly in a test", shown)
        close = code.end_of_brackets(begun.end())
        chained = None if close is None else _CHAINED.match(code.mask, close + 1)
        if begun.groupdict().get("kind") and close is not None:
            found.append(_of_arguments(code, begun, close, how, own))
            continue
        if close is None or chained is None:
            refuse("an assertion has no end", shown)
        end = code.end_of_brackets(chained.end())
        argument = _single(code.cut(chained.end(), end or chained.end()))
        matcher = how.matcher(re.sub(r"\s", "", chained["name"]), argument.text)
        goes_on = end is not None and _CHAINED.match(code.mask, end + 1)
        if end is None or matcher is None or goes_on:
            refuse("an assertion is of an unknown kind", shown)
        if matcher.argument is not None:
            at = argument.text.index(matcher.argument)
            argument = argument.cut(at, at + len(matcher.argument)).strip()
        actual = _single(code.cut(begun.end(), close))
        at = code.text.index(actual.text, begun.end())
        found.append(Assertion(begun.start(), end + 1, actual, matcher, argument, at))
    return found


def _begins_statement(mask: str, place: int) -> bool:
    """Tell whether no `if (a)` or the like is ahead of a place, in a language with brackets."""
    before = mask[:place].rstrip()
    return before.endswith((";", "{", "}")) or before.rpartition("\n")[2].startswith("#")


def _of_arguments(
    code: Code, begun: re.Match[str], close: int, how: Exercises, own: set[str]
) -> Assertion:
    """Return an assertion with all that it compares in one bracket."""
    whole = code.cut(begun.end(), close).strip()
    first, *more = whole.split(",")
    second = more[0] if more else first.cut(0, 0)
    matcher = how.matcher(begun["kind"], second.text)
    if matcher is not None and matcher.is_whole:
        first = whole
    kind = begun["kind"]
    while matcher is not None and matcher.negation and first.mask.startswith("!"):
        kind, first = matcher.negation, first.cut(1, len(first.mask)).strip()
        matcher = how.matcher(kind, second.text)
    if matcher is not None and matcher.is_condition and len(sides := first.split("==")) == 2:
        if len(first.split(*_LOOSER)) > 1:
            refuse("an assertion is about more than a value of the submission", first.text)
        first, second = sides
        matcher = how.matcher("==", second.text)
    if matcher is None:
        refuse("an assertion is of an unknown kind", code.text[begun.start() :])
    if matcher.has_tolerance:
        matcher = matcher._replace(within=_tolerance(code, begun, more[1:]))
    is_second = matcher.expected_first
    if matcher.either_first:
        is_second = not is_of(first, own, how) or how.data.fullmatch(first.mask) is not None
    actual, expected = (second, first) if is_second else (first, second)
    if matcher.argument is not None:
        start = expected.text.index(matcher.argument)
        expected = expected.cut(start, start + len(matcher.argument)).strip()
    after = begun.end() + (len(first.text) if is_second else 0)
    at = code.text.index(actual.text, after)
    return Assertion(begun.start(), close + 1, actual, matcher, expected, at)


def _tolerance(code: Code, begun: re.Match[str], rest: list[Code]) -> float:
    """Return the number that the third argument of an assertion is, or that its name has.

    Raises:
        SuiteError: It is not a number, nor the name of one.
    """
    text = rest[0].text if rest else ""
    if NAME.fullmatch(text):
        given = re.findall(rf"\b{re.escape(text)}\s*=\s*([^\s;]+)", code.mask)
        text = given[0] if len(given) == 1 else ""
    if not _TOLERANCE.fullmatch(text):
        refuse("a tolerance is not a number", code.text[begun.start() :])
    return float(text)


def _single(code: Code) -> Code:
    """Return what is in brackets, without a comma at its end."""
    code = code.strip()
    return code.cut(0, len(code.mask) - code.mask.endswith(","))


def _loops(mask: str) -> list[tuple[int, int]]:
    """Return where the brackets of loops begin and end."""
    return [
        (start, end)
        for start, end in brackets(mask)[1].items()
        if _LOOP.search(mask, mask.rfind("\n", 0, start) + 1, start)
    ]


def require_own(assertion: Assertion, own: set[str], how: Exercises) -> None:
    """Make sure that an assertion is about a value of the submission and nothing more.

    Raises:
        SuiteError: It is not.
    """
    actual = assertion.actual
    mentioned = own & set(WORD.findall(actual.mask))
    if not (mentioned if assertion.matcher.is_of_a_function else is_of(actual, own, how)):
        refuse("an assertion is about more than a value of the submission", actual.text)
