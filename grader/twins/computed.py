"""Source that replaces a value by another as the test computes it."""

import math
from random import Random

from grader.twins.values import EXACT, Tolerance

_PLACES = 1000
_STEPS = (-17, -13, -11, -1, 1, 11, 13, 17)
"""No multiples of 2, 3, 5 or 7, since an equality may ignore these."""


def other_value(rng: Random, tolerance: Tolerance = EXACT) -> tuple[str, str]:
    """Return what to write before and after an expression so that its value is another.

    The other value has the type and the size of the first. A container gets one item replaced, by
    the same rules. So code that sees the value cannot tell that it was changed, and the change also
    exposes an object that equals everything and is only an item. A value of an unusual type becomes
    a new function, which equals nothing else. The source uses no name that a submission could
    define.

    Args:
        rng: Chooses the value.
        tolerance: By how much the values must at least differ, if they are numbers.
    """
    place = f"* {rng.randrange(_PLACES)} // {_PLACES}"
    letters, digits = rng.sample("abcdefghkmnprstw", 2), rng.sample("123456789", 2)
    if tolerance == EXACT:
        first = "not v if v.__class__ is (not 0).__class__ else "
        number = f"v + {rng.choice(_STEPS)}"
    else:
        step = rng.choice([1, 11, 13]) + 4 * tolerance.absolute
        share = 8 * tolerance.relative
        whole = f"v + {_rounded_up(step)} + {_rounded_up(share)} * (v if v > 0 else -v)"
        first = f"{whole} if v.__class__ is (0).__class__ else "
        number = f"v + {step} + {8 * tolerance.relative} * (v * v) ** .5"
    body = (
        f"{first}{number} if v.__class__.__name__ in "
        "('bool', 'int', 'float', 'complex', 'Decimal', 'Fraction') "
        f"and v == v != {number} "
        f"else {number} if v.__class__.__name__ == 'ndarray' and v.size and v.dtype.kind in 'iufc' "
        "else 0 if v is None "
        f"else v + (v - v).__class__({rng.randint(1, 400)}) if v.__class__.__name__ in "
        "('date', 'datetime', 'timedelta') "
        f"else v[:i] + {_other_character('v[i:i + 1]', letters, digits)} + v[i + 1:] "
        "if v.__class__ is ''.__class__ "
        f"else v[:i] + {_other_character('v[i:i + 1]', letters, digits, 'b')} + v[i + 1:] "
        "if v.__class__ is b''.__class__ "
        "else [*v[:i], o(o, v[i]), *v[i + 1:]] if v.__class__ is [].__class__ and v "
        "else (*v[:i], o(o, v[i]), *v[i + 1:]) if v.__class__ is ().__class__ and v "
        "else v._replace(**{v._fields[i]: o(o, v[i])}) if '_replace' in v.__class__.__dict__ "
        "and '_fields' in v.__class__.__dict__ and v "
        "else v - {[*v][i]} | {o(o, [*v][i])} "
        "if v.__class__.__name__ in ('set', 'frozenset') and v "
        "else {**v, [*v][i]: o(o, v[[*v][i]])} if v.__class__ is {}.__class__ and v "
        "else [0] if v.__class__ is [].__class__ else (0,) if v.__class__ is ().__class__ "
        "else v | {0} if v.__class__.__name__ in ('set', 'frozenset') "
        "else {0: 0} if v.__class__ is {}.__class__ else lambda: 0"
    )
    size = f"v.__len__() {place} if '__len__' in v.__class__.__dict__ else 0"
    opening = f"(lambda o, v: o(o, v))(lambda o, v: (lambda i: {body})({size}), "
    return opening, ")"


def _rounded_up(value: float) -> int:
    return math.ceil(value) if math.isfinite(value) else 10**18


def _other_character(old: str, letters: list[str], digits: list[str], prefix: str = "") -> str:
    """Return source for a character other than `old`: a digit if `old` is one, else a letter."""

    def either(first: str, second: str) -> str:
        return f"({prefix}'{second}' if {old}.lower() == {prefix}'{first}' else {prefix}'{first}')"

    return f"({either(*digits)} if {old}.isdigit() else {either(*letters)})"
