"""Units after numbers: known ones are converted, other words are dropped. All pure."""

import re
from collections import Counter
from dataclasses import dataclass, replace
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
        "inch": "127/5000", "inches": "127/5000", "in": "127/5000", "foot": "381/1250",
        "feet": "381/1250", "ft": "381/1250", "yard": "1143/1250", "yd": "1143/1250",
        "mile": "1609344/1000", "mi": "1609344/1000",
    },
    ("mass", 1): {"lb": "45359237/100000", "pound": "45359237/100000", "tonne": "1000000"},
    ("time", 1): {
        "sec": "1", "minute": "60", "min": "60", "hour": "3600", "hr": "3600", "h": "3600",
        "day": "86400", "week": "604800",
    },
    ("degrees", 1): {
        "degree": "1", "deg": "1", "arcminute": "1/60", "arcsecond": "1/3600",
    },
    ("radians", 1): {"radian": "1", "rad": "1"},
    ("celsius", 1): {"celsius": "1"},
    ("fahrenheit", 1): {"fahrenheit": "1"},
    ("money", 1): {"cent": "1/100", "dollar": "1", "usd": "1"},
}  # fmt: skip
"""Units whose names are read in any case, with their size in the base unit."""

_SCIENTIFIC = {
    ("m", "meter", "metre"): ("1", {"length": 1}),
    ("g", "gram"): ("1", {"mass": 1}),
    ("s", "second"): ("1", {"time": 1}),
    ("L", "liter", "litre"): ("1/1000", {"length": 3}),
    ("l",): ("1/1000", {"length": 3}),
    ("N", "newton"): ("1000", {"mass": 1, "length": 1, "time": -2}),
    ("J", "joule"): ("1000", {"mass": 1, "length": 2, "time": -2}),
    ("W", "watt"): ("1000", {"mass": 1, "length": 2, "time": -3}),
    ("Pa", "pascal"): ("1000", {"mass": 1, "length": -1, "time": -2}),
    ("Hz", "hertz"): ("1", {"time": -1}),
    ("A", "ampere", "amp"): ("1", {"current": 1}),
    ("C", "coulomb"): ("1", {"current": 1, "time": 1}),
    ("V", "volt"): ("1000", {"mass": 1, "length": 2, "time": -3, "current": -1}),
    ("ohm",): ("1000", {"mass": 1, "length": 2, "time": -3, "current": -2}),
    ("F", "farad"): ("1/1000", {"mass": -1, "length": -2, "time": 4, "current": 2}),
    ("T", "tesla"): ("1000", {"mass": 1, "time": -2, "current": -1}),
    ("K", "kelvin"): ("1", {"temperature": 1}),
    ("mol", "mole"): ("1", {"substance": 1}),
}
"""Units that take prefixes: the symbol, whose letters keep their case (mW is not MW), and words."""
_PREFIXES = {
    ("", ""): "1", ("n", "nano"): "1/1000000000", ("u", "micro"): "1/1000000",
    ("m", "milli"): "1/1000", ("c", "centi"): "1/100", ("k", "kilo"): "1000",
    ("M", "mega"): "1000000", ("G", "giga"): "1000000000",
}  # fmt: skip

_BASE = {
    name: (Counter({dimension: power}), Fraction(factor))
    for (dimension, power), units in _TABLE.items()
    for name, factor in units.items()
} | {
    prefix[number > 0] + name: (Counter(dimension), Fraction(size) * Fraction(factor))
    for names, (factor, dimension) in _SCIENTIFIC.items()
    for number, name in enumerate(names)
    for prefix, size in _PREFIXES.items()
}
SCALES = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "\u4e07": 10**4,
    "\u4ebf": 10**8,
}  # fmt: skip
_SPELLED = (
    (re.compile(r"\bdegrees? (?=celsius|fahrenheit)", re.IGNORECASE), ""),
    (re.compile(r"\bmph\b", re.IGNORECASE), "mile/hour"),
    (re.compile(r"\bkm?ph\b|\bkmh\b", re.IGNORECASE), "km/h"),
    (re.compile(r"\bkWh\b"), "kW h"),
    (re.compile(r"\s*\bper\b\s*", re.IGNORECASE), "/"),
    (re.compile(r"\b(?:square|sq)\.?\s+([a-z]+)", re.IGNORECASE), r"\1^2"),
    (re.compile(r"\b(?:cubic|cu)\.?\s+([a-z]+)", re.IGNORECASE), r"\1^3"),
    (re.compile(r"\s*(?:\\cdot|[\s*-])\s*(?=[a-zA-Z])"), " "),
)
_FACTOR = re.compile(r"([a-zA-Z]+)(?:\^\{?(-?\d)\}?)?")
_WORD = r"[a-zA-Z][a-zA-Z'./-]*(?:\s*\^\s*\{?-?\d\}?)?"
_WORDS = re.compile(rf"{_WORD}(?:(?:[ /*]|\s*\\cdot\s*){_WORD}){{0,4}}")
_OTHER_WORDS = re.compile(r"[\u4e00-\u9fff]{1,8}")
"""Words of a language that writes no blanks."""
_SCALED = re.compile(rf"(?:{'|'.join(SCALES)})(?![a-zA-Z])", re.IGNORECASE)
_UNITS_OF_NOTHING = re.compile(r"(?:(?:square|sq\.?|cubic) )?units?(?:\^[23])?")
_PART = re.compile(
    r"(?:and|,)?\s*(\d+(?:\.\d+)?)\s*(?:\\unit\{\s*([a-zA-Z]+)\s*\}|([a-zA-Z]+)\b)\.?\s*"
)
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
    scale: int = 1
    """What a word such as "million" multiplies the number by."""


def split_unit(text: str) -> Amount:
    r"""Return a text without the unit or words after its number, and the unit if it is known.

    "3 apples" is "3", "3 km" is "3" and kilometres, and "3x" is "3x": a single letter without
    a blank before it is a variable, and so are several capital letters. Words after a variable
    belong to the answer ("n is even"), unless they are a known unit. `\unit{...}` are words that
    were marked as text.
    """
    found = _words_behind(text) if len(text) <= _MAX_CHARS else None
    if found is None:
        return Amount(text=text)
    amount, words, is_marked = found
    name = re.sub(r"\s*\^\s*\{?(-?\d)\}?", r"^\1", words).strip(" .")
    if name.lower() in ("percent", "per cent"):
        return Amount(text=f"{amount}%")
    if scaled := _SCALED.match(name):
        rest = split_unit(f"{amount} {name[scaled.end() :].strip()}".strip())
        return replace(rest, scale=SCALES[scaled[0].lower()])
    if _OTHER_WORDS.fullmatch(name):
        return Amount(text=amount)
    unit = unit_of(name)
    has_blank = is_marked or text[len(amount)] == " "
    is_word = len(name.split()[0].rstrip("^23")) > 1
    # In text mode a capital letter is a unit of physics rather than a variable.
    is_unknown_unit = _is_constant(amount) and (is_word or (is_marked and words.isupper()))
    is_unit = unit is not None or is_unknown_unit or _UNITS_OF_NOTHING.fullmatch(name.lower())
    is_variable = not has_blank and (unit is None or not is_word or name.isupper())
    if not amount or not is_unit or is_variable or re.search(NO_UNIT, name.lower()):
        return Amount(text=f"{amount} {words}".strip() if is_marked else text)
    return Amount(text=amount, unit=unit)


def joined_units(text: str) -> Amount | None:
    """Read "2 hours 30 minutes" and "45 degrees 30 arcminutes" in the first of their units."""
    parts: list[tuple[Fraction, UnitOfMeasure]] = []
    end = 0
    while match := _PART.match(text, end):
        unit = unit_of(match[2] or match[3])
        if unit is None or (parts and unit.dimension != parts[-1][1].dimension):
            return None
        parts.append((Fraction(match[1]), unit))
        end = match.end()
    sizes = [unit.factor for _, unit in parts]
    is_falling = sizes == sorted(set(sizes), reverse=True)
    if end < len(text) or len(parts) < len(("hours", "minutes")) or not is_falling:
        return None
    total = sum((value * unit.factor for value, unit in parts), Fraction(0)) / sizes[0]
    return Amount(text=f"{total.numerator}/{total.denominator}", unit=parts[0][1])


def _words_behind(text: str) -> tuple[str, str, bool] | None:
    """Return an amount, the words after it, and whether they were marked as text."""
    if match := _MARKED.search(text):
        return text[: match.start()].rstrip(), match[1], True
    for match in re.finditer(r"(?<=[\d.)}%\s])[a-zA-Z\u4e00-\u9fff]", text):
        amount = text[: match.start()].rstrip()
        # "sin 30 degrees" is a number without a unit.
        is_amount = _AMOUNT_END.search(amount) and not _ANGLE_FUNCTION.search(amount)
        words = _OTHER_WORDS if match[0] >= "\u4e00" else _WORDS
        if is_amount and words.fullmatch(text, match.start()):
            return amount, text[match.start() :], False
    return None


def unit_of(name: str) -> UnitOfMeasure | None:
    """Return the unit of a name, such as "km/h", "kW h" or "square feet"; None if unknown."""
    for pattern, spelling in _SPELLED:
        name = pattern.sub(spelling, name)
    powers: Counter[str] = Counter()
    factor = Fraction(1)
    for number, product in enumerate(name.split("/")):
        for part in product.split() or [""]:
            match = _FACTOR.fullmatch(part)
            if match is None or (base := _base(match[1])) is None:
                return None
            power = int(match[2] or 1) * (-1 if number else 1)
            for dimension, exponent in base[0].items():
                powers[dimension] += exponent * power
            factor *= base[1] ** power
    return UnitOfMeasure(
        dimension=frozenset(item for item in powers.items() if item[1]), factor=factor
    )


def _base(name: str) -> tuple[Counter[str], Fraction] | None:
    lower = name.lower()
    # "Hours" is "hour", but "Ns" is neither nanoseconds nor several newtons.
    if len(name) <= len("Ns") and lower.endswith("s"):
        return _BASE.get(name)
    return _BASE.get(name) or _BASE.get(lower) or _BASE.get(lower.removesuffix("s"))


def _is_constant(amount: str) -> bool:
    return not re.search(r"[a-zA-Z]", _OF_CONSTANTS.sub("", amount))
