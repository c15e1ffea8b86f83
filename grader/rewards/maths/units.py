"""Units after numbers: known ones are converted, other words are dropped. All pure."""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOfMeasure:
    """A known unit."""

    dimension: frozenset[tuple[str, int]]
    """For example length to the power of 2. Values of different dimensions are never equal."""
    factor: Fraction
    """Its size in the base unit of its dimension."""


NO_UNIT = r"\b(?:and|or|if|than|is|are|not|when|where)\b"
"""Words that change the meaning of the value before them: "5 or more" is not 5."""

_TABLE = {
    ("length", 1): {
        "mm": "1/1000", "cm": "1/100", "m": "1", "meter": "1", "metre": "1", "km": "1000",
        "millimeter": "1/1000", "centimeter": "1/100", "centimetre": "1/100", "kilometer": "1000",
        "kilometre": "1000", "inch": "127/5000", "inches": "127/5000", "in": "127/5000",
        "foot": "381/1250", "feet": "381/1250", "ft": "381/1250", "yard": "1143/1250",
        "yd": "1143/1250", "mile": "1609344/1000", "mi": "1609344/1000",
    },
    ("length", 3): {
        "ml": "1/1000000", "milliliter": "1/1000000", "l": "1/1000", "liter": "1/1000",
        "litre": "1/1000",
    },
    ("mass", 1): {
        "mg": "1/1000", "g": "1", "gram": "1", "kg": "1000", "kilogram": "1000",
        "lb": "45359237/100000",
    },
    ("time", 1): {
        "second": "1", "sec": "1", "s": "1", "minute": "60", "min": "60", "hour": "3600",
        "hr": "3600", "h": "3600", "day": "86400", "week": "604800",
    },
    ("degrees", 1): {"degree": "1", "deg": "1"},
    ("radians", 1): {"radian": "1", "rad": "1"},
    ("celsius", 1): {"celsius": "1"},
    ("fahrenheit", 1): {"fahrenheit": "1"},
    ("money", 1): {"cent": "1/100", "dollar": "1", "usd": "1"},
}  # fmt: skip

_BASE = {
    name: (*dimension, Fraction(factor))
    for dimension, units in _TABLE.items()
    for name, factor in units.items()
}
_SPELLED = (
    (re.compile(r"\bdegrees? (?=celsius|fahrenheit)"), ""),
    (re.compile(r"\bmph\b"), "mile/hour"),
    (re.compile(r"\bkm?ph\b|\bkmh\b"), "km/h"),
    (re.compile(r"\s*\bper\b\s*"), "/"),
    (re.compile(r"\b(?:square|sq)\.?\s+([a-z]+)"), r"\1^2"),
    (re.compile(r"\b(?:cubic|cu)\.?\s+([a-z]+)"), r"\1^3"),
)
_FACTOR = re.compile(r"([a-z]+)(?:\^\{?(-?\d)\}?)?")
_WORDS = re.compile(
    r"[a-zA-Z][a-zA-Z'./-]*(?:\s*\^\s*\{?[23]\}?)?(?:[ /][a-zA-Z][a-zA-Z'./-]*"
    r"(?:\s*\^\s*\{?[23]\}?)?){0,4}"
)
_UNITS_OF_NOTHING = re.compile(r"(?:(?:square|sq\.?|cubic) )?units?(?:\^[23])?")
_MARKED = re.compile(r"\\unit\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}$")
_AMOUNT_END = re.compile(r"(?:[\d.)}%]|\\(?:pi|infty))$")
_OF_CONSTANTS = re.compile(
    r"\\(?:frac|sqrt|pi|infty|times|cdot|binom|pm|overline|bar|dot|ln|log)(?![a-zA-Z])"
)
_ANGLE_FUNCTION = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)")
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A text without its unit or trailing words."""

    text: str
    unit: UnitOfMeasure | None = None


def split_unit(text: str) -> Amount:
    r"""Return a text without the unit or words after its number, and the unit if it is known.

    "3 apples" is "3", "3 km" is "3" and kilometres, and "3x" is "3x": a single letter without
    a blank before it is a variable. Words after a variable belong to the answer
    ("n is even"), unless they are a known unit. `\unit{...}` are words that were marked as text.
    """
    found = _words_behind(text) if len(text) <= _MAX_CHARS else None
    if found is None:
        return Amount(text=text)
    amount, words, is_marked = found
    name = re.sub(r"\s*\^\s*\{?(-?\d)\}?", r"^\1", words).lower().strip(" .")
    if name in ("percent", "per cent"):
        return Amount(text=f"{amount}%")
    unit = unit_of(name)
    has_blank = is_marked or text[len(amount)] == " "
    is_word = len(name.split()[0].rstrip("^23")) > 1
    # In text mode a capital letter is a unit of physics rather than a variable.
    is_unknown_unit = _is_constant(amount) and (is_word or (is_marked and words.isupper()))
    is_unit = unit is not None or is_unknown_unit or _UNITS_OF_NOTHING.fullmatch(name)
    is_variable = not has_blank and (unit is None or not is_word)
    if not amount or not is_unit or is_variable or re.search(NO_UNIT, name):
        return Amount(text=f"{amount} {words}".strip() if is_marked else text)
    return Amount(text=amount, unit=unit)


def _words_behind(text: str) -> tuple[str, str, bool] | None:
    """Return an amount, the words after it, and whether they were marked as text."""
    if match := _MARKED.search(text):
        return text[: match.start()].rstrip(), match[1], True
    for match in re.finditer(r"(?<=[\d.)}%\s])[a-zA-Z]", text):
        amount = text[: match.start()].rstrip()
        # "sin 30 degrees" is a number without a unit.
        is_amount = _AMOUNT_END.search(amount) and not _ANGLE_FUNCTION.search(amount)
        if is_amount and _WORDS.fullmatch(text, match.start()):
            return amount, text[match.start() :], False
    return None


def unit_of(name: str) -> UnitOfMeasure | None:
    """Return the unit of a name in lower case, such as "km/h" or "square feet"; None if unknown."""
    for pattern, spelling in _SPELLED:
        name = pattern.sub(spelling, name)
    powers: Counter[str] = Counter()
    factor = Fraction(1)
    for number, part in enumerate(name.split("/")):
        match = _FACTOR.fullmatch(part.strip())
        if match is None or (base := _BASE.get(_singular(match[1]))) is None:
            return None
        power = int(match[2] or 1) * (-1 if number else 1)
        powers[base[0]] += base[1] * power
        factor *= base[2] ** power
    return UnitOfMeasure(dimension=frozenset(powers.items()), factor=factor)


def _singular(name: str) -> str:
    # "ms" is not a plural of "m".
    return name.removesuffix("s") if name not in _BASE and len(name) > len("ms") else name


def _is_constant(amount: str) -> bool:
    return not re.search(r"[a-zA-Z]", _OF_CONSTANTS.sub("", amount))
