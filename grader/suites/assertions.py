"""Reads tests that people wrote as assertions in another language than Python.

Each assertion becomes a case of expressions: it is replaced by a statement that shows a value. In
the submission's program, that is the value of the call; in another program, the expected value. So
it must be possible to split the condition into these two. If more than the call is on the
submission's side, the submission could redefine it, so the row is refused.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from grader.languages import Assertions, in_type_of_call
from grader.languages.language import without_comments
from grader.languages.reading_tests import end_of_brackets, refuse, require_short
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError

_OPEN, _CLOSE = "([{", ")]}"
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TOLERANCE = re.compile(rf"({_NUMBER})[fFlL]?")
_ABSOLUTE = re.compile(r"(?:\w+(?:\.|::))?f?[aA]bs[fl]?\s*\(")
_SAME_TEXT = re.compile(r"(?:JSON\.stringify|std::string|string|String)\s*\(")
_JOINED = re.compile(r"join\s*\(\s*'_*'\s*,")
"""A list as text. No single item of it decides whether a comparison of the text holds."""
_EQUALS = re.compile(r"\.(?:[eE]quals|SequenceEqual)\s*\(")
_TWO_EQUAL = re.compile(
    r"(?:issame|isSame|is_same|same|Objects\.equals|(?:java\.util\.)?Arrays\.equals|arraysEqual"
    r"|strcmp|identical|all\.equal)\s*\("
)
_LOOP = re.compile(
    r"\b(?:for|foreach|while|until|loop|each|forEach|times|map|filter|some|every|reduce|repeat)\b"
)
_ASSIGNS = r"(?::?=(?!=)|<-)"
"""What stands between a name and its value."""
_QUOTES = "\"'`"
_TEXT = r"""(?s:"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|'(?:\\[^\n][^'\n]*|[^'\\\n]*)')"""
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_SHOWN_CHARS = 120


class _Pair(NamedTuple):
    actual: str
    expected: str
    within: float | None = None


class Code(NamedTuple):
    """A piece of source, and its mask: the same without the contents of comments and texts."""

    text: str
    mask: str

    @classmethod
    def of(cls, source: str, comments: str, texts: str = _TEXT) -> "Code":
        """Return source without its comments.

        They may contain expected values, which must not be in the submission's program.
        """
        text = without_comments(source, comments, texts)
        return cls(text, _mask(text, texts))

    def cut(self, start: int, end: int) -> "Code":
        """Return the part between two places."""
        return Code(self.text[start:end], self.mask[start:end])

    def strip(self) -> "Code":
        """Return the source without blanks at its ends."""
        start = len(self.mask) - len(self.mask.lstrip())
        return self.cut(start, max(start, len(self.mask.rstrip())))

    def blank(self, start: int, end: int) -> "Code":
        """Return the source with a part of it replaced by blanks."""
        between = re.sub(r"[^\n]", " ", self.text[start:end])
        return Code(*(each[:start] + between + each[end:] for each in self))

    def split(self, *separators: str) -> "list[Code]":
        """Return the parts between those separators that are outside all brackets."""
        parts, start, depth, index = [], 0, 0, 0
        while index < len(self.mask):
            char = self.mask[index]
            depth += (char in _OPEN) - (char in _CLOSE)
            found = next((each for each in separators if self.mask.startswith(each, index)), None)
            if depth == 0 and found is not None:
                parts.append(self.cut(start, index).strip())
                start = index = index + len(found)
            else:
                index += 1
        return [*parts, self.cut(start, len(self.mask)).strip()]

    def end_of_brackets(self, start: int) -> int | None:
        """Return the index of the bracket that closes the one open at `start`."""
        return end_of_brackets(self.mask, start)

    def inside(self, pattern: re.Pattern[str]) -> "Code | None":
        """Return the contents of a call that begins as `pattern`, if it is the whole source."""
        found = pattern.match(self.mask)
        if found is None or self.end_of_brackets(found.end()) != len(self.mask) - 1:
            return None
        return self.cut(found.end(), len(self.mask) - 1).strip()


_BRACKET = re.compile(r"\(")
_AROUND_CONDITION = re.compile(r"(?:all|isTRUE)?\s*\(")
"""In R, these functions tell whether all of a condition is true."""


def read_assertions(source: str, how: Assertions, entry_point: str) -> ExpressionTests:
    """Return the cases of some tests.

    Args:
        source: The tests, which follow the submission.
        how: How such tests are written.
        entry_point: The function or method of the submission that they call.

    Raises:
        SuiteError: There is no assertion, or one that cannot be taken apart.
    """
    require_short(source)
    if how.read is not None:
        return how.read(without_comments(source, how.comments, _TEXT), entry_point)
    if how.prepare is not None:
        source = how.prepare(source)
    code = Code.of(source, how.comments)
    found = list(_Reader(code, how, entry_point).assertions())
    code, found = _without_expected_names(code, found, how)
    calls = re.compile(rf"(?<![\w$]){re.escape(entry_point)}\s*\(")
    for pair in (pair for _, _, pairs in found for pair in pairs):
        if calls.search(_mask(pair.expected)):
            message = f"the tests expect what the submission computes: {pair.expected[:120]!r}"
            raise SuiteError(message)
    around, cases, end = list[str](), list[ExpressionCase](), 0
    for start, stop, pairs in found:
        for number, pair in enumerate(pairs):
            around.append(code.text[end:start] if number == 0 else how.between)
            cases.append(
                ExpressionCase(
                    id=str(len(cases)),
                    actual=pair.actual,
                    expected=in_type_of_call(how.expected, pair.actual, pair.expected),
                    within=pair.within,
                )
            )
        end = stop
    if not cases:
        message = "the tests assert nothing that is known to be an assertion"
        raise SuiteError(message)
    return ExpressionTests(cases=tuple(cases), around=(*around, code.text[end:]))


_Found = tuple[int, int, list[_Pair]]
"""The start and end of an assertion, and what it compares."""


def _without_expected_names(
    code: Code, found: list[_Found], how: Assertions
) -> tuple[Code, list[_Found]]:
    """Replace names of expected values by these values, and remove the names' definitions.

    Otherwise the expected values would be in the submission's program.

    Raises:
        SuiteError: A name has several values, or is also used elsewhere.
    """
    expected = [pair.expected for _, _, pairs in found for pair in pairs]
    names = {name for text in expected for name in _WORD.findall(_mask(text))}
    values: dict[str, str] = {}
    for name in sorted(names):
        defined = list(_definition(name).finditer(code.mask))
        if not defined:
            continue
        (start, end), *more = [each.span() for each in defined]
        value = code.text[defined[0].start("value") : end].rstrip("; \t")
        values[name] = (
            how.named.replace("{definition}", code.text[start:end].strip())
            .replace("{name}", name)
            .replace("{value}", value)
        )
        others = code
        for first, last, _ in [(start, end, []), *found]:
            others = others.blank(first, last)
        if more or not _is_balanced(values[name]) or re.search(rf"\b{name}\b", others.mask):
            message = f"the tests expect {name!r}, which has several values or is used elsewhere"
            raise SuiteError(message)
        code = code.blank(start, end)
    return code, [
        (start, end, [pair._replace(expected=_put(values, pair.expected)) for pair in pairs])
        for start, end, pairs in found
    ]


def _definition(name: str) -> re.Pattern[str]:
    """Return a pattern that finds the line that defines a name."""
    return re.compile(
        rf"^[ \t]*(?:[\w<>:,*&]+[ \t]+)*[*&$]?{re.escape(name)}(?:\[\w*\])?[ \t]*(?::[^=\n]*)?"
        rf"{_ASSIGNS}[ \t]*(?P<value>[^\n]*)$",
        re.MULTILINE,
    )


def _is_balanced(text: str) -> bool:
    return all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}"))


def _put(values: dict[str, str], expression: str) -> str:
    if expression in values:
        return values[expression]
    for name, value in values.items():
        parts = re.split(rf"\$?(?<!\w){re.escape(name)}(?!\w)", expression)
        expression = value.join(parts)
    return expression


def _mask(text: str, texts: str = _TEXT) -> str:
    def hidden(found: re.Match[str]) -> str:
        inner = "_" * (len(found[0]) - 2)
        # Only a text that begins and ends alike, or with a pair of brackets, keeps its ends.
        is_plain = found[0][0] in _QUOTES or found[0].startswith("[[")
        return f"{found[0][0]}{inner}{found[0][-1]}" if is_plain else f"__{inner}"

    return re.sub(texts, hidden, text)


def _loops(mask: str, *, has_braces: bool) -> list[tuple[int, int]]:
    """Return the start and end of each part of the source that may run more than once."""
    if not has_braces:
        found = _LOOP.search(mask)
        return [] if found is None else [(found.start(), len(mask))]
    loops, stack = [], list[tuple[int, bool]]()
    for index, char in enumerate(mask):
        if char in _OPEN:
            inside = bool(stack) and stack[-1][1]
            head = mask[mask.rfind("\n", 0, index) + 1 : index]
            stack.append((index, inside or _LOOP.search(head) is not None))
        elif char in _CLOSE and stack:
            start, is_loop = stack.pop()
            if is_loop and not (stack and stack[-1][1]):
                loops.append((start, index))
    return loops


class _Reader:
    def __init__(self, code: Code, how: Assertions, entry_point: str) -> None:
        self._code = code
        self._how = how
        self._entry_point = entry_point
        name = re.escape(entry_point)
        self._call = re.compile(rf"(?:[\w$]+\s*(?:::|\.))?{name}\s*\(")
        self._repeated = _loops(code.mask, has_braces=how.has_braces)
        self._mention = re.compile(rf"(?<![\w$]){name}(?![\w$])")

    def assertions(self) -> Iterator[tuple[int, int, list[_Pair]]]:
        """Yield the start and end of each assertion, and what it compares."""
        code, end = self._code, 0
        for found in self._how.start.finditer(code.mask):
            if found.start() < end:
                continue
            inner, end = self._extent(found)
            form = found.lastgroup or "condition"
            if form != "listed":
                self._refuse_repeated(found.start())
                yield found.start(), end, self._pairs(form, inner, code.text[found.start() : end])
                continue
            at = found.end()
            for part in inner.split(","):
                at = code.text.index(part.text, at)
                if part.text:
                    yield at, at + len(part.text), self._conditions(part)
                at += len(part.text)

    def _extent(self, found: re.Match[str]) -> tuple[Code, int]:
        """Return the contents of an assertion, and its end."""
        code, start = self._code, found.end()
        if found[0].endswith("("):
            close = code.end_of_brackets(start)
            if close is None:
                self._refuse(code.text[found.start() :])
            return code.cut(start, close), close + 1
        ends = self._how.ends
        close = next(
            (index for index in range(start, len(code.mask)) if code.mask[index] in ends),
            len(code.mask),
        )
        return code.cut(start, close), close

    def _pairs(self, form: str, inner: Code, whole: str) -> list[_Pair]:
        if form == "condition":
            return self._conditions(inner.split(self._how.before_message)[0])
        parts = inner.split(",")
        if form == "denial":
            sides = parts[0].split("!=", " ne ")
            return [self._pair(*sides) if len(sides) == 2 else self._bare(parts[0], denied=True)]
        if parts[0].text == "t":  # Go's `*testing.T`
            parts = parts[1:]
        within = self._number(parts[2]) if form == "close" and len(parts) > 2 else None
        if form == "unknown" or len(parts) < 2 or (form == "close" and within is None):
            self._refuse(whole)
        actual, expected = parts[:2] if form == "actual_first" else parts[1::-1]
        pair = self._pair(actual, expected)
        return [pair if within is None else pair._replace(within=within)]

    def _conditions(self, condition: Code) -> list[_Pair]:
        condition = condition.strip()
        while (inner := condition.inside(_AROUND_CONDITION)) is not None:
            condition = inner
        parts = condition.split("&&", " and ")
        if len(parts) > 1:
            return [pair for part in parts for pair in self._conditions(part)]
        if len(condition.split("||", " or ", "?")) > 1:
            self._refuse(condition.text)
        sides = condition.split("===", "==", " eq ")
        if len(sides) == 2:
            return [self._pair(*sides)]
        return [self._close(condition) or self._bare(condition)]

    def _pair(self, actual: Code, expected: Code) -> _Pair:
        if not self._mentions(actual) and self._mentions(expected):
            actual, expected = expected, actual
        if (inner := actual.inside(_SAME_TEXT)) is not None:
            other = expected.inside(_SAME_TEXT)
            if other is None and actual.mask.startswith("JSON"):
                self._require_value(inner)
                return _Pair(actual.text, expected.text)  # The latter is JSON already.
            actual, expected = inner, other or expected
        truth = expected.text
        if truth in ("true", "false", "0", "True", "False") and not self._is_value(actual):
            condition = self._conditions(actual)
            strcmp = truth == "0" and actual.mask.startswith("strcmp")
            if len(condition) == 1 and (truth in ("true", "True") or strcmp):
                return condition[0]
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        joined = actual.inside(_JOINED)
        self._require_value(actual if joined is None else _unreferenced(joined))
        return _Pair(actual.text, expected.text)

    def _close(self, condition: Code) -> _Pair | None:
        """Read `abs(ACTUAL - EXPECTED) < WITHIN`, and the same as a method."""
        sides = condition.split("<=", "<")
        if len(sides) != 2 or (within := self._number(sides[1])) is None:
            return None
        difference = sides[0].inside(_ABSOLUTE)
        if difference is None and sides[0].mask.endswith(".abs()"):
            bare = sides[0].cut(0, len(sides[0].mask) - len(".abs()"))
            difference = bare.inside(_BRACKET)
        if difference is None:
            return None
        *most, last = difference.split(" - ", "-")
        if not most or not most[0].text:
            return None
        actual = difference.cut(0, difference.text.rindex(last.text)).strip()
        actual = actual.cut(0, len(actual.text) - 1).strip()
        if not self._mentions(actual) and self._mentions(last):
            actual, last = last, actual
        self._require_value(actual)
        return _Pair(actual.text, last.text, within)

    def _number(self, code: Code) -> float | None:
        """Return the number that the code is, or that it names."""
        word = re.escape(code.text)
        given = re.search(
            rf"(?<![\w$.]){word}\s*(?::[^=\n]*)?(?::?=|<-)\s*([^;\n]*)", self._code.mask
        )
        found = _TOLERANCE.fullmatch(given[1].strip() if given else code.text)
        return None if found is None else float(found[1])

    def _bare(self, condition: Code, *, denied: bool = False) -> _Pair:
        """Read a condition that is a call, or a call of the tests' own function for equality."""
        negated = re.match(r"(?:!|not )\s*", condition.mask)
        call = condition.cut(negated.end(), len(condition.mask)) if negated else condition
        while (inner := call.inside(_BRACKET)) is not None:
            call = inner
        if not negated and not denied and (pair := self._same(call)) is not None:
            return pair
        if not self._is_value(call):
            self._refuse(condition.text)
        expected = self._how.false if bool(negated) != denied else self._how.true
        return _Pair(self._how.truth.replace("{}", call.text), expected)

    def _same(self, call: Code) -> _Pair | None:
        both = call.inside(_TWO_EQUAL)
        if both is not None and len(parts := both.split(",")) == 2:
            actual, expected = parts
            if not self._mentions(actual) and self._mentions(expected):
                actual, expected = expected, actual
            self._require_value(actual)
            return _Pair(actual.text, expected.text, self._within_of(call))
        for found in _EQUALS.finditer(call.mask):
            if call.end_of_brackets(found.end()) != len(call.mask) - 1:
                continue
            actual = call.cut(0, found.start())
            expected = call.cut(found.end(), len(call.mask) - 1).strip()
            if not self._mentions(actual) and self._is_value(expected):
                actual, expected = expected, actual
            if self._is_value(actual):
                return _Pair(actual.text, expected.text)
        return None

    def _within_of(self, call: Code) -> float | None:
        """Return the tolerance of the tests' own function for equality, if it has one."""
        name = call.mask.partition("(")[0].strip()
        defined = re.search(rf"\bbool\s+{re.escape(name)}\s*\([^)]*\)\s*\{{", self._code.mask)
        if defined is None:
            return None
        end = self._code.end_of_brackets(defined.end())
        body = self._code.mask[defined.end() : end]
        found = re.search(rf"abs\([^;]*\)\s*>=?\s*({_NUMBER})", body)
        return float(found[1]) if found else None

    def _mentions(self, code: Code) -> bool:
        return self._mention.search(code.mask) is not None

    def _is_value(self, code: Code) -> bool:
        """Tell whether an expression is a call of the submission, or reads a part of its result."""
        if self._is_call(code.mask):
            return True
        word = _WORD.match(code.mask)
        if word is None or not _is_access(code.mask[word.end() :]):
            return False
        given = re.findall(
            rf"(?<![\w$.]){re.escape(word[0])}\s*(?::[^=\n]*)?{_ASSIGNS}\s*(.*)",
            self._code.mask,
        )
        return len(given) == 1 and self._is_call(given[0].strip().removesuffix(";"))

    def _is_call(self, masked: str) -> bool:
        found = self._call.match(masked)
        if found is None:
            return False
        end = Code(masked, masked).end_of_brackets(found.end())
        return end is not None and _is_access(masked[end + 1 :])

    def _require_value(self, code: Code) -> None:
        if not self._is_value(code):
            self._refuse(code.text)

    def _refuse_repeated(self, start: int) -> None:
        """Refuse an assertion that may be evaluated more than once."""
        mask = self._code.mask
        if any(first < start < last for first, last in self._repeated):
            self._refuse(self._code.text[start:])
        head = mask[:start].rstrip()
        if head.endswith(")"):  # such as that of `for (...)`
            opened, depth = len(head) - 1, 1
            while depth and opened > 0:
                opened -= 1
                depth += (head[opened] in _CLOSE) - (head[opened] in _OPEN)
            word = re.search(r"\w+\s*$", head[max(0, opened - 20) : opened])
            if word is not None and _LOOP.fullmatch(word[0].strip()):
                self._refuse(self._code.text[start:])

    def _refuse(self, text: str) -> NoReturn:
        refuse("an assertion cannot be split into a call and an expected value", text)


def _unreferenced(code: Code) -> Code:
    """Return what the list `@name` or `@{...}` of Perl is the contents of."""
    inner = code.inside(re.compile(r"@\{"))
    return inner if inner is not None else code.cut(int(code.mask.startswith("@")), len(code.mask))


def _is_access(rest: str) -> bool:
    """Tell whether the source after a value only reads a part of the value."""
    return re.fullmatch(r"(?:\s*(?:\.\w+(?:\(\w*\))?|(?:->)?\[\w+\]|->\w+))*\s*", rest) is not None
