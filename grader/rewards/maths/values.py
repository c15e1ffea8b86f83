"""Reading an answer as a value: a number, a collection, an equation, or an expression.

Everything here is pure and cheap. Expressions that need algebra stay text for `symbolic`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from grader.rewards.maths.notation import DOTS, balanced, split_at, unwrapped
from grader.rewards.maths.numerals import Number, read_number
from grader.rewards.maths.units import UnitOfMeasure, joined_units, split_unit

_MAX_ITEMS = 64
_MAX_DEPTH = 4


class Brackets(StrEnum):
    """The brackets of a collection."""

    NONE = ""
    """A bare list: "1, 2", "1 and 2", "1 or 2"; in any order."""
    SET = "{}"
    ROUND = "()"
    """A tuple, a point, an open interval."""
    SQUARE = "[]"
    LEFT_OPEN = "(]"
    RIGHT_OPEN = "[)"
    UNION = "\\cup"
    RATIO = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Several values."""

    brackets: Brackets
    items: "tuple[Value, ...]"

    @property
    def is_record(self) -> bool:
        """Whether every item has a different name, as in "x = 1, y = 2"."""
        names = {item.name for item in self.items if isinstance(item, NamedValue)}
        return len(names) == len(self.items) > 1

    @property
    def is_sequence(self) -> bool:
        """Whether the names of a record differ only by numbers below them: "x_1 = 1, x_2 = 2"."""
        names = [item.name for item in self.items if isinstance(item, NamedValue)]
        return self.is_record and len({_SUBSCRIPT.sub("", name) for name in names}) == 1

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the items matters."""
        if any(isinstance(item, Expression) and item.text == DOTS for item in self.items):
            return True
        return self.brackets not in (Brackets.NONE, Brackets.SET, Brackets.UNION)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedValue:
    """A named value: "x = 5", or "x > 5" as an interval."""

    name: str
    value: "Value"
    text: str
    """The whole text."""

    @property
    def is_variable(self) -> bool:
        """Whether the name is a letter, and not words that describe the value."""
        return bool(_VARIABLE.fullmatch(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Equation:
    """An equation whose left side is not a name."""

    value: "Value"
    """Its last side."""
    is_implicit: bool
    """Whether it describes a line, a circle and so on, instead of the value of its left side."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximation:
    r"""A value with its rounded form: "\sqrt{3} \approx 1.73"."""

    exact: "Value"
    rounded: "Value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A time of day."""

    minute: str
    """Hours and minutes, as "1:05"."""
    half: str
    """ "a" for a.m., "p" for p.m., empty if not given."""

    @property
    def minute_of_day(self) -> str:
        """Hours and minutes on the 24-hour clock, if the half of the day is given."""
        hour, rest = self.minute.split(":", 1)
        late = 12 if self.half == "p" else 0
        return f"{int(hour) % 12 + late}:{rest}" if self.half else self.minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """A whole number modulo another: "10 (mod 7)"."""

    value: int
    modulus: int
    text: str

    def is_of(self, value: int, modulus: int) -> bool:
        """Return whether a number is the same modulo the same number."""
        same = modulus == self.modulus and modulus > 0
        return same and (value - self.value) % modulus == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """Any other answer, in a normal form that is cheap to compute."""

    text: str
    unit: UnitOfMeasure | None = None

    @property
    def is_relation(self) -> bool:
        """Whether it is an inequality."""
        return bool(_RELATION.search(self.text))


Value = Number | Collection | NamedValue | Equation | Approximation | Clock | Residue | Expression


# ---------------------------------------------------------------- reading

_LETTER = r"(?:\\[a-zA-Z]+|[a-zA-Z])(?:_\{?\w+\}?)?"
_POINT = re.compile(r"([A-Z](?:_\d)?)\s*(\(.*,.*\))")
_SUBSCRIPT = re.compile(r"_(?:\d+|\{\d+\})$")
_VARIABLE = re.compile(_LETTER)
_NAME = re.compile(rf"{_LETTER}(?:\({_LETTER}\))?|[a-zA-Z][a-zA-Z ]{{2,40}}")
_LIST = re.compile(r"\s*(?:[,;]\s*(?:and|or)\b|\b(?:and|or)\b|;|,(?!\d{3}(?!\d)))\s*")
_COMMA = re.compile(r"\s*[,;]\s*")
_UNION = re.compile(r"\s*(?:\\cup\b|\bU\b)\s*")
_ROUNDED_CONSTANT = re.compile(r"\\pi\s*\\approx.*|e\s*\\approx\s*2\.7.*")
"""A number that has a name, with its rounded form. Any other rounded `e` is a variable."""
_EQUALS = re.compile(r"\s*(?:=|\\approx(?![a-zA-Z]))\s*")
_RATIO = re.compile(r"\s*:\s*")
_CHAIN = re.compile(rf"(.+?)\s*(<|\\le|>|\\ge)\s*({_LETTER})\s*(<|\\le|>|\\ge)\s*(.+)")
_HALF = re.compile(rf"({_LETTER})\s*(<|\\le|>|\\ge)\s*(.+)")
_HALF_TURNED = re.compile(rf"(.+?)\s*(<|\\le|>|\\ge)\s*({_LETTER})")
_UNEQUAL = re.compile(rf"({_LETTER})\s*\\ne\s*(.+)")
_MEMBER = re.compile(rf"({_LETTER}|\([\w\s,\\]*\))\s*\\in(?![a-zA-Z])\s*(.+)")
_SUCH_THAT = re.compile(rf"({_LETTER})(?:\s*\\in[^|:]*?)?\s*(?:\\mid\b|\||:)\s*(.+)")
_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z])")
_RESIDUE = re.compile(rf"(?:({_LETTER})\s*\\equiv\s*)?(-?\d{{1,60}}) \\pmod\{{(\d{{1,60}})\}}")
_MONOMIAL = re.compile(r"[-\d\sa-z^{}]*[a-z][-\d\sa-z^{}]*")
_RELATION = re.compile(r"[<>]|\\(?:le|ge|ne)(?![a-zA-Z])")
_CLOCK = re.compile(
    r"0?(?:(\d{1,2}:[0-5]\d(?::[0-5]\d)?)\s*(?:([ap])\.?\s*m\.?)?|(1?\d)\s*([ap])\.?\s*m\.?)",
    re.IGNORECASE,
)
_NOTHING = frozenset({"\\emptyset", "\\{\\}", "{}", "no solution", "no solutions", "none"})
_THE_LIMIT = re.compile(r"^(?:the )?limit (?:is )?(?=dne|d\.n\.e|undefined|does)")
_MEANINGS = {
    "does not exist": "does not exist",
    "all real numbers": "\\mathbb{R}",
    "all reals": "\\mathbb{R}",
    "infinity": "\\infty",
    **dict.fromkeys(("dne", "d.n.e", "undefined"), "does not exist"),
}
_TURNED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}
_PAIRS = {
    ("(", ")"): Brackets.ROUND,
    ("[", "]"): Brackets.SQUARE,
    ("(", "]"): Brackets.LEFT_OPEN,
    ("[", ")"): Brackets.RIGHT_OPEN,
    ("]", "["): Brackets.ROUND,
    ("]", "]"): Brackets.LEFT_OPEN,
    ("[", "["): Brackets.RIGHT_OPEN,
    ("\\{", "\\}"): Brackets.SET,
    ("{", "}"): Brackets.SET,
}


def read(text: str) -> Value:
    """Return the value of a cleaned answer. Never raises; unreadable ones are an `Expression`."""
    return _read(text.strip(), 0)


def latex(value: Value) -> str:
    """Return a value as LaTeX, for algebra."""
    match value:
        case Number():
            return f"{value.value.numerator}/{value.value.denominator}"
        case Collection(brackets=Brackets.UNION):
            return " \\cup ".join(map(latex, value.items))
        case Collection(brackets=Brackets.SET):
            return "\\{" + ", ".join(map(latex, value.items)) + "\\}"
        case Collection(brackets=brackets):
            inner = ", ".join(map(latex, value.items))
            return f"{brackets[0]}{inner}{brackets[1]}" if len(brackets) > 1 else inner
        case Approximation():
            return latex(value.exact)
        case Clock():
            return value.minute
        case NamedValue() | Equation() | Residue() | Expression():
            return value.text


def _read(text: str, depth: int) -> Value:
    text = _without_outer_braces(text)
    if text.lower() in _NOTHING:
        return Collection(brackets=Brackets.SET, items=())
    text = _MEANINGS.get(_THE_LIMIT.sub("", text.lower()), text)
    if match := _CLOCK.fullmatch(text):
        return Clock(minute=match[1] or f"{match[3]}:00", half=(match[2] or match[4] or "").lower())
    if match := _RESIDUE.fullmatch(text):
        residue = Residue(text=text, value=int(match[2]), modulus=int(match[3]))
        return NamedValue(name=match[1], value=residue, text=text) if match[1] else residue
    if amount := joined_units(text):
        number = read_number(amount.text)
        return Expression(text=text) if number is None else number.with_unit(amount.unit)
    if depth < _MAX_DEPTH and not text.startswith("\\begin"):
        for reader in (_list, _equation, _collection, _inequality):
            if (found := reader(text, depth)) is not None:
                return found
    amount = split_unit(text)
    number = read_number(amount.text)
    if number is None:
        return Expression(text=amount.text, unit=amount.unit)
    return number.with_unit(amount.unit, amount.scale)


def _list(text: str, depth: int) -> Value | None:
    r"""Read "1, 2", "x = 1 or x = 2", "x = 1, y = 2", and "\pm 1"."""
    parts = [part for part in split_at(text, _LIST) if part]
    if 1 < len(parts) <= _MAX_ITEMS and read_number(split_unit(text).text) is None:
        items = tuple(_read(part, depth + 1) for part in parts)
        return Collection(brackets=Brackets.NONE, items=_grouped(items))
    if len(_PLUS_MINUS.findall(text)) == 1 and "\\mp" not in text:
        signed = [_read(_PLUS_MINUS.sub(sign, text), depth + 1) for sign in "+-"]
        return Collection(brackets=Brackets.NONE, items=_grouped(tuple(signed)))
    return None


def _grouped(items: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the items of a list, with named ones grouped.

    "x = 1 or x = 2" and "n = 1, 2" are several values of one name; "x = 1, y = 2" keeps its names;
    "x = 1, y = 2 or x = 2, y = 1" is two groups with names.
    """
    names = [item.name if isinstance(item, NamedValue) else None for item in items]
    count = len(set(names))
    if count == len(names) and None not in names:
        return items
    blocks = [names[start : start + count] for start in range(0, len(names), count)]
    if count > 1 and None not in names and all(set(block) == set(names) for block in blocks):
        return tuple(
            Collection(brackets=Brackets.NONE, items=items[start : start + count])
            for start in range(0, len(names), count)
        )
    is_one_thing = len(set(names) - {None}) == 1
    return tuple(
        item.value if is_one_thing and isinstance(item, NamedValue) else item for item in items
    )


def _equation(text: str, depth: int) -> Value | None:
    r"""Read "x = 5", "P(1, 2)", "2x + y = 3", "\sqrt{3} \approx 1.73" and "x \in [0, 1)"."""
    if (match := _POINT.fullmatch(text)) and _unwrap(match[2]):
        text = f"{match[1]}={match[2]}"
    if match := _MEMBER.fullmatch(text):
        values = _read(match[2], depth + 1)
        return values if match[1][0] == "(" else NamedValue(name=match[1], value=values, text=text)
    sides = split_at(text, _EQUALS)
    if len(sides) == 1 or not sides[-1] or _RELATION.search(text):
        return None
    if len(sides) == 2 and _is_defined(sides[1]) and not _has_variable(sides[0]):
        sides.reverse()  # "3 = x", "1 = x^2 + y^2"
    first, value = sides[0], _read(sides[-1], depth + 1)
    if not first:
        return value
    if record := _record(first, value):
        return record
    if _NAME.fullmatch(first) and not _ROUNDED_CONSTANT.fullmatch(text):
        return NamedValue(name=first.replace("{", "").replace("}", ""), value=value, text=text)
    if "\\approx" in text:
        return Approximation(exact=_read(first, depth + 1), rounded=value)
    if not any(_has_variable(side) for side in sides[:-1]):
        return value
    return Equation(value=value, is_implicit=len(sides) > 2 or _is_curve(first), text=text)


def _record(names: str, value: Value) -> Value | None:
    """Read "(x, y) = (1, 2)". If several points follow, (x, y) names each."""
    wrapped = _unwrap(names)
    parts = split_at(wrapped[1], _COMMA) if wrapped else []
    if not parts or not all(_VARIABLE.fullmatch(part) for part in parts):
        return None
    if not isinstance(value, Collection) or len(value.items) != len(parts):
        return value
    return Collection(
        brackets=Brackets.NONE,
        items=tuple(
            NamedValue(name=name, value=item, text=f"{name}={latex(item)}")
            for name, item in zip(parts, value.items, strict=True)
        ),
    )


def _collection(text: str, depth: int) -> Value | None:
    parts = [part for part in split_at(text, _UNION) if part]
    if len(parts) > 1 and all(_unwrap(part) for part in parts):
        return _items(Brackets.UNION, parts, depth)
    if wrapped := _unwrap(text):
        brackets, inner = wrapped
        if brackets is Brackets.SET and (match := _SUCH_THAT.fullmatch(inner)):
            return _inequality(match[2], depth)
        parts = split_at(inner, _COMMA)
        if brackets is Brackets.SET or len(parts) > 1:
            return _items(brackets, parts, depth)
        return None
    parts = split_at(text, _RATIO)
    if len(parts) > 1:
        ratio = _items(Brackets.RATIO, parts, depth)
        if ratio is not None and all(isinstance(item, Number) for item in ratio.items):
            return ratio
    return None


def _items(brackets: Brackets, parts: list[str], depth: int) -> Collection | None:
    if len(parts) > _MAX_ITEMS or not all(parts):
        return None
    return Collection(brackets=brackets, items=tuple(_read(part, depth + 1) for part in parts))


def _inequality(text: str, depth: int) -> Value | None:
    r"""Read "1 < x \le 3", "x > 3" and "x \ne 3" as intervals."""
    for name, brackets, ends in _intervals(text):
        interval = _items(brackets, ends, depth)
        if interval is not None:
            return NamedValue(name=name, value=interval, text=text)
    if match := _UNEQUAL.fullmatch(text):
        hole = _read(match[2], depth + 1)
        sides = tuple(
            Collection(brackets=Brackets.ROUND, items=tuple(ends))
            for ends in ((_END["-"], hole), (hole, _END["+"]))
        )
        union = Collection(brackets=Brackets.UNION, items=sides)
        return NamedValue(name=match[1], value=union, text=text)
    return None


_END = {"-": Expression(text="-\\infty"), "+": Expression(text="\\infty")}


def _intervals(text: str) -> Iterator[tuple[str, Brackets, list[str]]]:
    if len(_RELATION.findall(text)) > 2:
        return
    if match := _CHAIN.fullmatch(text):
        low, first, name, second, high = match.groups()
        if first in (">", "\\ge"):
            low, first, second, high = high, _TURNED[second], _TURNED[first], low
        if second in ("<", "\\le"):
            yield name, _interval(first == "<", second == "<"), [low, high]
    elif match := _HALF.fullmatch(text):
        yield match[1], *_half_line(match[2], match[3])
    elif match := _HALF_TURNED.fullmatch(text):
        yield match[3], *_half_line(_TURNED[match[2]], match[1])


def _half_line(sign: str, end: str) -> tuple[Brackets, list[str]]:
    if sign in (">", "\\ge"):
        return _interval(sign == ">", True), [end, "\\infty"]
    return _interval(True, sign == "<"), ["-\\infty", end]


def _interval(left_open: bool, right_open: bool) -> Brackets:
    return Brackets(("(" if left_open else "[") + (")" if right_open else "]"))


def _unwrap(text: str) -> tuple[Brackets, str] | None:
    for (opening, closing), brackets in _PAIRS.items():
        if (inner := unwrapped(text, opening, closing)) is not None:
            return brackets, inner
    return None


def _without_outer_braces(text: str) -> str:
    while "," not in text and (inner := unwrapped(text, "{", "}")) is not None:
        text = inner
    return text


def _has_variable(side: str) -> bool:
    return bool(re.search(r"[a-zA-Z]", re.sub(r"\\[a-zA-Z]+", "", side)))


def _is_defined(side: str) -> bool:
    """Return whether a side is what an equation is about, if the other side is a number."""
    is_sum = _has_variable(side) and _is_curve(side) and split_unit(side).text == side
    return is_sum or bool(_VARIABLE.fullmatch(side))


def _is_curve(side: str) -> bool:
    """Return whether the left side of an equation is a sum, or a product of variables."""
    signs = re.finditer(r"(?<=[^\s({\[])\s*[+-]", side)
    return bool(_MONOMIAL.fullmatch(side)) or any(balanced(side[: sign.start()]) for sign in signs)
