"""Finds the assertions of tests that people wrote in another language than Python."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.languages import Assertions
from grader.suites.assertions.conditions import ComparedPair, ConditionReader
from grader.suites.assertions.values import SubmissionValues, refuse_assertion
from grader.suites.expected_values import WORD
from grader.suites.masked import CLOSING, OPENING, Code, brackets

_LOOP = re.compile(
    r"\b(?:for|foreach|while|until|loop|each|forEach|times|map|filter|some|every|reduce|repeat)\b"
)
_COUNTS = re.compile(r";.*;|\bin\s+\(?-?\d+\s*\.\.|\bfor\s+\w+\s*=|\d\s*\.times\b")
_GUARD = re.compile(r"\bif\s*\(")
_GIVES_UP = re.compile(
    r"\b(?:throw|die|abort|stop)\b|\b(?:exit|Exit|quit)\s*\(|\breturn\s+(?:-?1|false|EXIT_FAILURE)\b"
)
_MOST_BODY_CHARS = 1024
_NESTED = re.compile(r"[{}]|\b(?:if|for|while|switch)\b")


class FoundAssertion(NamedTuple):
    """An assertion: where it is, and what it compares."""

    start: int
    end: int
    pairs: list[ComparedPair]
    repeats: bool = False
    """As in `grader.model.ExpressionCase`."""
    between: str = "; "
    """The separator of the two statements that replace an assertion of two values."""
    before: str = ""
    """What is put before these statements, and after them."""
    after: str = ""


class _Loop(NamedTuple):
    """A part of the source that may run more than once."""

    start: int
    end: int
    counts: bool
    """Whether it runs for each of some numbers, and not for each item of a list."""


class AssertionFinder:
    """Finds the assertions of some tests."""

    def __init__(self, code: Code, how: Assertions, entry_point: str, given: str) -> None:
        """Read nothing yet.

        Args:
            code: The tests, which follow the submission.
            how: How such tests are written.
            entry_point: The function or method of the submission that they call.
            given: The problem's own code.
        """
        self._code = code
        self._how = how
        self._values = SubmissionValues(code, entry_point, given)
        self._conditions = ConditionReader(code, how, self._values)
        self._loops = _loops(code.mask, has_braces=how.has_braces)

    def assertions(self) -> Iterator[FoundAssertion]:
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
                pairs = self._conditions.read(code.cut(found.end(), close), denied=True)
                yield FoundAssertion(
                    start, end, pairs, self._repeats(start), before="{ ", after="; }"
                )
                continue
            inner, end = self._extent(found)
            form = found.lastgroup or "condition"
            if form != "listed":
                repeats = self._repeats(start)
                pairs = self._conditions.pairs(form, inner, code.text[start:end])
                yield FoundAssertion(start, end, pairs, repeats)
                continue
            at = found.end()
            for part in inner.split(","):
                at = code.text.index(part.text, at)
                if part.text:
                    pairs = self._conditions.read(part)
                    if not pairs:
                        refuse_assertion(part.text)
                    yield FoundAssertion(at, at + len(part.text), pairs, between=", ")
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
                if self._values.mentions(condition) or any(map(self._values.is_value, words)):
                    yield found

    def _extent(self, found: re.Match[str]) -> tuple[Code, int]:
        """Return the contents of an assertion, and its end."""
        code, start = self._code, found.end()
        if found[0].endswith("("):
            close = code.end_of_brackets(start)
            if close is None:
                refuse_assertion(code.text[found.start() :])
            return code.cut(start, close), close + 1
        close = code.end_of_statement(start, self._how.ends)
        return code.cut(start, close), close

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
        if not all(loops) or (loops and self._values.use_given):
            refuse_assertion(self._code.text[start:])
        return bool(loops)


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


def _body(code: Code, start: int) -> tuple[int, int]:
    """Return where the block or statement at a place begins and ends."""
    while code.mask[start : start + 1].isspace():
        start += 1
    if not code.mask.startswith("{", start):
        end = code.end_of_statement(start, ";\n")
        return start, end + code.mask.startswith(";", end)
    return start, brackets(code.mask)[1].get(start, len(code.mask) - 1) + 1
