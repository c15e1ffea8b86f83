"""Splits the conditions of assertions into a value of the submission and what it must equal."""

import re
from typing import NamedTuple

from grader.languages import Assertions
from grader.suites.assertions.values import SubmissionValues, refuse_assertion
from grader.suites.masked import Code

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
_RELATIONS = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
"""Each with the one that holds if the sides are exchanged."""
_OPPOSITE = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}
_NUMBERS = re.compile(rf"[-+*/\s()]*(?:{_NUMBER}[fFlL]?[-+*/\s()]*)+")
_BRACKET = re.compile(r"\(")
_AROUND_CONDITION = re.compile(r"(?:all|isTRUE)?\s*\(")
"""In R, these functions tell whether all of a condition is true."""


class ComparedPair(NamedTuple):
    """A value of the submission, and what it must equal."""

    actual: str
    expected: str
    within: float | None = None
    relation: str = ""
    """As in `grader.model.ExpressionCase`."""


class ConditionReader:
    """Reads the conditions of some tests."""

    def __init__(self, code: Code, how: Assertions, values: SubmissionValues) -> None:
        """Read nothing yet.

        Args:
            code: The tests.
            how: How such tests are written.
            values: What the submission computes in them.
        """
        self._code = code
        self._how = how
        self._values = values

    def pairs(self, form: str, inner: Code, whole: str) -> list[ComparedPair]:
        """Read an assertion.

        Args:
            form: Which form of `Assertions.start` it has.
            inner: What it asserts.
            whole: All of its source, for the refusal.

        Raises:
            SuiteError: It cannot be taken apart.
        """
        if form == "condition":
            return self.read(inner.split(self._how.before_message)[0])
        parts = inner.split(",")
        if form == "denial":
            return self.read(parts[0], denied=True)
        if parts[0].text == "t":  # Go's `*testing.T`
            parts = parts[1:]
        within = self._number(parts[2]) if form == "close" and len(parts) > 2 else None
        if form == "unknown" or len(parts) < 2 or (form == "close" and within is None):
            refuse_assertion(whole)
        actual, expected = parts[:2] if form == "actual_first" else parts[1::-1]
        pair = self._pair(actual, expected)
        if form == "unequal":
            return [pair._replace(relation="!=")]
        return [pair if within is None else pair._replace(within=within)]

    def read(self, condition: Code, *, denied: bool = False) -> list[ComparedPair]:
        """Read a condition that must be true, or false if it is denied.

        If nothing is returned, that holds for each submission.
        """
        condition = condition.strip()
        while (inner := condition.inside(_AROUND_CONDITION)) is not None:
            condition = inner
        both = condition.inside(_TWO_EQUAL)
        sides = condition.split("===", "==") if both is None else both.split(",")
        is_itself = len(sides) == 2 and sides[0].text == sides[1].text
        if is_itself and not denied and self._values.is_value(sides[0]):
            return []
        every, any_ = ("&&", " and "), ("||", " or ")
        parts = condition.split(*(any_ if denied else every))
        if len(parts) > 1:
            return [pair for part in parts for pair in self.read(part, denied=denied)]
        if len(condition.split(*(every if denied else any_), " ? ")) > 1:
            refuse_assertion(condition.text)
        for signs, differs in ((("!==", "!=", "~=", " ne "), True), (("===", "==", " eq "), False)):
            if len(sides := condition.split(*signs)) == 2:
                pair = self._loosely(condition, self._pair(*sides))
                return [pair if differs is denied else pair._replace(relation="!=")]
        if (negated := _NEGATED.match(condition.mask)) is not None:
            rest = condition.cut(negated.end(), len(condition.mask))
            return self.read(rest, denied=not denied)
        close = self._close(condition, denied=denied) or self._related(condition, denied=denied)
        return [close or self._bare(condition, denied=denied)]

    def _loosely(self, condition: Code, pair: ComparedPair) -> ComparedPair:
        """Return what `==` compares of a pair, unless `===` compares them."""
        if "!==" in condition.mask or "===" in condition.mask:
            return pair
        actual, expected = (self._how.loose.replace("{}", side) for side in pair[:2])
        return pair._replace(actual=actual, expected=expected)

    def _pair(self, actual: Code, expected: Code) -> ComparedPair:
        if self._values.is_expected_first(actual, expected):
            actual, expected = expected, actual
        if (inner := actual.inside(_SAME_TEXT)) is not None:
            other = expected.inside(_SAME_TEXT)
            if other is None and actual.mask.startswith("JSON"):
                self._values.require_value(inner)
                return ComparedPair(actual.text, expected.text)  # The latter is JSON already.
            actual, expected = inner, other or expected
        truth = expected.text
        if truth == "0" and (pair := self._same(actual, _TWO_COMPARED, _COMPARED)) is not None:
            return pair
        if truth in ("true", "false", "True", "False") and not self._values.is_value(actual):
            found = self.read(actual, denied=truth in ("false", "False"))
            if len(found) == 1:
                return found[0]
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        joined = actual.inside(_JOINED)
        value = actual if joined is None else _unreferenced(joined)
        if truth not in ("true", "false", "True", "False"):
            value = self._values.without_functions(value)
        if not self._values.is_value(value):
            refuse_assertion(actual.text)
        return ComparedPair(actual.text, expected.text)

    def _close(self, condition: Code, *, denied: bool = False) -> ComparedPair | None:
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
        if not self._values.mentions(actual) and self._values.mentions(other):
            if sign == "+":
                return None
            actual, expected = other, actual.text
        while (inner := actual.inside(_BRACKET)) is not None:
            actual = inner
        if not self._values.is_value(self._values.without_functions(actual)):
            refuse_assertion(actual.text)
        return ComparedPair(actual.text, expected, within)

    def _related(self, condition: Code, *, denied: bool = False) -> ComparedPair | None:
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
        self._values.require_value(actual)
        relation = _OPPOSITE[relation] if denied else relation
        return ComparedPair(actual.text, expected, relation=relation)

    def _bare(self, condition: Code, *, denied: bool = False) -> ComparedPair:
        """Read a condition that is a call, or a call of the tests' own function for equality."""
        call = condition
        while (inner := call.inside(_BRACKET)) is not None:
            call = inner
        if (pair := self._same(call, _TWO_EQUAL, _EQUALS)) is not None:
            return pair._replace(relation="!=") if denied else pair
        if (pair := self._same(call, _TWO_COMPARED, _COMPARED)) is not None:
            return pair if denied else pair._replace(relation="!=")
        if not self._values.is_value(call):
            refuse_assertion(condition.text)
        expected = self._how.false if denied else self._how.true
        return ComparedPair(self._how.truth.replace("{}", call.text), expected)

    def _same(
        self, call: Code, function: re.Pattern[str], method: re.Pattern[str]
    ) -> ComparedPair | None:
        """Read a call that compares two values."""
        both = call.inside(function)
        if both is not None and len(parts := both.split(",")) == 2:
            actual, expected = parts
            if self._values.is_expected_first(actual, expected):
                actual, expected = expected, actual
            self._values.require_value(actual)
            return ComparedPair(actual.text, expected.text, self._within_of(call))
        for found in method.finditer(call.mask):
            if call.end_of_brackets(found.end()) != len(call.mask) - 1:
                continue
            actual = call.cut(0, found.start())
            expected = call.cut(found.end(), len(call.mask) - 1).strip()
            if not self._values.mentions(actual) and self._values.is_value(expected):
                actual, expected = expected, actual
            if self._values.is_value(actual):
                return ComparedPair(actual.text, expected.text)
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

    def _number(self, code: Code) -> float | None:
        """Return the number that the code is, or that it names."""
        word = re.escape(code.text)
        given = re.search(
            rf"(?<![\w$.]){word}\s*(?::[^=\n]*)?(?::?=|<-)\s*([^;\n]*)", self._code.mask
        )
        found = _TOLERANCE.fullmatch(given[1].strip() if given else code.text)
        return None if found is None else float(found[1])


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
