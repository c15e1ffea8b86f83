"""Source that replaces a value by another as the test computes it."""

import math
from random import Random

from grader.twins.values import EXACT, Tolerance

_TYPE = "(0).__class__.__class__"
EQUAL_TO_NOTHING = f"{_TYPE}('Other', (), {{'__bool__': lambda s: 1 // 0}})()"
"""Source of a new object. It has no truth value either, since an object may equal all that is true,
or all that is false."""

_FEW = 50
_PLACES = 1000
_INSTEAD_OF_NONE = ("17", "'k3'", "[0]")
_STEPS = (-17, -13, -11, -1, 1, 11, 13, 17)
"""No multiples of 2, 3, 5 or 7, since an equality may ignore these."""


def other_value(rng: Random, tolerance: Tolerance = EXACT, sign: str = "+") -> tuple[str, str]:
    """Return what to write before and after an expression so that its value is another.

    The other value has the type and the size of the first. A container gets one item replaced, by
    the same rules. So code that sees the value cannot tell that it was changed, and the change also
    exposes an object that equals everything and is only an item. A value of an unusual type becomes
    a new object that equals nothing else. The source uses no name that a submission could
    define.

    Args:
        rng: Chooses the value.
        tolerance: By how much the values must at least differ, if they are numbers. If there is
            one, each character of a text differs, and each item of a small list, tuple or dict.
        sign: Whether a number is to be larger (+) or smaller (-) if there is a tolerance.
    """
    place = f"* {rng.randrange(_PLACES)} // {_PLACES}"
    letters, digits = rng.sample("abcdefghkmnprstw", 2), rng.sample("123456789", 2)
    first = "not v if t(v) is (not 0).__class__ else "
    text = f"v[:i] + {_other_character('v[i:i + 1]', letters, digits)} + v[i + 1:]"
    items = ""
    if tolerance == EXACT:
        number = f"v + {rng.choice(_STEPS)}"
    else:
        step = rng.choice([1, 11, 13]) + 4 * tolerance.absolute
        share = 8 * tolerance.relative
        least = f"{_rounded_up(step)} + {_rounded_up(share)} * (v if v > 0 else -v)"
        # Decimals and fractions cannot be added to a float.
        first += f"v {sign} ({least}) if t(v).__name__ in ('int', 'Decimal', 'Fraction') "
        first += "and v == v else "
        number = f"v {sign} ({step} + {share} * (v * v) ** .5)"
        text = f"''.join([{_other_character('c', letters, digits)} for c in v]) or '{letters[0]}'"
        items = (
            f"else [o(o, x) for x in v] if t(v) is [].__class__ and 0 < v.__len__() < {_FEW} "
            f"else (*[o(o, x) for x in v],) if t(v) is ().__class__ and 0 < v.__len__() < {_FEW} "
            "else {k: o(o, v[k]) for k in v} "
            f"if t(v) is {{}}.__class__ and 0 < v.__len__() < {_FEW} "
        )
    body = (
        f"{first}{number} if t(v).__name__ in "
        "('bool', 'int', 'float', 'complex', 'Decimal', 'Fraction') "
        f"and v == v != {number} "
        f"else {number} if t(v).__name__ == 'ndarray' and v.size and v.dtype.kind in 'iufc' "
        # Not 0, since an object may stand for nothing and equal whatever is false.
        f"else {rng.choice(_INSTEAD_OF_NONE)} if v is None "
        f"else v + t(v - v)({rng.randint(1, 400)}, {rng.randint(1, 80_000)}) "
        "if t(v).__name__ in "
        "('date', 'datetime', 'timedelta') "
        f"else {text} if t(v) is ''.__class__ "
        f"else v[:i] + {_other_character('v[i:i + 1]', letters, digits, 'b')} + v[i + 1:] "
        "if t(v) is b''.__class__ "
        f"{items}"
        "else [*v[:i], o(o, v[i]), *v[i + 1:]] if t(v) is [].__class__ and v "
        "else (*v[:i], o(o, v[i]), *v[i + 1:]) if t(v) is ().__class__ and v "
        "else v._replace(**{v._fields[i]: o(o, v[i])}) if '_replace' in t(v).__dict__ "
        "and '_fields' in t(v).__dict__ and v "
        "else v - {[*v][i]} | {o(o, [*v][i])} "
        "if t(v).__name__ in ('set', 'frozenset') and v "
        "else {**v, [*v][i]: o(o, v[[*v][i]])} if t(v) is {}.__class__ and v "
        "else [0] if t(v) is [].__class__ else (0,) if t(v) is ().__class__ "
        "else v | {0} if t(v).__name__ in ('set', 'frozenset') "
        f"else {{0: 0}} if t(v) is {{}}.__class__ else {EQUAL_TO_NOTHING}"
    )
    size = f"v.__len__() {place} if '__len__' in t(v).__dict__ else 0"
    # An object may lie about its class, but not to `t`.
    whole = f"(lambda t: (lambda i: {body})({size}))({_TYPE})"
    return f"(lambda o, v: o(o, v))(lambda o, v: {whole}, ", ")"


def _rounded_up(value: float) -> int:
    return math.ceil(value) if math.isfinite(value) else 10**18


def _other_character(old: str, letters: list[str], digits: list[str], prefix: str = "") -> str:
    """Return source for a character other than `old`: a digit if `old` is one, else a letter."""

    def either(first: str, second: str) -> str:
        return f"({prefix}'{second}' if {old}.lower() == {prefix}'{first}' else {prefix}'{first}')"

    return f"({either(*digits)} if {old}.isdigit() else {either(*letters)})"
