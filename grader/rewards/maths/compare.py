"""Tell whether an answer is the value that is expected. Pure, but for the algebra it is given."""

import re
from collections.abc import Callable
from fractions import Fraction

from grader.rewards.maths.values import (
    Brackets,
    Collection,
    Expression,
    Number,
    Value,
    clean,
    left_side,
    read,
    right_side,
)

SameByAlgebra = Callable[[str, str], bool]
"""Tells whether two expressions, as cleaned text, are equal; may be slow."""

_CHOICE = re.compile(r"\(?([A-J])\)?(?:[).:](?:\s.*)?)?")
_ALGEBRA = re.compile(r"[\d\\^+*/=<>]|(?<![a-zA-Z])[a-zA-Z](?![a-zA-Z])")


def is_right(
    expected: str, answer: str, *, tolerance: float, same: SameByAlgebra | None = None
) -> bool:
    """Return whether an answer is right.

    Args:
        expected: The answer of the label.
        answer: That of the response.
        tolerance: Relative, for decimals that may have been rounded.
        same: Compares what is no plain value; None: only equal text is equal then.
    """
    expected, answer = clean(expected), clean(answer)
    if not answer:
        return False
    if _plain(expected) == _plain(answer):
        return True
    if (choice := _CHOICE.fullmatch(expected)) and len(expected) <= len("(A)"):
        found = _CHOICE.fullmatch(answer)
        return found is not None and found[1] == choice[1]
    sides = left_side(expected), left_side(answer)
    if all(side is not None and len(side) == 1 for side in sides) and sides[0] != sides[1]:
        return False
    return _Comparison(tolerance, same).equal(
        read(right_side(expected)), read(right_side(answer)), (expected, answer)
    )


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).casefold()


class _Comparison:
    """The rules, with what they need on the way down."""

    def __init__(self, tolerance: float, same: SameByAlgebra | None) -> None:
        self._tolerance = Fraction(str(tolerance))
        self._same = same

    def equal(self, expected: Value, answer: Value, texts: tuple[str, str]) -> bool:
        """Compare two values.

        Args:
            expected: What is right.
            answer: What was answered.
            texts: Both as they were read, for what has to be told by algebra.
        """
        if isinstance(expected, Number) and isinstance(answer, Number):
            return self._equal_numbers(expected, answer)
        if isinstance(expected, Collection) and isinstance(answer, Collection):
            return self._equal_collections(expected, answer)
        if isinstance(expected, Number) and isinstance(answer, Collection):
            return False
        if isinstance(expected, Collection) and isinstance(answer, Number):
            return len(expected.items) == 1 and self.equal(expected.items[0], answer, texts)
        return self._equal_texts(_text(expected, texts[0]), _text(answer, texts[1]))

    def _equal_numbers(self, expected: Number, answer: Number) -> bool:
        left, right = expected.value, answer.value
        units = expected.unit, answer.unit
        if units[0] is not None and units[1] is not None:
            if units[0].dimension != units[1].dimension:
                return False
            left, right = left * units[0].factor, right * units[1].factor
        is_exact = expected.is_exact and answer.is_exact
        if self._close(left, right, is_exact):
            return True
        if expected.is_percent == answer.is_percent:
            return False
        # "50" is a fair answer where 50 % is asked for, and the other way round.
        left *= 100 if expected.is_percent else 1
        right *= 100 if answer.is_percent else 1
        return self._close(left, right, is_exact)

    def _close(self, left: Fraction, right: Fraction, is_exact: bool) -> bool:
        if is_exact:
            return left == right
        return abs(left - right) <= self._tolerance * max(abs(left), abs(right))

    def _equal_collections(self, expected: Collection, answer: Collection) -> bool:
        if len(expected.items) != len(answer.items):
            return False
        brackets = {expected.brackets, answer.brackets}
        if len(brackets) > 1 and Brackets.NONE not in brackets:
            return False
        if brackets <= {Brackets.NONE, Brackets.SET, Brackets.UNION}:
            return self._equal_in_any_order(expected.items, answer.items)
        return all(
            self._equal_items(left, right)
            for left, right in zip(expected.items, answer.items, strict=True)
        )

    def _equal_in_any_order(self, expected: tuple[Value, ...], answer: tuple[Value, ...]) -> bool:
        left = list(answer)
        for item in expected:
            match = next((each for each in left if self._equal_items(item, each)), None)
            if match is None:
                return False
            left.remove(match)
        return True

    def _equal_items(self, expected: Value, answer: Value) -> bool:
        # What is inside of collections has no text of its own but that of expressions.
        return self.equal(expected, answer, (_text(expected, ""), _text(answer, "")))

    def _equal_texts(self, expected: str, answer: str) -> bool:
        if _plain(expected) == _plain(answer):
            return True
        if self._same is None or not (_ALGEBRA.search(expected) and _ALGEBRA.search(answer)):
            return False
        return self._same(expected, answer)


def _text(value: Value, whole: str) -> str:
    """Return a value as text for algebra."""
    match value:
        case Expression(text=text):
            return text
        case Number(value=number):
            return f"{number.numerator}/{number.denominator}"
        case Collection():
            return whole
