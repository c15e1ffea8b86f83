"""Reads tests of Exercism's tracks, such as `expect(f(2)).toBe(4)` of jest.

Each of these assertions becomes a case of expressions, as in `grader.suites.assertions`: the
submission's program shows the first value, and a program with a stand-in for the submission shows
the second one.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from grader.languages import Exercises
from grader.languages.language import Matcher, Named
from grader.languages.reading_tests import refuse, require_short
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError
from grader.suites.masked import Code, brackets, mask_of

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NAME = re.compile(r"(?<![\w$.])(?!_+(?!\w))[A-Za-z_$][\w$]*(?![\w$]|\s*(?:=(?!=)|:(?!:)))")
"""A word that is neither masked, nor the key of a table, nor the name of a member."""
_HARMLESS = frozenset(
    {
        *("true", "false", "null", "undefined", "nil", "NaN", "Infinity"),
        *("new", "and", "or", "not"),
        *("Map", "Set", "Date", "Math", "BigInt", "Number", "String", "Array", "Object", "Error"),
        *("function", "return", "const", "let", "local", "math", "string", "table"),
    }
)
"""Words in expected values that are not names of the tests."""
_GOES_ON = re.compile(r"\s*(?:[.+*/%?:|&<>=^-]|(?:and|or)\b)")
"""What a line begins with that continues the one before."""
_LOOP = re.compile(r"\b(?:for|foreach|while|do|forEach|map|each)\b")
_CHAINED = re.compile(r"\s*\.\s*(?P<name>\w+(?:\s*\.\s*\w+)*)\s*\(")
_ASSIGNED = re.compile(
    r"(?<![\w$.])(?P<name>[A-Za-z_$][\w$]*)[ \t]*(?::(?!:)(?P<type>[^=\n]*))?=(?![=>])\s*"
)
_MEMBER = re.compile(r"(?:[?!&]?[.:]|::|\?*->)\s*(\w+)[?!]?|::\s*<[\w\s,&]*>|!")
_LOOSER = ("||", "&&", " ? ", " | ", " & ", " ^ ")
"""Operators that take an equality for a part of their operands."""
_MOST_VALUE_CHARS = 8 * 1024


class _Assertion(NamedTuple):
    start: int
    end: int
    actual: Code
    matcher: Matcher
    argument: Code
    """What is expected."""
    at: int
    """Where the value over the submission begins."""


def read_exercise(
    source: str, how: Exercises, solution_path: str, example: str = ""
) -> tuple[ExpressionTests, str | None]:
    """Return the cases of a file of tests, and a name that the submission defines; None if unknown.

    Args:
        source: The file.
        how: How such files are written.
        solution_path: Where the file expects the submission.
        example: The exercise's own solution; empty if it has none.

    Raises:
        SuiteError: It takes nothing from the submission, asserts nothing, has an assertion that
            cannot be taken apart, or needs an example and has none.
    """
    require_short(source)
    if how.stub is None and not example:
        message = "the exercise has no example, from which the types of the tests' values come"
        raise SuiteError(message)
    program, names = how.program(source, solution_path, example)
    if not names:
        message = f"the tests take nothing from {solution_path}"
        raise SuiteError(message)
    code = Code.of(program, how.comments, how.texts)
    if how.start.search(code.mask) is None:
        refuse("the tests have no assertion", program)
    own = _own_names(code, names, how)
    found = _assertions(code, how, own)
    expected, code = _expected_values(code, found, own, how)
    around, cases, end = list[str](), list[ExpressionCase](), 0
    for number, (each, value) in enumerate(zip(found, expected, strict=True)):
        around.append(code.text[end : each.start])
        _require_own(each, own, how)
        cases.append(each.matcher.case(str(number), each.actual.text, value))
        end = each.end
    around.append(code.text[end:])
    tests = ExpressionTests(
        cases=tuple(cases),
        around=tuple(around),
        stub=example if how.stub is None else how.stub(names),
        solution_path=solution_path,
    )
    member = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*[.:]\s*(\w+)")
    defining = Code.of(example, how.comments, how.texts).mask
    called = (name for name in names if re.search(rf"\b{re.escape(name)}\s*\(", defining))
    return tests, (
        defined_name(defining, names)
        or next(called, None)
        or defined_name(defining, member.findall(code.mask))
    )


def defined_name(example: str, names: Sequence[str]) -> str | None:
    """Return the first of some names that an example defines by a keyword; None if there is none.

    Args:
        example: Its source.
        names: Names that tests may take from it.
    """
    kinds = "fn|func|function|sub|const|class|struct|enum|trait|interface|record|module|namespace"
    of = r"(?:\([^()]*\)\s*|\w+[.:])?"  # a receiver in Go, or a table in Lua
    defined = set(re.findall(rf"\b(?:{kinds})\s+{of}(\w+)", example))
    return next((name for name in names if name in defined), None)


def _assertions(code: Code, how: Exercises, own: set[str]) -> list[_Assertion]:
    """Return the assertions of some tests.

    Raises:
        SuiteError: One is not known, or may not be evaluated exactly once.
    """
    found: list[_Assertion] = []
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
        found.append(_Assertion(begun.start(), end + 1, actual, matcher, argument, at))
    return found


def _begins_statement(mask: str, place: int) -> bool:
    """Tell whether no `if (a)` or the like is ahead of a place, in a language with brackets."""
    before = mask[:place].rstrip()
    return before.endswith((";", "{", "}")) or before.rpartition("\n")[2].startswith("#")


def _of_arguments(
    code: Code, begun: re.Match[str], close: int, how: Exercises, own: set[str]
) -> _Assertion:
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
        is_second = not _is_of(first, own, how) or how.data.fullmatch(first.mask) is not None
    actual, expected = (second, first) if is_second else (first, second)
    if matcher.argument is not None:
        start = expected.text.index(matcher.argument)
        expected = expected.cut(start, start + len(matcher.argument)).strip()
    after = begun.end() + (len(first.text) if is_second else 0)
    at = code.text.index(actual.text, after)
    return _Assertion(begun.start(), close + 1, actual, matcher, expected, at)


def _tolerance(code: Code, begun: re.Match[str], rest: list[Code]) -> float:
    """Return the number that the third argument of an assertion is, or that its name has.

    Raises:
        SuiteError: It is not a number, nor the name of one.
    """
    text = rest[0].text if rest else ""
    if _NAME.fullmatch(text):
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


def _own_names(code: Code, names: tuple[str, ...], how: Exercises) -> set[str]:
    """Return the names of what the tests take from the submission, and of what these make."""
    own = set(names)
    values: dict[str, list[Code]] = {}
    for found in _ASSIGNED.finditer(code.mask):
        value = code.cut(found.end(), _end_of_value(code, found.end(), how)).strip()
        values.setdefault(found["name"], []).append(value)
    while True:
        made = {
            name
            for name, given in values.items()
            if name not in own and all(_is_of(value, own, how) for value in given)
        }
        if not made:
            return own
        own |= made


def _end_of_value(code: Code, start: int, how: Exercises) -> int:
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


_OPERATORS = (" + ", " - ", " * ", " / ", " ** ")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TOLERANCE = re.compile(r"\d*\.?\d+(?:[eE]-?\d+)?")


def _is_of(value: Code, own: set[str], how: Exercises) -> bool:
    """Tell whether a value is a call of the submission, one of its objects, or a part of these."""
    if len(terms := value.split(*_OPERATORS)) > 1:
        others = [each for each in terms if not _is_of(each, own, how)]
        return len(others) < len(terms) and all(_NUMBER.fullmatch(each.text) for each in others)
    mask = how.prefix.sub("", value.mask)
    word = _WORD.match(mask)
    if mask.startswith("("):
        end = value.end_of_brackets(1) if mask == value.mask else None
        if end is None or not _is_of(value.cut(1, end).strip(), own, how):
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


def _require_own(assertion: _Assertion, own: set[str], how: Exercises) -> None:
    actual = assertion.actual
    mentioned = own & set(_WORD.findall(actual.mask))
    if not (mentioned if assertion.matcher.is_of_a_function else _is_of(actual, own, how)):
        refuse("an assertion is about more than a value of the submission", actual.text)


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


def _expected_values(
    code: Code, found: list[_Assertion], own: set[str], how: Exercises
) -> tuple[list[str], Code]:
    """Return the expected values, and the source without the names that stand for them.

    Raises:
        SuiteError: A value comes from the submission, or its name is also used elsewhere.
    """
    outside = code
    for each in found:
        outside = outside.blank(each.start, each.at)
        outside = outside.blank(each.at + len(each.actual.text), each.end)
    named = {word for each in found for word in _NAME.findall(each.argument.mask)}
    definitions = _definitions(outside, named, how)
    mask = code.mask
    values, unknown = list[str](), set[str]()
    for each in found:
        text = each.argument.text
        for name in dict.fromkeys(_NAME.findall(each.argument.mask)):
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
        words = set(_NAME.findall(how.data.sub(" ", mask_of(text, how.texts)))) - how.words
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
    for match in _ASSIGNED.finditer(outside.mask):
        line = outside.mask.rfind("\n", 0, match.start()) + 1
        defines = how.defines.fullmatch(outside.mask, line, match.start())
        if match["name"] in named and defines:
            start = max(line, defines.end("other"))
            end = _end_of_value(outside, match.end(), how)
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
        end = _end_of_value(code, found.end() - 1, how)
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
    last: _Definition, all_of_it: list[_Definition], assertion: _Assertion, mask: str
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
    for found in _NAME.finditer(mask_of(text, how.texts)):
        if found[0] == name:
            parts += [text[end : found.start()], value]
            end = found.end()
    return "".join([*parts, text[end:]])
