"""Read an answer as a value: a number, a collection of values, or an expression.

Everything here is pure and cheap; what needs algebra is left as text for `symbolic`.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from grader.rewards.maths.units import Unit, split_unit

_MAX_DIGITS = 60
_MAX_EXPONENT = 400
_MAX_ITEMS = 64
_MAX_DEPTH = 4


class Brackets(StrEnum):
    """What holds the items of a collection."""

    NONE = ""
    """A bare list: "1, 2", "1 and 2", "1 or 2"; in any order."""
    SET = "{}"
    ROUND = "()"
    """A tuple, a point, an open interval."""
    SQUARE = "[]"
    LEFT_OPEN = "(]"
    RIGHT_OPEN = "[)"
    UNION = "\\cup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number, as exactly as it was written."""

    value: Fraction
    is_exact: bool = True
    """False for decimals with a fraction: they may have been rounded."""
    is_percent: bool = False
    unit: Unit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Several values."""

    brackets: Brackets
    items: "tuple[Value, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """Anything else, in normal form as far as that is cheap."""

    text: str


Value = Number | Collection | Expression


# ---------------------------------------------------------------- clean text

_REMOVED = re.compile(
    r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|textstyle|limits|quad|qquad)(?![a-zA-Z])"
    r"|(?<!\\)\\[,;:! ()\[\]]|\$|~"
)
_TEXT = re.compile(
    r"\\(?:text|mathrm|textbf|mathbf|mbox|textit|mathit|operatorname|bf|rm)\s*\{([^{}]*)\}"
)
_REPLACED = (
    ("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("\\cfrac", "\\frac"), ("\u2212", "-"),
    ("\u2013", "-"), ("\u00d7", "\\times "), ("\u00b7", "\\cdot "), ("\u2044", "/"),
    ("\u221e", "\\infty "), ("\u222a", "\\cup "), ("\u03c0", "\\pi "), ("\u221a", "\\sqrt "),
    ("\u2264", "\\le "), ("\u2265", "\\ge "), ("\u00b1", "\\pm "), ("\u2260", "\\ne "),
    ("\\leq", "\\le"), ("\\geq", "\\ge"), ("\\lt ", "<"), ("\\gt ", ">"), ("\\neq", "\\ne"),
    ("^\\circ", " degrees"), ("^{\\circ}", " degrees"), ("\u00b0", " degrees"),
    ("\\degree", " degrees"), ("\\%", "%"), ("\\$", "$"), ("{,}", ","), ("\\lbrace", "\\{"),
    ("\\rbrace", "\\}"), ("\\cdotp", "\\cdot"), ("\\varnothing", "\\emptyset"),
    ("\u2205", "\\emptyset"), ("\u00bd", " 1/2"), ("\u00bc", " 1/4"), ("\u00be", " 3/4"),
    ("\u00a0", " "), ("\u202f", " "), ("\u2009", " "),
)  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")


def clean(text: str) -> str:
    """Return an answer without markup that means nothing, in one spelling of the rest."""
    text = _SUPERSCRIPT.sub(lambda m: "^{" + m[0].translate(_SUPERSCRIPTS) + "}", text)
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for _ in range(_MAX_DEPTH):
        text, count = _TEXT.subn(r" \1 ", text)
        if not count:
            break
    text = _REMOVED.sub("", text)
    return " ".join(text.split()).rstrip(" .,;:*_`").lstrip(" ,;:*_`")


# ---------------------------------------------------------------- read

_VARIABLE = re.compile(
    r"(?:\\?[a-zA-Z](?:_\{?\w+\}?)?(?:\([a-zA-Z]\))?|[a-zA-Z][a-zA-Z ]{1,40}?)\s*=\s*(?![=])"
)
_WORD_LIST = re.compile(r"\s*(?:,\s*(?:and|or)\b|\b(?:and|or)\b|,(?!\d{3}(?!\d)))\s*")
_COMMA = re.compile(r"\s*[,;]\s*")
_UNION = re.compile(r"\s*(?:\\cup\b|\bU\b)\s*")
_CHAIN = re.compile(r"(.+?)\s*(<|\\le)\s*([a-zA-Z])\s*(<|\\le)\s*(.+)")
_HALF = re.compile(r"([a-zA-Z])\s*(<|>|\\le|\\ge|<=|>=)\s*([^<>]+)")
_PLUS_MINUS = re.compile(r"\\pm\s*(.+)")
_NOTHING = frozenset({"\\emptyset", "\\{\\}", "{}", "no solution", "no solutions", "none"})
_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}


def read(text: str) -> Value:
    """Return what a cleaned answer means. Never raises; what it cannot read is an expression."""
    return _read(text.strip(), 0)


def left_side(text: str) -> str | None:
    """Return the variable that a cleaned answer gives the value of, as in "x = 5"; else None."""
    match = _VARIABLE.match(text)
    if match is None or "=" in text[match.end() :]:
        return None
    return match[0].rstrip(" =").strip()


def right_side(text: str) -> str:
    """Return a cleaned answer without the variable that it gives the value of."""
    return text[match.end() :] if left_side(text) and (match := _VARIABLE.match(text)) else text


def _read(text: str, depth: int) -> Value:
    text = _without_outer_braces(text)
    if text.lower() in _NOTHING:
        return Collection(brackets=Brackets.SET, items=())
    if depth < _MAX_DEPTH and (found := _collection(text, depth)) is not None:
        return found
    number = read_number(text)
    return Expression(text=text) if number is None else number


def _collection(text: str, depth: int) -> Collection | None:
    parts = [part for part in _UNION.split(text) if part]
    if len(parts) > 1 and all(_is_wrapped(part) for part in parts):
        return _items(Brackets.UNION, parts, depth)
    if wrapped := _unwrap(text):
        brackets, inner = wrapped
        parts = _split(inner, _COMMA)
        if brackets is Brackets.SET or len(parts) > 1:
            return _items(brackets, parts, depth)
        return None
    if (interval := _inequality(text)) is not None:
        brackets, ends = interval
        return _items(brackets, ends, depth)
    if match := _PLUS_MINUS.fullmatch(text):
        return _items(Brackets.NONE, [match[1], f"-{match[1]}"], depth)
    parts = _split(text, _WORD_LIST)
    if len(parts) > 1 and read_number(text) is None:
        return _items(Brackets.NONE, [right_side(part) for part in parts], depth)
    return None


def _items(brackets: Brackets, parts: list[str], depth: int) -> Collection | None:
    if len(parts) > _MAX_ITEMS or not all(parts):
        return None
    return Collection(brackets=brackets, items=tuple(_read(part, depth + 1) for part in parts))


def _inequality(text: str) -> tuple[Brackets, list[str]] | None:
    r"""Read "1 < x \le 3" and "x > 3" as intervals."""
    if match := _CHAIN.fullmatch(text):
        left, right = match[2] == "<", match[4] == "<"
        return _interval(left, right), [match[1], match[5]]
    if match := _HALF.fullmatch(text):
        is_open = match[2] in "<>"
        if match[2] in (">", "\\ge", ">="):
            return _interval(is_open, True), [match[3].strip(), "\\infty"]
        return _interval(True, is_open), ["-\\infty", match[3].strip()]
    return None


def _interval(left_open: bool, right_open: bool) -> Brackets:
    return Brackets(("(" if left_open else "[") + (")" if right_open else "]"))


_PAIRS = {
    ("(", ")"): Brackets.ROUND,
    ("[", "]"): Brackets.SQUARE,
    ("(", "]"): Brackets.LEFT_OPEN,
    ("[", ")"): Brackets.RIGHT_OPEN,
    ("\\{", "\\}"): Brackets.SET,
    ("{", "}"): Brackets.SET,
}


def _is_wrapped(text: str) -> bool:
    return _unwrap(text) is not None


def _unwrap(text: str) -> tuple[Brackets, str] | None:
    for (opening, closing), brackets in _PAIRS.items():
        if text.startswith(opening) and text.endswith(closing):
            inner = text[len(opening) : -len(closing)]
            if _balanced(inner):
                return brackets, inner.strip()
    return None


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split at separators outside of brackets."""
    parts: list[str] = []
    start = 0
    for match in separator.finditer(text):
        part = text[start : max(start, match.start())]
        if match.start() >= start and match[0] and _balanced(part):
            parts.append(part.strip())
            start = match.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part] if separator is _WORD_LIST else parts


def _without_outer_braces(text: str) -> str:
    if text.startswith("{") and text.endswith("}") and "," not in text and _balanced(text[1:-1]):
        return text[1:-1].strip()
    return text


# ---------------------------------------------------------------- numbers

_PLAIN = r"[-+]?(?:\d+\.?\d*|\.\d+)"
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+|(?:_\d{3})+)(?:\.\d+)?")
_DECIMAL = re.compile(rf"({_PLAIN})(?:[eE]([-+]?\d+))?")
_SCIENTIFIC = re.compile(
    rf"({_PLAIN})\s*(?:\\times|\\cdot|x|\*)\s*10\s*(?:\^|\*\*)\s*(?:\{{\s*([-+]?\d+)\s*\}}|\(?([-+]?\d+)\)?)"
)
_POWER_OF_TEN = re.compile(r"([-+]?)10\s*\^\s*(?:\{\s*([-+]?\d+)\s*\}|([-+]?\d+))")
_FRACTION = re.compile(
    r"([-+]?)\s*(?:(\d+)\s+|(\d+)(?=\\))?\s*"
    r"(?:\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))|\(?([-+]?[\d.,]+)\)?\s*/\s*\(?([-+]?[\d.,]+)\)?)"
)


def read_number(text: str) -> Number | None:
    """Return the number that a cleaned text is, with percent sign, currency or unit; else None."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")") and _balanced(text[1:-1]):
        text = text[1:-1].strip()
    if (word := _WORDS.get(text.lower())) is not None:
        return Number(value=Fraction(word))
    text = re.sub(r"^([-+]?)\s*[$\u20ac\u00a3\u00a5]\s*", r"\1", text)
    amount, unit = split_unit(text)
    is_percent = False
    for sign in ("%", "percent", "per cent"):
        if amount.endswith(sign):
            amount, is_percent = amount.removesuffix(sign).rstrip(), True
            break
    found = _rational(amount)
    if found is None:
        return None
    value, is_exact = found
    if is_percent:
        value /= 100
    return Number(value=value, is_exact=is_exact, is_percent=is_percent, unit=unit)


def _rational(text: str) -> tuple[Fraction, bool] | None:
    text = re.sub(r"^([-+])\s+", r"\1", text)
    if len(text) > 4 * _MAX_DIGITS:
        return None
    if _GROUPED.fullmatch(text):
        text = re.sub(r"[ ,_]", "", text)
    if match := _DECIMAL.fullmatch(text):
        return _decimal(match[1], match[2])
    if match := _SCIENTIFIC.fullmatch(text):
        return _decimal(match[1], match[2] or match[3])
    if match := _POWER_OF_TEN.fullmatch(text):
        return _decimal(f"{match[1]}1", match[2] or match[3])
    if match := _FRACTION.fullmatch(text):
        return _fraction(match)
    return None


def _decimal(digits: str, exponent: str | None) -> tuple[Fraction, bool] | None:
    power = int(exponent or 0) if len(exponent or "") < 6 else _MAX_EXPONENT + 1
    if len(digits) > _MAX_DIGITS or abs(power) > _MAX_EXPONENT:
        return None
    value = Fraction(digits.rstrip(".")) * Fraction(10) ** power
    return value, value.denominator == 1


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
