"""The values that assertions of an exercise expect, with the values of names put in their place."""

import re
from itertools import chain
from typing import NamedTuple

from grader.languages import Exercises
from grader.languages.language import Named
from grader.languages.reading_tests import refuse
from grader.suites.chained.assertions import Assertion
from grader.suites.chained.names import ASSIGNED, NAME, end_of_value
from grader.suites.masked import Code, brackets, mask_of

_HARMLESS = frozenset(
    {
        *("true", "false", "null", "undefined", "nil", "NaN", "Infinity"),
        *("new", "and", "or", "not"),
        *("Map", "Set", "Date", "Math", "BigInt", "Number", "String", "Array", "Object", "Error"),
        *("function", "return", "const", "let", "local", "math", "string", "table"),
    }
)
"""Words in expected values that are not names of the tests."""


class _Definition(NamedTuple):
    """A line that gives a value to a name."""

    start: int
    is_declaration: bool
    type: str
    value: int
    """Where the value begins."""
    more: int
    """Where it ends, and statements begin that add to it."""
    end: int
    is_used: bool
    """Whether the tests use the name for anything but an expected value, up to the next such
    line."""


def expected_values(
    code: Code, found: list[Assertion], own: set[str], how: Exercises
) -> tuple[list[str], Code]:
    """Return the expected values, and the source without the names that stand for them.

    Raises:
        SuiteError: A value comes from the submission, or its name is also used elsewhere.
    """
    outside = code
    for each in found:
        outside = outside.blank(each.start, each.at)
        outside = outside.blank(each.at + len(each.actual.text), each.end)
    named = {word for each in found for word in NAME.findall(each.argument.mask)}
    definitions = _definitions(outside, named, how)
    mask = code.mask
    values, unknown = list[str](), set[str]()
    for each in found:
        text = each.argument.text
        for name in dict.fromkeys(NAME.findall(each.argument.mask)):
            before = [one for one in definitions[name] if one.start < each.start]
            if before and before[-1].is_used:
                refuse("a name of an expected value is also used elsewhere", name)
            if before and not _is_certain(before[-1], definitions[name], each, mask):
                refuse("a name of an expected value may have another value", name)
            if before:
                value = how.named(_named(name, before[-1], code))
                if value is None:
                    refuse("a name of an expected value is also used elsewhere", name)
                text = _replaced(text, name, value, how)
        values.append(text)
        words = set(NAME.findall(how.data.sub(" ", mask_of(text, how.texts)))) - how.words
        if "{expected}" not in each.matcher.expected:
            continue
        if own & words:
            refuse("the tests expect what the submission computes", text)
        unknown |= words - _HARMLESS
    for one in chain.from_iterable(definitions.values()):
        if not one.is_used:
            code, outside = code.blank(one.start, one.end), outside.blank(one.start, one.end)
    for name in unknown:
        if _uses(name).search(outside.mask):
            refuse("a name of an expected value is also used elsewhere", name)
    return values, code


def _named(name: str, definition: _Definition, code: Code) -> Named:
    _, _, type, value, more, end, _ = definition
    return Named(name, type, code.text[value:more].strip(), code.text[more:end].lstrip("; \n"))


def _definitions(outside: Code, named: set[str], how: Exercises) -> dict[str, list[_Definition]]:
    """Return the lines that define some names, outside of what the tests expect."""
    places: dict[str, list[tuple[int, bool, str, int, int, int]]] = {name: [] for name in named}
    for match in ASSIGNED.finditer(outside.mask):
        line = outside.mask.rfind("\n", 0, match.start()) + 1
        defines = how.defines.fullmatch(outside.mask, line, match.start())
        if match["name"] in named and defines:
            start = max(line, defines.end("other"))
            end = end_of_value(outside, match.end(), how)
            is_declaration = defines.end() > defines.end("other") and bool(
                defines[0][defines.end("other") - line :].strip()
            )
            type = (match["type"] or defines.groupdict().get("type") or "").strip()
            more = _end_of_additions(outside, match["name"], end, how)
            places[match["name"]].append((start, is_declaration, type, match.end(), end, more))
    found: dict[str, list[_Definition]] = {}
    for name, several in places.items():
        nexts = [*(start for start, *_ in several[1:]), len(outside.mask)]
        found[name] = [
            _Definition(*place, is_used=_uses(name).search(outside.mask, place[5], end) is not None)
            for place, end in zip(several, nexts, strict=False)
        ]
    return found


def _end_of_additions(code: Code, name: str, end: int, how: Exercises) -> int:
    """Return where the calls end that follow the definition of a name, such as `name.push(1);`."""
    call = re.compile(rf";\s*{re.escape(name)}\s*\.\s*\w+\s*\(")
    while (found := call.match(code.mask, end)) is not None:
        end = end_of_value(code, found.end() - 1, how)
        if code.mask[end : end + 1] != ";":
            return found.start()
    return end


def _is_inside(mask: str, place: int, bracket: int) -> bool:
    """Tell whether a place is in a bracket; -1 stands for the whole source."""
    return bracket < place < brackets(mask)[1].get(bracket, len(mask))


def _indent(mask: str, place: int) -> int:
    """Return how far the line of a place is indented."""
    line = mask[mask.rfind("\n", 0, place) + 1 :]
    return len(line) - len(line.lstrip(" \t"))


def _is_certain(
    last: _Definition, all_of_it: list[_Definition], assertion: Assertion, mask: str
) -> bool:
    """Tell whether a name has the value that was given to it last above an assertion.

    That is uncertain if the block in which it was given has ended, or if a block that may run at
    another time gives the name another value.
    """
    around = brackets(mask)[0]
    block = around[last.start]
    if not _is_inside(mask, assertion.start, block):
        return False
    if _indent(mask, last.start) > _indent(mask, assertion.start):
        return False
    return not any(
        not each.is_declaration
        and _is_inside(mask, each.start, block)
        and not _is_inside(mask, assertion.start, around[each.start])
        for each in all_of_it
    )


def _uses(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$.]){re.escape(name)}(?![\w$])")


def _replaced(text: str, name: str, value: str, how: Exercises) -> str:
    """Return an expression with a value in place of a name, except in texts."""
    parts, end = list[str](), 0
    for found in NAME.finditer(mask_of(text, how.texts)):
        if found[0] == name:
            parts += [text[end : found.start()], value]
            end = found.end()
    return "".join([*parts, text[end:]])
