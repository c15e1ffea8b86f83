"""Comparing an answer with the expected value. Pure, except for the algebra that is passed in."""

import re
from collections.abc import Callable, Iterable
from fractions import Fraction

from grader.rewards.maths.notation import clean
from grader.rewards.maths.numerals import Number
from grader.rewards.maths.units import UnitOfMeasure
from grader.rewards.maths.values import (
    Approximation,
    Brackets,
    Clock,
    Collection,
    Equation,
    Expression,
    NamedValue,
    Residue,
    Value,
    latex,
    read,
)

SameByAlgebra = Callable[[str, str, float], bool]
"""Returns whether two LaTeX expressions are equal within a relative tolerance. May be slow."""

_CHOICE = re.compile(r"(?:(?i:option|choice)\s+)?\(?([A-J])\)?(?:[).:](?:\s.*)?)?")
_CHOSEN_VALUE = re.compile(r"\(?([A-J])[).:]\s+(?=\S)")
_ALGEBRA = re.compile(r"[\d\\^+*/=<>]|(?<![a-zA-Z])(?:[a-zA-Z]|[a-np-z]{2})(?![a-zA-Z])")
_WORD = re.compile(r"\b(?!(?:and|or)\b)(?:[a-zA-Z]{3,}|[nN][oO])\b")
_DECIMAL = re.compile(r"\d?\.\d")
_CHOICES = re.compile(r"A?B?C?D?E?F?G?H?")
_MATRIX = re.compile(r"\\begin\{[bpvBV]?matrix\}")
_ROUNDING = 0.1
"""The largest relative difference between a value and its rounded form in one answer."""


def is_right(
    expected: str, answer: str, *, tolerance: float, same: SameByAlgebra | None = None
) -> bool:
    """Return whether an answer is right.

    Args:
        expected: The answer of the label.
        answer: The answer of the response.
        tolerance: Relative; applied to decimals, which may be rounded.
        same: Compares expressions that are not plain values; None: they are compared as text.
    """
    expected, answer = clean(expected), clean(answer)
    if not answer:
        return False
    if _plain(expected) == _plain(answer):
        return True
    if (choice := _CHOICE.fullmatch(expected)) and len(expected) <= len("(A)"):
        found = _CHOICE.fullmatch(answer.upper() if len(answer) <= len("(a)") else answer)
        return found is not None and found[1] == choice[1]
    label, chosen = _CHOSEN_VALUE.match(expected), _CHOSEN_VALUE.match(answer)
    if label and (choice := _CHOICE.fullmatch(answer)) and not chosen:
        return choice[1] == label[1]
    if label and chosen and label[1] != chosen[1]:
        return False
    values = (
        read(text[match.end() if match else 0 :])
        for text, match in ((expected, label), (answer, chosen))
    )
    return _Comparison(tolerance, same).equal(*values)


def _plain(text: str) -> str:
    """Return a text without blanks; in lower case if it consists of words, not variables.

    A blank between digits stays: "1 1/2" is not "11/2".
    """
    is_words = re.fullmatch(r"[a-zA-Z .'-]+", text) and _WORD.search(text)
    return re.sub(r"\s+(?!\d)|(?<!\d)\s+", "", text.lower() if is_words else text)


class _Comparison:
    """The rules of comparison for two values."""

    def __init__(
        self, tolerance: float, same: SameByAlgebra | None, *, is_loose: bool = False
    ) -> None:
        self._tolerance = tolerance
        self._same = same
        self._is_loose = is_loose
        """Whether the tolerance also applies to exact values."""

    def equal(self, expected: Value, answer: Value) -> bool:
        """Compare two values."""
        match expected, answer:
            case _, Approximation():
                rounding = _Comparison(_ROUNDING, self._same, is_loose=True)
                return rounding.equal(answer.exact, answer.rounded) and (
                    self.equal(expected, answer.exact) or self.equal(expected, answer.rounded)
                )
            case Approximation(), _:
                return self.equal(expected.exact, answer) or self.equal(expected.rounded, answer)
            case NamedValue() | Equation(), NamedValue() | Equation():
                return self._equal_equations(expected, answer)
            case (NamedValue(), Expression(is_relation=True)) | (
                Expression(is_relation=True),
                NamedValue(),
            ):
                return self._ask(latex(expected), latex(answer))
            case Equation(is_implicit=True), _:
                return False
            case NamedValue() | Equation(), _:
                return self.equal(expected.value, answer)
            case _, NamedValue() | Equation():
                return self.equal(expected, answer.value)
            case Number(), Number():
                return self._equal_numbers(expected, answer)
            case Collection(), Collection():
                return self._equal_collections(expected, answer)
            case (Collection() as choices, Expression(text=letters)) | (
                Expression(text=letters),
                Collection() as choices,
            ) if _CHOICES.fullmatch(letters):
                chosen = "".join(sorted(map(latex, choices.items)))
                return letters == chosen and not choices.is_ordered
            case (Number(has_base=True) as number, Expression(text=digits)) | (
                Expression(text=digits),
                Number(has_base=True) as number,
            ):
                # "1A" is the number that a base would make of it.
                return number.digits == digits.upper()
            case (Collection() as rows, Expression(text=matrix)) | (
                Expression(text=matrix),
                Collection() as rows,
            ) if _MATRIX.match(matrix) and all(isinstance(row, Collection) for row in rows.items):
                return self._ask(_as_matrix(rows), matrix)
            case Collection(), Number():
                return self._is_only_item(expected, answer)
            case Number(), Collection(brackets=Brackets.RATIO | Brackets.SET):
                return self._is_only_item(answer, expected)
            case Number(), Collection():
                return False
            case Clock(), Clock():
                return _equal_clocks(expected, answer)
            case Residue(), Residue():
                return expected.is_of(answer.value, answer.modulus)
            case (Residue() as residue, Number(value=value)) | (
                Number(value=value),
                Residue() as residue,
            ):
                return residue.modulus > 0 and value == residue.value % residue.modulus
            case (Clock(), _) | (_, Clock()):
                return False
            case _:
                return self._equal_by_algebra(expected, answer)

    def _equal_equations(
        self, expected: NamedValue | Equation, answer: NamedValue | Equation
    ) -> bool:
        if isinstance(expected, NamedValue) and isinstance(answer, NamedValue):
            is_one_thing = expected.name == answer.name
            if is_one_thing or not (expected.is_variable and answer.is_variable):
                return self.equal(expected.value, answer.value)
        elif not (isinstance(expected, Equation) and expected.is_implicit) and not (
            isinstance(answer, Equation) and answer.is_implicit
        ):
            return self._ask(expected.text, answer.text) or (
                self.equal(expected.value, answer.value)
            )
        return self._ask(expected.text, answer.text)

    def _equal_numbers(self, expected: Number, answer: Number) -> bool:
        if expected.has_base != answer.has_base:
            # Answers often leave the base out, because the problem names it.
            return expected.digits == answer.digits
        factors = _factors(expected.unit, answer.unit)
        if factors is None:
            return False
        left, right = expected.value * factors[0], answer.value * factors[1]
        is_exact = expected.is_exact and answer.is_exact
        if self._close(left, right, is_exact=is_exact):
            return True
        if expected.scale != answer.scale and 1 in (expected.scale, answer.scale):
            # If 3 million is expected, "3" is right, and the other way round.
            left, right = left / expected.scale, right / answer.scale
            return self._close(left, right, is_exact=is_exact)
        if expected.is_percent == answer.is_percent:
            return False
        # If 50 % is expected, "50" is right, and the other way round.
        left *= 100 if expected.is_percent else 1
        right *= 100 if answer.is_percent else 1
        return self._close(left, right, is_exact=is_exact)

    def _close(self, left: Fraction, right: Fraction, *, is_exact: bool) -> bool:
        if is_exact and not self._is_loose:
            return left == right
        return abs(left - right) <= Fraction(str(self._tolerance)) * max(abs(left), abs(right))

    def _equal_collections(self, expected: Collection, answer: Collection) -> bool:
        if expected.is_record and answer.is_record:
            return self._equal_records(expected, answer)
        brackets = {expected.brackets, answer.brackets}
        if Brackets.UNION in brackets and self._ask(latex(expected), latex(answer)):
            return True
        if len(brackets) > 1 and Brackets.NONE not in brackets:
            return False
        if brackets == {Brackets.RATIO}:
            return self._equal_ratios(expected.items, answer.items)
        if answer.is_sequence and not expected.is_record and not expected.is_ordered:
            # The label gives a set, so the subscripts only number its items.
            return self._equal_in_any_order(expected.items, answer.items)
        if expected.is_record or answer.is_record or expected.is_ordered or answer.is_ordered:
            return len(expected.items) == len(answer.items) and all(
                self.equal(left, right)
                for left, right in zip(expected.items, answer.items, strict=True)
            )
        if Brackets.SET in brackets:
            return self._all_among(expected.items, answer.items) and self._all_among(
                answer.items, expected.items
            )
        return self._equal_in_any_order(expected.items, answer.items)

    def _equal_records(self, expected: Collection, answer: Collection) -> bool:
        pairs = [
            {item.name: item.value for item in each.items if isinstance(item, NamedValue)}
            for each in (expected, answer)
        ]
        return pairs[0].keys() == pairs[1].keys() and all(
            self.equal(value, pairs[1][name]) for name, value in pairs[0].items()
        )

    def _equal_ratios(self, expected: Iterable[Value], answer: Iterable[Value]) -> bool:
        left, right = (
            [item.value for item in items if isinstance(item, Number)]
            for items in (expected, answer)
        )
        return len(left) == len(right) and all(
            one * right[0] == other * left[0] for one, other in zip(left, right, strict=True)
        )

    def _all_among(self, items: tuple[Value, ...], others: tuple[Value, ...]) -> bool:
        return all(any(self.equal(item, other) for other in others) for item in items)

    def _equal_in_any_order(self, expected: tuple[Value, ...], answer: tuple[Value, ...]) -> bool:
        if len(expected) != len(answer):
            return False
        left = list(answer)
        for item in expected:
            match = next((each for each in left if self.equal(item, each)), None)
            if match is None:
                return False
            left.remove(match)
        return True

    def _is_only_item(self, collection: Collection, number: Number) -> bool:
        items = collection.items
        if collection.brackets is Brackets.RATIO:
            above, below = (item.value for item in items[:2] if isinstance(item, Number))
            return len(items) == len((above, below)) and above == below * number.value
        return len(items) == 1 and self.equal(items[0], number)

    def _equal_by_algebra(self, expected: Value, answer: Value) -> bool:
        left, right = latex(expected), latex(answer)
        factors = _factors(_unit(expected), _unit(answer))
        if factors is None:
            return False
        if factors[0] != factors[1]:
            left, right = f"({factors[0]})({left})", f"({factors[1]})({right})"
        elif _plain(left) == _plain(right):
            return True
        is_exact = all(
            each.is_exact if isinstance(each, Number) else not _DECIMAL.search(latex(each))
            for each in (expected, answer)
        )
        return self._ask(left, right, is_exact=is_exact)

    def _ask(self, left: str, right: str, *, is_exact: bool | None = None) -> bool:
        if self._same is None or not (_ALGEBRA.search(left) and _ALGEBRA.search(right)):
            return False
        if is_exact is None:
            is_exact = not (_DECIMAL.search(left) or _DECIMAL.search(right))
        return self._same(left, right, 0.0 if is_exact and not self._is_loose else self._tolerance)


def _as_matrix(rows: Collection) -> str:
    """Return a list of rows as LaTeX: "[[1, 2], [3, 4]]"."""
    lines = (" & ".join(map(latex, row.items)) for row in rows.items if isinstance(row, Collection))
    return "\\begin{pmatrix} " + r" \\ ".join(lines) + " \\end{pmatrix}"


def _unit(value: Value) -> UnitOfMeasure | None:
    return value.unit if isinstance(value, Number | Expression) else None


def _factors(
    expected: UnitOfMeasure | None, answer: UnitOfMeasure | None
) -> tuple[Fraction, Fraction] | None:
    """Return the factors to a common unit; None if the units have different dimensions."""
    if expected is None or answer is None:
        return Fraction(1), Fraction(1)
    if expected.dimension != answer.dimension:
        return None
    return expected.factor, answer.factor


def _equal_clocks(expected: Clock, answer: Clock) -> bool:
    if bool(expected.half) == bool(answer.half):
        return expected.minute_of_day == answer.minute_of_day
    # A time without a.m. or p.m. may be in either half of the day, or in 24 hours.
    given, open_ = (expected, answer) if expected.half else (answer, expected)
    return open_.minute in (given.minute, given.minute_of_day)
