"""Answers that mean the same are equal, others are not: by hand for each kind, and generated."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from grader.config.rewards import MathSettings, RewardTask
from grader.config.settings import Settings
from grader.rewards.core import RewardCore
from grader.rewards.maths.compare import is_right
from grader.rewards.maths.symbolic import Algebra
from grader.rewards.sample import Sample
from tests.unit.rewards.pairs import PAIRS

pytestmark = pytest.mark.timeout(120)

generated = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def algebra() -> Iterator[Algebra]:
    algebra = Algebra(processes=1, cpu_time_s=5)
    yield algebra
    algebra.close()


class _Equality:
    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def __call__(self, expected: str, answer: str) -> bool:
        same = self._algebra.comparisons().same
        return is_right(expected, answer, tolerance=1e-6, same=same)


@pytest.fixture(scope="module")
def equal(algebra: Algebra) -> _Equality:
    return _Equality(algebra)


@pytest.mark.parametrize("kind", PAIRS)
def test_pair_is_told_as_by_hand(equal: _Equality, kind: str) -> None:
    told = [(expected, answer, equal(expected, answer)) for expected, answer, _ in PAIRS[kind]]
    assert told == list(PAIRS[kind])


# ---------------------------------------------------------------- generated

whole = st.integers(-60, 60)
positive = st.integers(2, 60)


def _fraction(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


@generated
@given(st.fractions(-9, 9, max_denominator=40), st.fractions(-9, 9, max_denominator=40), positive)
def test_fractions_are_equal_by_value_alone(
    equal: _Equality, value: Fraction, other: Fraction, factor: int
) -> None:
    top, bottom = value.numerator * factor, value.denominator * factor
    for form in (f"{top}/{bottom}", rf"\dfrac{{{top}}}{{{bottom}}}", f"({top})/({bottom})"):
        assert equal(_fraction(value), form)
        assert equal(_fraction(other), form) == (value == other)


@generated
@given(st.integers(2, 12), st.integers(20, 400), st.integers(2, 9))
def test_tiny_and_huge_values_are_told_apart(
    equal: _Equality, base: int, power: int, factor: int
) -> None:
    tiny = rf"\frac{{1}}{{{base}^{{{power}}}}}"
    assert equal(tiny, f"{base}^{{-{power}}}")
    assert equal(tiny, rf"\left(\frac{{1}}{{{base}}}\right)^{{{power}}}")
    assert not equal(tiny, f"{base}^{{-{power + 1}}}")
    assert not equal(tiny, rf"\frac{{{factor}}}{{{base}^{{{power}}}}}")
    assert not equal(tiny, "0")
    huge = f"{base}^{{{power}}}"
    assert equal(huge, str(base**power))
    assert not equal(huge, str(base**power + 1))
    assert not equal(rf"{huge}\sqrt{{2}}", rf"{huge}\sqrt{{3}}")


@generated
@given(st.integers(1, 400), st.integers(2, 120))
def test_repeating_decimal_is_the_fraction_that_it_stands_for(
    equal: _Equality, top: int, bottom: int
) -> None:
    whole_part, rest = divmod(top, bottom)
    digits, seen = "", dict[int, int]()
    while rest and rest not in seen:
        seen[rest] = len(digits)
        digits += str(rest * 10 // bottom)
        rest = rest * 10 % bottom
    assume(rest)
    start = seen[rest]
    written = rf"{whole_part}.{digits[:start]}\overline{{{digits[start:]}}}"
    assert equal(rf"\frac{{{top}}}{{{bottom}}}", written)
    assert not equal(rf"\frac{{{top + 1}}}{{{bottom}}}", written)


def _in_base(value: int, base: int) -> str:
    digits = ""
    while value:
        digits = "0123456789ABCDEF"[value % base] + digits
        value //= base
    return digits or "0"


@generated
@given(st.integers(40, 5000), st.integers(2, 9), st.integers(2, 9))
def test_numeral_has_the_value_of_its_base(
    equal: _Equality, value: int, base: int, other: int
) -> None:
    numeral = f"{_in_base(value, base)}_{{{base}}}"
    assert equal(numeral, f"{_in_base(value, base)}_{base}")
    assert equal(numeral, f"{_in_base(value, other)}_{other}")
    assert not equal(numeral, f"{_in_base(value + 1, other)}_{other}")
    assert not equal(numeral, f"{_in_base(value, base)}_{{{base + 1}}}")


@generated
@given(st.permutations(["a", "b", "x", "y"]), st.lists(whole, min_size=4, max_size=4))
def test_named_values_belong_to_their_names(
    equal: _Equality, names: list[str], values: list[int]
) -> None:
    given_values = dict(zip("abxy", values, strict=True))
    expected = ", ".join(f"{name}={value}" for name, value in given_values.items())
    assert equal(expected, ", ".join(f"{name} = {given_values[name]}" for name in names))
    moved = dict(zip(names, values, strict=True))
    answer = ", ".join(f"{name}={value}" for name, value in moved.items())
    assert equal(expected, answer) == (moved == given_values)


def _with_permutation(values: list[int]) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    return st.tuples(st.just(values), st.permutations(values))


@generated
@given(st.lists(whole, min_size=2, max_size=5).flatmap(_with_permutation))
def test_order_matters_in_tuples_alone(
    equal: _Equality, lists: tuple[list[int], list[int]]
) -> None:
    values, shuffled = lists
    left, right = (", ".join(map(str, each)) for each in (values, shuffled))
    assert equal(f"({left})", f"({right})") == (values == shuffled)
    assert equal(left, right)
    assert equal(rf"\{{{left}\}}", rf"\{{{right}\}}")
    assert not equal(left, f"{right}, 77")


nonzero = st.integers(-9, 9).filter(bool)


@generated
@given(nonzero, nonzero, nonzero, nonzero, nonzero)
def test_equations_are_equal_up_to_a_factor(
    equal: _Equality, a: int, b: int, c: int, factor: int, change: int
) -> None:
    line = f"{a}x + ({b})y = {c}"
    assert equal(line, f"{a * factor}x + ({b * factor})y - ({c * factor}) = 0")
    assert equal(line, rf"y = \frac{{{c} - ({a})x}}{{{b}}}")
    assert not equal(line, f"{a}x + ({b})y = {c + change}")
    plane = f"{a}x + ({b})y + ({c})z = 7"
    assert equal(plane, f"{-a}x - ({b})y - ({c})z + 7 = 0")
    assert not equal(plane, f"{a}x + ({b})y + ({c + change})z = 7")
    circle = f"(x - ({a}))^2 + (y - ({b}))^2 = {c * c}"
    written = f"x^2 + y^2 + ({-2 * a})x + ({-2 * b})y + ({a * a + b * b - c * c}) = 0"
    assert equal(circle, written)
    assert not equal(circle, written.replace("= 0", f"= {change}"))


@generated
@given(whole, whole, whole)
def test_products_are_their_expansions(equal: _Equality, a: int, b: int, c: int) -> None:
    product = f"(x + ({a}))(x + ({b}))"
    assert equal(product, f"x^2 + ({a + b})x + ({a * b})")
    assert equal(product, f"x^2 + ({a + b})x + ({c})") == (c == a * b)


@generated
@given(whole, st.integers(1, 30), st.sampled_from(["x", "t"]))
def test_inequalities_are_intervals(equal: _Equality, low: int, length: int, name: str) -> None:
    high = low + length
    for left, opening in (("<", "("), (r"\le", "[")):
        for right, closing in (("<", ")"), (r"\le", "]")):
            interval = f"{opening}{low}, {high}{closing}"
            assert equal(interval, f"{low} {left} {name} {right} {high}")
            assert not equal(interval, f"{low} {left} {name} {right} {high + 1}")
    assert not equal(f"({low}, {high})", rf"{low} \le {name} < {high}")


@generated
@given(st.integers(1, 500), st.sampled_from([("cm", 100), ("mm", 1000)]), st.integers(1, 3))
def test_units_are_converted_with_their_power(
    equal: _Equality, value: int, unit: tuple[str, int], power: int
) -> None:
    name, factor = unit
    small = rf"{value * factor**power}\text{{ {name}}}^{power}"
    assert equal(rf"{value}\text{{ m}}^{power}", small)
    assert not equal(rf"{value}\text{{ m}}^{power + 1}", small)
    assert not equal(rf"{value + 1}\text{{ m}}^{power}", small)
    assert equal(str(value), rf"{value}\text{{ m}}^{power}")
    assert equal(rf"{value}\pi", rf"{value}\pi\text{{ m}}^{power}")


@generated
@given(whole, positive, whole, positive)
def test_surds_are_equal_by_value(equal: _Equality, a: int, b: int, c: int, d: int) -> None:
    assert equal(rf"{a}\sqrt{{{b}}}", rf"\frac{{{a * b}}}{{\sqrt{{{b}}}}}")
    is_same = math.copysign(a * a * b, a) == math.copysign(c * c * d, c)
    assert equal(rf"{a}\sqrt{{{b}}}", rf"{c}\sqrt{{{d}}}") == is_same


Sum = tuple[str, Fraction]


def _grown(smaller: st.SearchStrategy[Sum]) -> st.SearchStrategy[Sum]:
    pairs = st.tuples(smaller, smaller)
    return st.one_of(
        pairs.map(lambda p: (f"({p[0][0]} + {p[1][0]})", p[0][1] + p[1][1])),
        pairs.map(lambda p: (f"({p[0][0]} - {p[1][0]})", p[0][1] - p[1][1])),
        pairs.map(lambda p: (rf"{p[0][0]} \cdot {p[1][0]}", p[0][1] * p[1][1])),
        pairs.filter(lambda p: p[1][1] != 0).map(
            lambda p: (rf"\frac{{{p[0][0]}}}{{{p[1][0]}}}", p[0][1] / p[1][1])
        ),
        smaller.map(lambda one: (rf"\left({one[0]}\right)^{{2}}", one[1] ** 2)),
        smaller.map(lambda one: (rf"\left|{one[0]}\right|", abs(one[1]))),
    )


_sums = st.recursive(st.integers(0, 30).map(lambda n: (str(n), Fraction(n))), _grown, max_leaves=8)


@settings(generated, max_examples=60)
@given(_sums, st.fractions(-2, 2, max_denominator=9))
def test_arithmetic_has_its_value_and_no_other(
    equal: _Equality, written: Sum, change: Fraction
) -> None:
    text, value = written
    assert equal(_fraction(value), text)
    assert equal(_fraction(value + change), text) == (change == 0)


# ---------------------------------------------------------------- hostile

_TOKENS = st.sampled_from(
    [
        *r"{ } ( ) [ ] , ; = < > ^ _ 1 2 9 0 . x y i e : ! ' & $ % | - + and \\\\".split(),
        *r"\frac \sqrt \le \pi \text \cup \{ \} \pm \sum \approx \ldots \boxed \in \mid".split(),
        *r"\overline \begin{pmatrix} \end{pmatrix} \unit \langle \infty".split(),
    ]
)


@settings(generated, max_examples=80)
@given(st.lists(_TOKENS, max_size=30), st.lists(_TOKENS, max_size=30))
def test_whatever_stands_there_is_no_failure_of_ours(
    equal: _Equality, label: list[str], answer: list[str]
) -> None:
    equal(" ".join(label), " ".join(answer))
    assert equal("11/7", " ".join(answer)) in (True, False)


ENDLESS = {
    "factorial": "(10^{9})!",
    "factorial of a factorial": "((99!)!)!",
    "tower": "9^{9^{9^{9}}}",
    "expansion": "(x+y+z+w)^{2000}",
    "roots": r"\sqrt{" * 500 + "2" + "}" * 500,
    "braces": "{" * 900 + "1" + "}" * 900,
    "brackets": "(" * 900 + "1" + ")" * 900,
    "powers": "2" + "^{2" * 300 + "}" * 300,
    "fractions": r"\frac{1}{1+" * 150 + "x" + "}" * 150,
    "sum": r"\sum_{k=1}^{10^{12}} \frac{1}{k^2+\sin k}",
    "product": r"\prod_{k=1}^{10^9} k",
    "integral": r"\int_0^1 \sin(\sin(\sin(\sin x)))^{\cos x} dx",
    "binomial": r"\binom{10^9}{5\cdot 10^8}",
    "list": "1," * 900 + "1",
    "equation": "x^{500}+y^{500}=(x+y+1)^{500}",
    "determinant": r"\begin{vmatrix}" + r"x&y&z\\" * 80 + r"\end{vmatrix}",
}


@pytest.fixture(scope="module")
def impatient() -> Iterator[RewardCore]:
    settings = MathSettings(symbolic_s=0.5, processes=1)
    core = RewardCore(replace(Settings(task=RewardTask.MATH), math=settings))
    yield core
    core.close()


@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
def test_answer_that_takes_forever_is_wrong_within_its_time(
    impatient: RewardCore, answer: str
) -> None:
    began = time.monotonic()
    (rating,) = impatient.rate([Sample(query=rf"\boxed{{{answer}}}", label="x+7")])
    assert (rating.graded, rating.score) == (True, 0.0), rating.note
    assert time.monotonic() - began < 60
