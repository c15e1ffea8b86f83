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
from grader.languages.reading_tests import refuse, require_short
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError
from grader.suites.expected_values import ASSIGNS, WORD, values_given, without_expected
from grader.suites.masked import CLOSING, OPENING, TEXTS, Code, brackets, mask_of

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


class _Pair(NamedTuple):
    actual: str
    expected: str
    within: float | None = None
    relation: str = ""
    """As in `grader.model.ExpressionCase`."""


class _Found(NamedTuple):
    """An assertion: where it is, and what it compares."""

    start: int
    end: int
    pairs: list[_Pair]
    repeats: bool = False
    """As in `grader.model.ExpressionCase`."""
    between: str = "; "
    """The separator of the two statements that replace an assertion of two values."""
    before: str = ""
    """What is put before these statements, and after them."""
    after: str = ""


_BRACKET = re.compile(r"\(")
_IN_LIST = re.compile(r"\[")
_CALLED = re.compile(r"(\w+)\s*\(")
_AROUND_VALUE = re.compile(r"(?:[A-Za-z_][\w.:]*)?\s*\(|@\{")
_LENGTH = re.compile(r"[#@](?=[\w$])")
"""What makes a length of a list's name, in Lua and Perl."""
_GUARD = re.compile(r"\bif\s*\(")
_GIVES_UP = re.compile(
    r"\b(?:throw|die|abort|stop)\b|\b(?:exit|Exit|quit)\s*\(|\breturn\s+(?:-?1|false|EXIT_FAILURE)\b"
)
_MOST_BODY_CHARS = 1024
_NESTED = re.compile(r"[{}]|\b(?:if|for|while|switch)\b")
_AROUND_CONDITION = re.compile(r"(?:all|isTRUE)?\s*\(")
"""In R, these functions tell whether all of a condition is true."""


def read_assertions(
    source: str, how: Assertions, entry_point: str, given: str = ""
) -> ExpressionTests:
    """Return the cases of some tests.

    Args:
        source: The tests, which follow the submission.
        how: How such tests are written.
        entry_point: The function or method of the submission that they call.
        given: The problem's own code.

    Raises:
        SuiteError: There is no assertion, or one that cannot be taken apart.
    """
    require_short(source)
    if how.read is not None:
        return how.read(without_comments(source, how.comments, TEXTS), entry_point)
    if how.prepare is not None:
        source = how.prepare(source)
    code = Code.of(source, how.comments)
    found = list(_Reader(code, how, entry_point, given).assertions())
    certain = [each for each in found if not each.pairs]
    for each in certain:
        code = code.blank(each.start, each.end)
    found = [each for each in found if each.pairs]
    pairs = [pair for each in found for pair in each.pairs]
    submitted = without_expected(
        code,
        ((each.start, each.end) for each in found),
        actual=(pair.actual for pair in pairs),
        expected=[pair.expected for pair in pairs],
    )
    calls = re.compile(rf"(?<![\w$]){re.escape(entry_point)}\s*\(")
    for pair in pairs:
        if calls.search(mask_of(pair.expected)):
            message = f"the tests expect what the submission computes: {pair.expected[:120]!r}"
            raise SuiteError(message)
    cases = [
        ExpressionCase(
            id=str(number),
            actual=pair.actual,
            expected=in_type_of_call(
                how.expected,
                pair.actual,
                how.named.replace("{name}", pair.expected)
                if WORD.fullmatch(pair.expected) and pair.expected not in _LITERALS
                else pair.expected,
            ),
            within=pair.within,
            relation=pair.relation,
            repeats=each.repeats,
        )
        for number, (each, pair) in enumerate((each, pair) for each in found for pair in each.pairs)
    ]
    if not cases:
        message = "the tests assert nothing that is known to be an assertion"
        raise SuiteError(message)
    around, around_expected = _around(submitted, found), _around(code, found)
    return ExpressionTests(
        cases=tuple(cases),
        around=around,
        around_expected=() if around_expected == around else around_expected,
    )


_LITERALS = frozenset(
    {"true", "false", "null", "nil", "None", "undefined", "TRUE", "FALSE", "NULL"}
)


def _around(code: Code, found: list[_Found]) -> tuple[str, ...]:
    """Return the source between the expressions of assertions."""
    around, end, after = list[str](), 0, ""
    for each in found:
        around.append(f"{after}{code.text[end : each.start]}{each.before}")
        around += [each.between] * (len(each.pairs) - 1)
        end, after = each.end, each.after
    return (*around, f"{after}{code.text[end:]}")


class _Loop(NamedTuple):
    """A part of the source that may run more than once."""

    start: int
    end: int
    counts: bool
    """Whether it runs for each of some numbers, and not for each item of a list."""


_COUNTS = re.compile(r";.*;|\bin\s+\(?-?\d+\s*\.\.|\bfor\s+\w+\s*=|\d\s*\.times\b")


def _loops(mask: str, *, has_braces: bool) -> list[_Loop]:
    if not has_braces:
        ends = ((found, mask.find("\n", found.start())) for found in _LOOP.finditer(mask))
        return [
            _Loop(found.start(), len(mask), _COUNTS.search(_line(mask, end)) is not None)
            for found, end in ends
        ]
    heads = ((start, end, _line(mask, start)) for start, end in brackets(mask)[1].items())
    return [
        _Loop(start, end, _COUNTS.search(head) is not None)
        for start, end, head in heads
        if _LOOP.search(head)
    ]


def _line(mask: str, end: int) -> str:
    """Return the last line before a place that is not blank, up to there."""
    end = len(mask) if end < 0 else end
    while end > 0 and mask[end - 1].isspace():
        end -= 1
    return mask[mask.rfind("\n", 0, end) + 1 : end]


class _Reader:
    def __init__(self, code: Code, how: Assertions, entry_point: str, given: str) -> None:
        self._code = code
        self._how = how
        name = re.escape(entry_point)
        self._call = re.compile(rf"(?:[\w$]+\s*(?:::|\.))?{name}\s*\(")
        self._are_values: dict[str, bool] = {}
        """Whether names stand for what the submission computes."""
        self._loops = _loops(code.mask, has_braces=how.has_braces)
        self._given = set(_CALLED.findall(mask_of(given))) - {entry_point}
        self._uses_given = not self._given.isdisjoint(_CALLED.findall(code.mask))
        self._mention = re.compile(rf"(?<![\w$]){name}(?![\w$])")

    def assertions(self) -> Iterator[_Found]:
        """Yield the assertions in order. One without values holds for each submission."""
        code, end = self._code, 0
        starts = [*self._how.start.finditer(code.mask), *self._guards()]
        for found in sorted(starts, key=lambda each: each.start()):
            if found.start() < end:
                continue
            start = found.start()
            if found.re is _GUARD:
                close = code.end_of_brackets(found.end()) or 0
                end = _body(code, close + 1)[1]
                pairs = self._conditions(code.cut(found.end(), close), denied=True)
                yield _Found(start, end, pairs, self._repeats(start), before="{ ", after="; }")
                continue
            inner, end = self._extent(found)
            form = found.lastgroup or "condition"
            if form != "listed":
                repeats = self._repeats(start)
                pairs = self._pairs(form, inner, code.text[start:end])
                yield _Found(start, end, pairs, repeats)
                continue
            at = found.end()
            for part in inner.split(","):
                at = code.text.index(part.text, at)
                if part.text:
                    pairs = self._conditions(part)
                    if not pairs:
                        self._refuse(part.text)
                    yield _Found(at, at + len(part.text), pairs, between=", ")
                at += len(part.text)

    def _guards(self) -> Iterator[re.Match[str]]:
        """Yield the conditions on values of the submission under which the tests give up."""
        code = self._code
        for found in _GUARD.finditer(code.mask) if self._how.has_braces else ():
            close = brackets(code.mask)[1].get(found.end() - 1)
            if close is None:
                continue
            start, end = _body(code, close + 1)
            if end - start > _MOST_BODY_CHARS:
                continue
            body, condition = code.mask[start:end].strip("{} \t\n"), code.cut(found.end(), close)
            is_last = re.match(r"\s*else\b", code.mask[end:]) is None
            if is_last and _GIVES_UP.search(body) and not _NESTED.search(body):
                words = (condition.cut(*each.span()) for each in WORD.finditer(condition.mask))
                if self._mentions(condition) or any(self._is_value(each) for each in words):
                    yield found

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
            return self._conditions(parts[0], denied=True)
        if parts[0].text == "t":  # Go's `*testing.T`
            parts = parts[1:]
        within = self._number(parts[2]) if form == "close" and len(parts) > 2 else None
        if form == "unknown" or len(parts) < 2 or (form == "close" and within is None):
            self._refuse(whole)
        actual, expected = parts[:2] if form == "actual_first" else parts[1::-1]
        pair = self._pair(actual, expected)
        if form == "unequal":
            return [pair._replace(relation="!=")]
        return [pair if within is None else pair._replace(within=within)]

    def _conditions(self, condition: Code, *, denied: bool = False) -> list[_Pair]:
        """Read a condition that must be true, or false if it is denied.

        If nothing is returned, that holds for each submission.
        """
        condition = condition.strip()
        while (inner := condition.inside(_AROUND_CONDITION)) is not None:
            condition = inner
        both = condition.inside(_TWO_EQUAL)
        sides = condition.split("===", "==") if both is None else both.split(",")
        is_itself = len(sides) == 2 and sides[0].text == sides[1].text
        if is_itself and not denied and self._is_value(sides[0]):
            return []
        every, any_ = ("&&", " and "), ("||", " or ")
        parts = condition.split(*(any_ if denied else every))
        if len(parts) > 1:
            return [pair for part in parts for pair in self._conditions(part, denied=denied)]
        if len(condition.split(*(every if denied else any_), " ? ")) > 1:
            self._refuse(condition.text)
        for signs, differs in ((("!==", "!=", "~=", " ne "), True), (("===", "==", " eq "), False)):
            if len(sides := condition.split(*signs)) == 2:
                pair = self._loosely(condition, self._pair(*sides))
                return [pair if differs is denied else pair._replace(relation="!=")]
        if (negated := _NEGATED.match(condition.mask)) is not None:
            rest = condition.cut(negated.end(), len(condition.mask))
            return self._conditions(rest, denied=not denied)
        close = self._close(condition, denied=denied) or self._related(condition, denied=denied)
        return [close or self._bare(condition, denied=denied)]

    def _loosely(self, condition: Code, pair: _Pair) -> _Pair:
        """Return what `==` compares of a pair, unless `===` compares them."""
        if "!==" in condition.mask or "===" in condition.mask:
            return pair
        actual, expected = (self._how.loose.replace("{}", side) for side in pair[:2])
        return pair._replace(actual=actual, expected=expected)

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
            found = self._conditions(actual, denied=truth in ("false", "False"))
            if len(found) == 1:
                return found[0]
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        joined = actual.inside(_JOINED)
        value = actual if joined is None else _unreferenced(joined)
        if truth not in ("true", "false", "True", "False"):
            value = self._without_functions(value)
        if not self._is_value(value):
            self._refuse(actual.text)
        return _Pair(actual.text, expected.text)

    def _without_functions(self, code: Code) -> Code:
        """Return the value that functions of one argument are around.

        What comes out of them is as unknown to the submission as the value. That is not so if the
        tests define them, since they may tell then whether the value is right.
        """
        while not self._is_value(code):
            length = _LENGTH.match(code.mask)
            inner = code.cut(1, len(code.mask)) if length else code.inside(_AROUND_VALUE)
            name = "" if length else code.mask.partition("(")[0].strip()
            if inner is None or len(inner.split(",")) > 1 or (name and self._defines(name)):
                return code
            code = inner
        return code

    def _defines(self, name: str) -> bool:
        """Tell whether the tests or the problem define a function of a name."""
        word = re.escape(name)
        defined = re.compile(
            rf"\b(?:function|def|sub|fn|func|bool|boolean|int)\s+{word}\b|(?<![\w$]){word}\s*{ASSIGNS}"
        )
        return defined.search(self._code.mask) is not None or name in self._given

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
        if not self._is_value(self._without_functions(actual)):
            self._refuse(actual.text)
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

    def _is_value(self, code: Code) -> bool:
        """Tell whether an expression is a call of the submission, or reads a part of its result."""
        cast = _CAST.match(code.mask)
        code = code if cast is None else code.cut(cast.end(), len(code.mask))
        if self._is_call(code.mask):
            return True
        if (item := code.inside(_IN_LIST)) is not None:
            return self._is_call(item.mask)
        word = WORD.match(code.mask)
        if word is None or not _is_access(code.mask[word.end() :]):
            return False
        name = word[0]
        if name not in self._are_values:
            self._are_values[name] = False  # as long as it is only given itself
            given = values_given(self._code, name)
            self._are_values[name] = (bool(given) or self._is_passed(name)) and all(
                self._is_value(Code(each, each)) for each in given
            )
        return self._are_values[name]

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

    def _repeats(self, start: int) -> bool:
        """Tell whether an assertion may be evaluated more than once.

        Raises:
            SuiteError: It is in a loop over the items of a list, which may hold expected values, or
                in any loop if the tests call a function of the problem's own, which the submission
                may replace.
        """
        mask = self._code.mask
        loops = [each.counts for each in self._loops if each.start < start < each.end]
        head = mask[:start].rstrip()
        if head.endswith(")"):  # such as that of `for (...)`
            opened, depth = len(head) - 1, 1
            while depth and opened > 0:
                opened -= 1
                depth += (head[opened] in CLOSING) - (head[opened] in OPENING)
            word = re.search(r"\w+\s*$", head[max(0, opened - 20) : opened])
            if word is not None and _LOOP.fullmatch(word[0].strip()):
                loops.append(_COUNTS.search(head[opened:]) is not None)
        if not all(loops) or (loops and self._uses_given):
            self._refuse(self._code.text[start:])
        return bool(loops)

    def _refuse(self, text: str) -> NoReturn:
        refuse("an assertion cannot be split into a call and an expected value", text)


def _unreferenced(code: Code) -> Code:
    """Return what the list `@name` or `@{...}` of Perl is the contents of."""
    inner = code.inside(re.compile(r"@\{"))
    return inner if inner is not None else code.cut(int(code.mask.startswith("@")), len(code.mask))


def _body(code: Code, start: int) -> tuple[int, int]:
    """Return where the block or statement at a place begins and ends."""
    while code.mask[start : start + 1].isspace():
        start += 1
    if not code.mask.startswith("{", start):
        end = code.end_of_statement(start, ";\n")
        return start, end + code.mask.startswith(";", end)
    return start, brackets(code.mask)[1].get(start, len(code.mask) - 1) + 1


def _last_term(code: Code) -> tuple[Code, str, Code]:
    """Split a sum or difference at its last sign outside of brackets."""
    for between in (" - ", " + ", "-", "+"):
        *_, last = parts = code.split(between)
        if len(parts) > 1 and last.text:
            first = code.cut(0, code.text.rindex(last.text)).strip()
            return first.cut(0, len(first.text) - 1).strip(), first.text[-1:], last
    return code.cut(0, 0), "", code


_ACCESS = re.compile(
    r"""(?:\s*(?:\.\w+[?!]?(?:\((?:-?\w*|'_*'|"_*")\))?|(?:->)?\[-?\w+\]|(?:->)?\[(?:'_*'|"_*")\]|->\w+"""
    r"""|(?:->)?\{\w+\}|\$\w+|\[\[(?:\w+|'_*'|"_*")\]\]))*\s*"""
)


def _is_access(rest: str) -> bool:
    """Tell whether the source after a value only reads a part of the value."""
    return _ACCESS.fullmatch(rest) is not None
