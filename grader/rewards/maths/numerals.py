"""Reading numbers in all notations that answers use. Pure, and exact."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from grader.rewards.maths.notation import unwrapped
from grader.rewards.maths.units import UnitOfMeasure

_MAX_DIGITS = 60
_MAX_EXPONENT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number with its exact value."""

    value: Fraction
    is_exact: bool = True
    """False for decimals with a fraction, which may be rounded."""
    is_percent: bool = False
    unit: UnitOfMeasure | None = None
    digits: str = ""
    """The digits of a whole number as written."""
    has_base: bool = False
    """Whether a subscript or a prefix gives the base of the digits."""
    scale: int = 1
    """What a word such as "million" multiplied the value by."""

    def with_unit(self, unit: UnitOfMeasure | None, scale: int = 1) -> "Number":
        """Return the same number with a unit, multiplied by a scale."""
        return replace(self, value=self.value * scale, unit=unit, scale=scale)


_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_BASE_RANGE = (2, 36)
_HEXADECIMAL = 16
_BASES = {**_WORDS, "sixteen": 16, "twenty": 20}
_PLAIN = r"[-+]?(?:\d+\.?\d*|\.\d+)"
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+|(?:_\d{3})+)(?:\.\d+)?")
_DECIMAL = re.compile(rf"({_PLAIN})(?:[eE]([-+]?\d+))?")
_REPEATING = re.compile(
    r"([-+]?)(\d*)\.(\d*)(?:\\(?:overline|bar|dot)\s*(?:\{(\d+)\}|(\d))|\((\d+)\)"
    r"|(\\dot\s*(?:\d|\{\d\})\d*\\dot\s*(?:\d|\{\d\})))"
)
_SCIENTIFIC = re.compile(
    rf"({_PLAIN})\s*(?:\\times|\\cdot|x|\*)\s*10\s*(?:\^|\*\*)\s*(?:\{{\s*([-+]?\d+)\s*\}}|\(?([-+]?\d+)\)?)"
)
_POWER_OF_TEN = re.compile(r"([-+]?)10\s*\^\s*(?:\{\s*([-+]?\d+)\s*\}|([-+]?\d+))")
_FRACTION = re.compile(
    r"([-+]?)\s*(?:(\d+)\s+|(\d+)(?=\\))?\s*"
    r"(?:\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))|\(?([-+]?[\d.,]+)\)?\s*/\s*\(?([-+]?[\d.,]+)\)?)"
)
_BASED = re.compile(
    r"(-?)\s*\(?([\da-zA-Z][\da-zA-Z, ]*)\)?\s*_\s*(?:(\d)|\{\s*(?:base\s*)?(\d{1,2}|[a-z]+)\s*\})"
)
_PREFIXED = re.compile(r"(-?)0(?:[xX]([\da-fA-F]+)|[bB]([01]+)|[oO]([0-7]+))")


def read_number(text: str) -> Number | None:
    """Return the number in a cleaned text, which may have a percent sign or currency; else None."""
    text = text.strip()
    if (inner := unwrapped(text, "(", ")")) is not None:
        text = inner
    if (word := _WORDS.get(text.lower())) is not None:
        return Number(value=Fraction(word))
    if match := _BASED.fullmatch(text):
        return _based(match[1], match[2], match[3] or match[4])
    if match := _PREFIXED.fullmatch(text):
        digits = match[2] or match[3] or match[4]
        return _based(match[1], digits, "16" if match[2] else "2" if match[3] else "8")
    amount = re.sub(r"^([-+]?)\s*[$\u20ac\u00a3\u00a5]\s*", r"\1", text)
    is_percent = False
    for sign in ("%", "percent", "per cent"):
        if amount.endswith(sign):
            amount, is_percent = amount.removesuffix(sign).rstrip(), True
            break
    found = _rational(amount)
    if found is None:
        return None
    value, is_exact = found
    digits = str(value.numerator) if value.denominator == 1 else ""
    return Number(
        value=value / 100 if is_percent else value,
        is_exact=is_exact,
        is_percent=is_percent,
        digits=digits,
    )


def _based(sign: str, numeral: str, base_name: str) -> Number | None:
    r"""Read "1011_2" and "2A_{\text{sixteen}}"; None if a digit is invalid in that base."""
    base = int(base_name) if base_name.isdigit() else _BASES.get(base_name, 0)
    digits = re.sub(r"[, ]", "", numeral).upper().lstrip("0") or "0"
    # Letters alone are a name, such as A_12, except in base 16.
    is_numeral = base == _HEXADECIMAL or any(char.isdigit() for char in numeral)
    if not is_numeral or len(digits) > _MAX_DIGITS or not _BASE_RANGE[0] <= base <= _BASE_RANGE[1]:
        return None
    try:
        value = int(digits, base)
    except ValueError:
        return None
    return Number(value=Fraction(-value if sign else value), digits=sign + digits, has_base=True)


def _rational(text: str) -> tuple[Fraction, bool] | None:
    text = re.sub(r"^([-+])\s+", r"\1", text)
    if len(text) > 4 * _MAX_DIGITS:
        return None
    if _GROUPED.fullmatch(text):
        text = re.sub(r"[ ,_]", "", text)
    if match := _DECIMAL.fullmatch(text):
        return _decimal(match[1], match[2])
    if match := _REPEATING.fullmatch(text):
        period = "".join(filter(None, match.group(4, 5, 6, 7)))
        return _repeating(match[1], match[2], match[3], re.sub(r"\D", "", period))
    if match := _SCIENTIFIC.fullmatch(text):
        return _decimal(match[1], match[2] or match[3])
    if match := _POWER_OF_TEN.fullmatch(text):
        return _decimal(f"{match[1]}1", match[2] or match[3], is_exact=True)
    if match := _FRACTION.fullmatch(text):
        return _fraction(match)
    return None


def _decimal(
    digits: str, exponent: str | None, *, is_exact: bool = False
) -> tuple[Fraction, bool] | None:
    power = int(exponent or 0) if len(exponent or "") < 6 else _MAX_EXPONENT + 1
    if len(digits) > _MAX_DIGITS or abs(power) > _MAX_EXPONENT:
        return None
    value = Fraction(digits.rstrip(".")) * Fraction(10) ** power
    is_rounded = "." in digits.rstrip(".0") and (exponent or value.denominator > 1)
    return value, is_exact or not is_rounded


def _repeating(sign: str, whole: str, first: str, period: str) -> tuple[Fraction, bool]:
    value = Fraction(int(f"{whole}{first}" or 0)) + Fraction(int(period), 10 ** len(period) - 1)
    value /= 10 ** len(first)
    return (-value if sign == "-" else value), True


def _fraction(match: re.Match[str]) -> tuple[Fraction, bool] | None:
    sign, whole = match[1], match[2] or match[3]
    above = next((group for group in match.group(4, 5, 8) if group), None)
    below = next((group for group in match.group(6, 7, 9) if group), None)
    parts = [_rational(part.strip()) if part else None for part in (above, below)]
    if parts[0] is None or parts[1] is None or parts[1][0] == 0:
        return None
    value = parts[0][0] / parts[1][0]
    if whole:
        value += int(whole) if len(whole) <= _MAX_DIGITS else 0
    return (-value if sign == "-" else value), parts[0][1] and parts[1][1]
