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
_SAME_TEXT = re.compile(r"(?:JSON\.stringify|std::string|string|String|Dumper)\s*\(")
_JOINED = re.compile(r"join\s*\(\s*'_*'\s*,")
"""A list as text. No single item of it decides whether a comparison of the text holds."""
_EQUALS = re.compile(r"\.(?:[eE]quals|SequenceEqual)\s*\(")
_TWO_EQUAL = re.compile(
    r"(?:issame|isSame|is_same|same|Objects\.equals|(?:java\.util\.)?Arrays\.equals|arraysEqual"
    r"|identical|all\.equal)\s*\("
)
_COMPARED = re.compile(r"\.compare(?:To)?\s*\(")
_TWO_COMPARED = re.compile(r"(?:std::)?strcmp\s*\(")
"""These are 0 if two values are equal."""
_NEGATED = re.compile(r"(?:!|not\b)\s*(?=[\w$(\[])")
_CAST = re.compile(r"\(\s*(?:int|long|double|float|boolean|char|String)\s*\)\s*(?=[\w$])")
_RELATIONS = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
"""Each with the one that holds if the sides are exchanged."""
_OPPOSITE = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}
_NUMBERS = re.compile(rf"[-+*/\s()]*(?:{_NUMBER}[fFlL]?[-+*/\s()]*)+")
_LOOP = re.compile(
    r"\b(?:for|foreach|while|until|loop|each|forEach|times|map|filter|some|every|reduce|repeat)\b"
)
_ASSIGNS = r"(?::?=(?!=)|<-)"
"""What stands between a name and its value."""
_QUOTES = "\"'`"
_TEXT = r"""(?s:"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|'(?:\\[^\n][^'\n]*|[^'\\\n]*)')"""
_WORD = re.compile(r"\$?[A-Za-z_]\w*")
_SHOWN_CHARS = 120


class _Pair(NamedTuple):
    actual: str
    expected: str
    within: float | None = None
    relation: str = ""
    """As in `grader.model.ExpressionCase`."""
    repeats: bool = False
    """As there."""


class _Found(NamedTuple):
    """An assertion: where it is, and what it compares."""

    start: int
    end: int
    pairs: list[_Pair]
    between: str = "; "
    """The separator of the two statements that replace an assertion of two values."""


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

    def end_of_statement(self, start: int, ends: str) -> int:
        """Return where a statement ends: at one of some characters, or where its block ends."""
        depth = 0
        for index in range(start, len(self.mask)):
            char = self.mask[index]
            if depth == 0 and char in ends + _CLOSE:
                return index
            depth += (char in _OPEN) - (char in _CLOSE)
        return len(self.mask)

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
    for pair in (pair for each in found for pair in each.pairs):
        if calls.search(_mask(pair.expected)):
            message = f"the tests expect what the submission computes: {pair.expected[:120]!r}"
            raise SuiteError(message)
    around, cases, end = list[str](), list[ExpressionCase](), 0
    for each in found:
        for number, pair in enumerate(each.pairs):
            around.append(code.text[end : each.start] if number == 0 else each.between)
            cases.append(
                ExpressionCase(
                    id=str(len(cases)),
                    actual=pair.actual,
                    expected=in_type_of_call(how.expected, pair.actual, pair.expected),
                    within=pair.within,
                    relation=pair.relation,
                )
            )
        end = each.end
    if not cases:
        message = "the tests assert nothing that is known to be an assertion"
        raise SuiteError(message)
    return ExpressionTests(cases=tuple(cases), around=(*around, code.text[end:]))


def _without_expected_names(
    code: Code, found: list[_Found], how: Assertions
) -> tuple[Code, list[_Found]]:
    """Replace names of expected values by these values, and remove the names' definitions.

    Otherwise the expected values would be in the submission's program.

    Raises:
        SuiteError: A name has several values, or is also used elsewhere.
    """
    expected = [pair.expected for each in found for pair in each.pairs]
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
        for first, last in [(start, end), *(each[:2] for each in found)]:
            others = others.blank(first, last)
        if more or not _is_balanced(values[name]) or re.search(rf"\b{name}\b", others.mask):
            message = f"the tests expect {name!r}, which has several values or is used elsewhere"
            raise SuiteError(message)
        code = code.blank(start, end)
    return code, [
        each._replace(
            pairs=[pair._replace(expected=_put(values, pair.expected)) for pair in each.pairs]
        )
        for each in found
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

    def assertions(self) -> Iterator[_Found]:
        """Yield the assertions in order."""
        code, end = self._code, 0
        for found in self._how.start.finditer(code.mask):
            if found.start() < end:
                continue
            inner, end = self._extent(found)
            form = found.lastgroup or "condition"
            if form != "listed":
                self._refuse_repeated(found.start())
                pairs = self._pairs(form, inner, code.text[found.start() : end])
                yield _Found(found.start(), end, pairs)
                continue
            at = found.end()
            for part in inner.split(","):
                at = code.text.index(part.text, at)
                if part.text:
                    yield _Found(at, at + len(part.text), self._conditions(part), ", ")
                at += len(part.text)

    def _extent(self, found: re.Match[str]) -> tuple[Code, int]:
        """Return the contents of an assertion, and its end."""
        code, start = self._code, found.end()
        if found[0].endswith("("):
            close = code.end_of_brackets(start)
            if close is None:
                self._refuse(code.text[found.start() :])
            return code.cut(start, close), close + 1
        close = code.end_of_statement(start, self._how.ends)
        return code.cut(start, close), close

    def _pairs(self, form: str, inner: Code, whole: str) -> list[_Pair]:
        if form == "condition":
            return self._conditions(inner.split(self._how.before_message)[0])
        parts = inner.split(",")
        if form == "denial":
            return self._denials(parts[0])
        if parts[0].text == "t":  # Go's `*testing.T`
            parts = parts[1:]
        within = self._number(parts[2]) if form == "close" and len(parts) > 2 else None
        if form == "unknown" or len(parts) < 2 or (form == "close" and within is None):
            self._refuse(whole)
        actual, expected = parts[:2] if form == "actual_first" else parts[1::-1]
        pair = self._pair(actual, expected)
        return [pair if within is None else pair._replace(within=within)]

    def _conditions(self, condition: Code) -> list[_Pair]:
        """Read a condition that must be true."""
        condition = condition.strip()
        while (inner := condition.inside(_AROUND_CONDITION)) is not None:
            condition = inner
        parts = condition.split("&&", " and ")
        if len(parts) > 1:
            return [pair for part in parts for pair in self._conditions(part)]
        if len(condition.split("||", " or ", "?")) > 1:
            self._refuse(condition.text)
        sides = condition.split("!==", "!=", " ne ")
        if len(sides) == 2:
            return [self._pair(*sides)._replace(relation="!=")]
        sides = condition.split("===", "==", " eq ")
        if len(sides) == 2:
            return [self._pair(*sides)]
        negated = _NEGATED.match(condition.mask)
        if negated is not None:
            return self._denials(condition.cut(negated.end(), len(condition.mask)))
        return [self._close(condition) or self._related(condition) or self._bare(condition)]

    def _denials(self, condition: Code) -> list[_Pair]:
        """Read a condition that must be false."""
        condition = condition.strip()
        while (inner := condition.inside(_AROUND_CONDITION)) is not None:
            condition = inner
        parts = condition.split("||", " or ")
        if len(parts) > 1:
            return [pair for part in parts for pair in self._denials(part)]
        if len(condition.split("&&", " and ", "?")) > 1:
            self._refuse(condition.text)
        sides = condition.split("!==", "!=", " ne ")
        if len(sides) == 2:
            return [self._pair(*sides)]
        negated = _NEGATED.match(condition.mask)
        if negated is not None:
            return self._conditions(condition.cut(negated.end(), len(condition.mask)))
        sides = condition.split("===", "==", " eq ")
        if len(sides) == 2:
            return [self._pair(*sides)._replace(relation="!=")]
        close = self._close(condition, denied=True) or self._related(condition, denied=True)
        return [close or self._bare(condition, denied=True)]

    def _pair(self, actual: Code, expected: Code) -> _Pair:
        if self._is_expected_first(actual, expected):
            actual, expected = expected, actual
        if (inner := actual.inside(_SAME_TEXT)) is not None:
            other = expected.inside(_SAME_TEXT)
            if other is None and actual.mask.startswith("JSON"):
                self._require_value(inner)
                return _Pair(actual.text, expected.text)  # The latter is JSON already.
            actual, expected = inner, other or expected
        truth = expected.text
        if truth == "0" and (pair := self._same(actual, _TWO_COMPARED, _COMPARED)) is not None:
            return pair
        if truth in ("true", "false", "True", "False") and not self._is_value(actual):
            is_true = truth in ("true", "True")
            found = self._conditions(actual) if is_true else self._denials(actual)
            if len(found) == 1:
                return found[0]
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        joined = actual.inside(_JOINED)
        self._require_value(actual if joined is None else _unreferenced(joined))
        return _Pair(actual.text, expected.text)

    def _is_expected_first(self, first: Code, second: Code) -> bool:
        if self._mentions(first) or self._mentions(second):
            return not self._mentions(first)
        return not self._is_value(first) and self._is_value(second)

    def _close(self, condition: Code, *, denied: bool = False) -> _Pair | None:
        """Read `abs(ACTUAL - EXPECTED) < WITHIN`, and the same as a method."""
        sides = condition.split(">=", ">") if denied else condition.split("<=", "<")
        if len(sides) != 2 or (within := self._number(sides[1])) is None:
            return None
        difference = sides[0].inside(_ABSOLUTE)
        if difference is None and sides[0].mask.endswith(".abs()"):
            bare = sides[0].cut(0, len(sides[0].mask) - len(".abs()"))
            difference = bare.inside(_BRACKET)
        if difference is None:
            return None
        actual, sign, other = _last_term(difference)
        if not actual.text:
            return None
        expected = other.text if sign == "-" else f"-({other.text})"
        if not self._mentions(actual) and self._mentions(other):
            if sign == "+":
                return None
            actual, expected = other, actual.text
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        self._require_value(actual)
        return _Pair(actual.text, expected, within)

    def _related(self, condition: Code, *, denied: bool = False) -> _Pair | None:
        """Read `ACTUAL < BOUND` and other comparisons with numbers."""
        around = condition.inside(_ABSOLUTE)  # of a truth value
        condition = condition if around is None else around
        for relation in _RELATIONS:
            sides = condition.split(relation)
            if len(sides) == 2:
                break
        else:
            return None
        actual, bound = sides
        if _NUMBERS.fullmatch(actual.text):
            actual, bound, relation = bound, actual, _RELATIONS[relation]
        if not _NUMBERS.fullmatch(bound.text):
            return None
        expected = bound.text
        first, sign, other = _last_term(actual)
        if first.text and _NUMBERS.fullmatch(other.text):
            actual = first
            expected = f"({expected}) {'+' if sign == '-' else '-'} ({other.text})"
        self._require_value(actual)
        relation = _OPPOSITE[relation] if denied else relation
        return _Pair(actual.text, expected, relation=relation)

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
        call = condition
        while (inner := call.inside(_BRACKET)) is not None:
            call = inner
        if (pair := self._same(call, _TWO_EQUAL, _EQUALS)) is not None:
            return pair._replace(relation="!=") if denied else pair
        if (pair := self._same(call, _TWO_COMPARED, _COMPARED)) is not None:
            return pair if denied else pair._replace(relation="!=")
        if not self._is_value(call):
            self._refuse(condition.text)
        expected = self._how.false if denied else self._how.true
        return _Pair(self._how.truth.replace("{}", call.text), expected)

    def _same(self, call: Code, function: re.Pattern[str], method: re.Pattern[str]) -> _Pair | None:
        """Read a call that compares two values."""
        both = call.inside(function)
        if both is not None and len(parts := both.split(",")) == 2:
            actual, expected = parts
            if self._is_expected_first(actual, expected):
                actual, expected = expected, actual
            self._require_value(actual)
            return _Pair(actual.text, expected.text, self._within_of(call))
        for found in method.finditer(call.mask):
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

    def _is_value(self, code: Code, most_names: int = 4) -> bool:
        """Tell whether an expression is a call of the submission, or reads a part of its result."""
        cast = _CAST.match(code.mask)
        code = code if cast is None else code.cut(cast.end(), len(code.mask))
        if self._is_call(code.mask):
            return True
        word = _WORD.match(code.mask)
        if word is None or not _is_access(code.mask[word.end() :]):
            return False
        given = self._given(word[0])
        return (bool(given) or self._is_passed(word[0])) and all(
            most_names > 0 and self._is_value(each, most_names - 1) for each in given
        )

    def _given(self, word: str) -> list[Code]:
        """Return what is assigned to a name, by itself or with others."""
        assigned = re.compile(
            rf"(?<![\w$.]){re.escape(word)}\s*(?:[,:][^=;\n()]*|[\])}}])?\s*{_ASSIGNS}\s*"
        )
        code = self._code
        return [
            code.cut(found.end(), code.end_of_statement(found.end(), ";\n")).strip()
            for found in assigned.finditer(code.mask)
        ]

    def _is_passed(self, word: str) -> bool:
        """Tell whether the submission gets a pointer to what has a name."""
        pointer = re.compile(rf"(?<![\w&])&\s*{re.escape(word)}\s*[,)]")
        code, calls = self._code, self._call.finditer(self._code.mask)
        ends = ((found.end(), code.end_of_brackets(found.end())) for found in calls)
        return any(
            end is not None and pointer.search(code.mask, start, end + 1) for start, end in ends
        )

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


def _last_term(code: Code) -> tuple[Code, str, Code]:
    """Split a sum or difference at its last sign outside of brackets."""
    for between in (" - ", " + ", "-", "+"):
        *_, last = parts = code.split(between)
        if len(parts) > 1 and last.text:
            first = code.cut(0, code.text.rindex(last.text)).strip()
            return first.cut(0, len(first.text) - 1).strip(), first.text[-1:], last
    return code.cut(0, 0), "", code


_ACCESS = re.compile(
    r"""(?:\s*(?:\.\w+[?!]?(?:\(\w*\))?|(?:->)?\[-?\w+\]|(?:->)?\[(?:'_*'|"_*")\]|->\w+"""
    r"""|(?:->)?\{\w+\}|\$\w+|\[\[(?:\w+|'_*'|"_*")\]\]))*\s*"""
)


def _is_access(rest: str) -> bool:
    """Tell whether the source after a value only reads a part of the value."""
    return _ACCESS.fullmatch(rest) is not None
