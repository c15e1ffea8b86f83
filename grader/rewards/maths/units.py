"""Units behind numbers: known ones are converted, other words are dropped. All pure."""

import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit that is known."""

    dimension: str
    """Such as "length"; numbers of different dimensions are never equal."""
    factor: Fraction
    """How many of its dimension's base unit it is."""


_TABLE = {
    "length": {
        "mm": "1/1000", "cm": "1/100", "m": "1", "meter": "1", "metre": "1", "km": "1000",
        "millimeter": "1/1000", "centimeter": "1/100", "centimetre": "1/100", "kilometer": "1000",
        "kilometre": "1000", "inch": "127/5000", "foot": "381/1250", "feet": "381/1250",
        "ft": "381/1250", "yard": "1143/1250", "mile": "1609344/1000",
    },
    "mass": {
        "mg": "1/1000", "g": "1", "gram": "1", "kg": "1000", "kilogram": "1000",
    },
    "time": {
        "second": "1", "sec": "1", "s": "1", "minute": "60", "min": "60", "hour": "3600",
        "hr": "3600", "h": "3600", "day": "86400", "week": "604800",
    },
    "volume": {"ml": "1/1000", "milliliter": "1/1000", "l": "1", "liter": "1", "litre": "1"},
    "area": {"cm^2": "1/10000", "m^2": "1", "km^2": "1000000"},
    "angle": {"degree": "1", "deg": "1"},
    "money": {"cent": "1/100", "dollar": "1", "usd": "1"},
}  # fmt: skip

_UNITS = {
    name: Unit(dimension=dimension, factor=Fraction(factor))
    for dimension, units in _TABLE.items()
    for name, factor in units.items()
}
_WORDS = re.compile(
    r"[a-zA-Z][a-zA-Z'./-]*(?:\s*\^\s*\{?[23]\}?)?(?:[ /][a-zA-Z][a-zA-Z'./-]*){0,4}"
)
_POWER = re.compile(r"\s*\^\s*\{?([23])\}?")
_AMOUNT_END = re.compile(r"[\d.)}%]$")
_MAX_CHARS = 200


def split_unit(text: str) -> tuple[str, Unit | None]:
    """Return a text without the unit or words behind its number, and the unit where it is known.

    "3 apples" is ("3", None), "3 km" is ("3", kilometres), and "3x" is ("3x", None): a single
    letter that no blank parts from the number is a variable.
    """
    if len(text) > _MAX_CHARS:
        return text, None
    start = _start_of_words(text)
    if start is None:
        return text, None
    amount, words = text[:start].rstrip(), text[start:]
    has_blank = start > len(amount)
    name = _POWER.sub(r"^\1", words).lower().strip(" .")
    unit = _UNITS.get(name) or _UNITS.get(_singular(name))
    if name in ("percent", "per cent"):
        return f"{amount}%", None
    if not has_blank and unit is None:
        return text, None
    if not has_blank and len(name) == 1:
        return text, None
    if unit is None and (len(name.split()[0]) == 1 or "^" in name):
        # "3 x" is a product.
        return text, None
    return amount, unit


def _start_of_words(text: str) -> int | None:
    for match in re.finditer(r"(?<=[\d.)}%\s])[a-zA-Z]", text):
        before = text[: match.start()].rstrip()
        if _AMOUNT_END.search(before) and _WORDS.fullmatch(text, match.start()):
            return match.start()
    return None


def _singular(name: str) -> str:
    if name == "inches":
        return "inch"
    return name.removesuffix("s")
