"""The process that compares expressions for `symbolic`. A script, not a module to import.

It first writes a line when it is ready. Then it reads lines of JSON, `[left, right, tolerance,
seconds]`, and writes `[equal, seconds]` for each: the limit of CPU time, and the CPU time used.
A process of its own compares, which dies by SIGPROF of a comparison that takes too much CPU time,
and with exit code 3 of one that takes too much memory. How it ended is the last line, a number as
`subprocess` has them. Both processes end with standard input. Imports nothing of grader.

latex2sympy2 reads; SymPy computes. Numbers are compared by their digits, rational ones exactly;
expressions with variables by their values at several points.
"""

import ctypes
import json
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any

import sympy
from latex2sympy2_extended import NormalizationConfig, latex2sympy, normalize_latex
from latex2sympy2_extended.latex2sympy2 import ConversionConfig
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

_MEMORY_BYTES = 4 * 1024**3
"""The limit of address space, much of which the libraries use."""

_OUT_OF_MEMORY = 3
_PR_SET_PDEATHSIG = 1

_DIGITS = 60
_CLOSE = 1e-50
"""Values at a point, computed with `_DIGITS`, are equal up to this relative difference."""
_NUMBER_DIGITS = 300
_NUMBERS_CLOSE = 1e-290
"""The same for numbers, which are computed with `_NUMBER_DIGITS`."""
_TINY = 1e-40
_LEAST_POINTS = 3
"""Values decide only if both sides have one at this many points."""

# ---------------------------------------------------------------- LaTeX

_NORMALISATION = NormalizationConfig(
    basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none"
)
_CONVERSION = ConversionConfig(lowercase_symbols=False)
_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z])(arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|pi"
    r"|theta|alpha|beta|infty)(?![a-zA-Z])"
)
_POWER = re.compile(r"\^\s*(-?\d{2,}|-\d)")
_NOT_READ = re.compile(
    r"'|\\prime|!!|\\ldots|\d\s*_|\^\s*\{?\s*(?:T|\\top|\\intercal)\b|\\(?:triangle|angle|odot)\b"
)
"""Notation that latex2sympy2 ignores, or reads as a product of letters."""


def to_latex(text: str) -> str:
    """Return an expression as LaTeX; it may be LaTeX or plain text."""
    text = text.replace("**", "^").replace(" degrees", "^{\\circ}").replace("\\unit", "\\text")
    text = _braced(text, re.compile(r"\\?sqrt\s*\("), "\\sqrt")
    text = _braced(text, re.compile(r"\^\("), "^")
    text = _POWER.sub(r"^{\1}", text)
    text = _FUNCTION.sub(r"\\\1 ", text)
    return re.sub(r"(?<!\\)\*", r" \\cdot ", text)


def _braced(text: str, opening: re.Pattern[str], command: str) -> str:
    """Return a text with a command and braces in place of what opens a bracket, and of its end."""
    while match := opening.search(text):
        end = _closing(text, match.end())
        if end is None:
            return text
        text = f"{text[: match.start()]}{command}{{{text[match.end() : end]}}}{text[end + 1 :]}"
    return text


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position
    return None


def read(text: str) -> Any:
    """Return a text as a SymPy expression.

    Raises:
        ValueError: It has no value, or a part of it would be ignored.
        Exception: It cannot be parsed.
    """
    if found := _NOT_READ.search(text):
        message = f"{found[0]!r} cannot be read"
        raise ValueError(message)
    latex = normalize_latex(to_latex(text), _NORMALISATION)
    value = latex2sympy(
        latex,
        is_real=True,
        convert_degrees=True,
        normalization_config=None,
        conversion_config=_CONVERSION,
    )
    if value.has(sympy.zoo, sympy.nan):
        message = "it has no value"
        raise ValueError(message)
    if value.has(sympy.ImmutableDenseMatrix) and not isinstance(value, sympy.MatrixBase):
        value = value.doit()
        value = value.as_explicit() if isinstance(value, sympy.MatrixExpr) else value
    if isinstance(value, sympy.MatrixBase):
        return value.applyfunc(_exact)
    return _exact(value)


def _exact(value: Any) -> Any:
    """Return an expression with i as the imaginary unit, and decimals as fractions."""
    exact: dict[Any, Any] = {each: sympy.Rational(str(each)) for each in value.atoms(sympy.Float)}
    if (i := sympy.Symbol("i", real=True)) in value.free_symbols:
        exact[i] = sympy.I
    return value.xreplace(exact)


# ---------------------------------------------------------------- equality


def equal(left: Any, right: Any, tolerance: float) -> bool:
    """Return whether two values are equal; numbers, within a relative tolerance."""
    if left == right:
        return True
    if isinstance(left, sympy.Set) != isinstance(right, sympy.Set):
        # x^2 < 4 is (-2, 2).
        left, right = (
            each.as_set() if isinstance(each, Relational | sympy.And) else each
            for each in (left, right)
        )
    left, right = (
        sympy.Tuple(*one) if isinstance(other, sympy.Tuple) and _is_vector(one) else one
        for one, other in ((left, right), (right, left))
    )
    for kind, compare in (
        (sympy.MatrixBase, _equal_matrices),
        (sympy.Tuple, _equal_tuples),
        ((Relational, sympy.And), _equal_relations),
        (sympy.FiniteSet, _equal_finite_sets),
        (sympy.Set, _equal_sets),
        (sympy.Expr, _equal_expressions),
    ):
        if isinstance(left, kind) and isinstance(right, kind):
            return compare(left, right, tolerance)
    return False


def _is_vector(value: Any) -> bool:
    return isinstance(value, sympy.MatrixBase) and 1 in value.shape


def _equal_matrices(left: Any, right: Any, tolerance: float) -> bool:
    return left.shape == right.shape and _equal_tuples(left.flat(), right.flat(), tolerance)


def _equal_tuples(left: Any, right: Any, tolerance: float) -> bool:
    return len(left) == len(right) and all(
        equal(one, other, tolerance) for one, other in zip(left, right, strict=True)
    )


def _equal_finite_sets(left: Any, right: Any, tolerance: float) -> bool:
    return _matched(left.args, right.args, tolerance)


def _matched(left: Iterable[Any], right: Iterable[Any], tolerance: float) -> bool:
    rest = list(right)
    for one in left:
        match = next((other for other in rest if equal(one, other, tolerance)), None)
        if match is None:
            return False
        rest.remove(match)
    return not rest


def _equal_sets(left: Any, right: Any, tolerance: float) -> bool:  # noqa: ARG001
    return left.doit().symmetric_difference(right.doit()).is_empty is True


def _equal_relations(left: Any, right: Any, tolerance: float) -> bool:
    if isinstance(left, sympy.And) and isinstance(right, sympy.And):
        return _matched(left.args, right.args, tolerance)
    # a > b is b < a.
    left, right = (
        each.reversed if isinstance(each, sympy.Gt | sympy.Ge) else each for each in (left, right)
    )
    is_inequality = not isinstance(left, sympy.Eq) and not isinstance(right, sympy.Eq)
    if type(left) is type(right) and _are_proportional(left, right, tolerance):
        return True
    if is_inequality and len(left.free_symbols | right.free_symbols) == 1:
        # |x| < 1 is -1 < x < 1.
        return _equal_sets(left.as_set(), right.as_set(), tolerance)
    return False


def _are_proportional(left: Any, right: Any, tolerance: float) -> bool:
    ratios = _ratios(_difference(left), _difference(right))
    is_directed = isinstance(left, sympy.Lt | sympy.Le)
    return (
        len(ratios) >= _LEAST_POINTS
        and all(_close(ratios[0], ratio, max(tolerance, _CLOSE)) for ratio in ratios)
        and not (is_directed and not sympy.re(ratios[0]) > 0)
    )


def _difference(relation: Any) -> Any:
    difference = relation.lhs - relation.rhs
    if isinstance(relation, sympy.Eq):
        # y = 1/x is x y = 1.
        difference = sympy.fraction(sympy.together(difference))[0]
    return difference


def _ratios(left: Any, right: Any) -> list[Any]:
    """Return left / right at some points; empty if one is 0 there, or their symbols differ."""
    if left.free_symbols != right.free_symbols:
        return []
    values = list(_values(left, right))
    if any(_is_zero(one) or _is_zero(other) for one, other in values):
        return []
    return [one / other for one, other in values]


def _equal_expressions(left: Any, right: Any, tolerance: float) -> bool:
    left, right = _computed(left), _computed(right)
    if not left.free_symbols | right.free_symbols:
        return _equal_numbers(left, right, tolerance)
    if (left - right).has(sympy.floor, sympy.ceiling, sympy.Mod, sympy.Max, sympy.Min):
        # The expressions may have jumps between the points.
        return bool(sympy.simplify(left - right) == 0)
    values = list(_values(left, right))
    closeness = max(tolerance, _CLOSE)
    different = [(one, other) for one, other in values if not _close(one, other, closeness)]
    is_open = different and all(_may_be_zero(one, other) for one, other in different)
    if len(values) < _LEAST_POINTS or is_open:
        return bool(sympy.simplify(left - right) == 0)
    return not different


def _equal_numbers(left: Any, right: Any, tolerance: float) -> bool:
    one, other = (_value(each, digits=_NUMBER_DIGITS) for each in (left, right))
    if one is None or other is None:
        return False
    if not _close(one, other, max(tolerance, _NUMBERS_CLOSE)):
        return _may_be_zero(one, other) and bool((left - right).doit() == 0)
    if not tolerance and left.is_rational and right.is_rational:
        return bool(left.doit() == right.doit())
    return bool(tolerance) or (left - right).is_zero is not False


def _may_be_zero(one: Any, other: Any) -> bool:
    """Return whether one of two values is 0, and the other only a rounding error."""
    return (_is_zero(one) or _is_zero(other)) and bool(max(abs(one), abs(other)) < _TINY)


def _computed(value: Any) -> Any:
    """Return an expression with sums and integrals evaluated, and f(x) replaced by a symbol."""
    value = value.replace(
        lambda each: isinstance(each, sympy.Sum | sympy.Product) and _has_terms(each),
        lambda each: sympy.Symbol(f"<{each}>", real=True),
    )
    if value.has(*_TO_DO):
        value = value.doit()
    return value.xreplace(
        {each: sympy.Symbol(f"<{each}>", real=True) for each in value.atoms(AppliedUndef)}
    )


_TO_DO = (
    *(sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit, sympy.Derivative),
    sympy.UnevaluatedExpr,
)


def _has_terms(value: Any) -> bool:
    """Return whether a sum has terms such as a_k, whose index SymPy does not see."""
    indices = {str(symbol) for symbol in value.bound_symbols}
    return any(
        indices & set(re.findall("[a-zA-Z]+", str(symbol).partition("_")[2]))
        for symbol in value.function.free_symbols
    )


# ---------------------------------------------------------------- points

_SIZES = ("0.31", "0.83", "1.7", "4.3", "19.4", "0.57", "2.9", "11.3")
_POSITIVE_POINTS = 5
"""The first points are positive, for square roots and logarithms."""


def _values(left: Any, right: Any) -> Iterable[tuple[Any, Any]]:
    """Yield the values of two expressions at the points where both have one."""
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    for number, size in enumerate(_SIZES):
        # No symbol, and no ratio of two symbols, has the same value at two points.
        point = {
            symbol: sympy.Rational(size)
            * (1 + sympy.Rational((index + 1) * (number + 1) * 89 % 144, 144))
            * (-1 if number >= _POSITIVE_POINTS and (number + index) % 2 else 1)
            for index, symbol in enumerate(symbols)
        }
        if number >= _POSITIVE_POINTS and (_is_outside(left, point) or _is_outside(right, point)):
            continue
        values = _value(left, point), _value(right, point)
        if values[0] is not None and values[1] is not None:
            yield values[0], values[1]


def _is_outside(value: Any, point: dict[Any, Any]) -> bool:
    """Return whether a root or logarithm has a negative argument at a point."""
    return any(
        each.free_symbols and (found := _value(each, point)) is not None and not found.is_positive
        for each in (
            *(power.base for power in value.atoms(sympy.Pow) if not power.exp.is_integer),
            *(logarithm.args[0] for logarithm in value.atoms(sympy.log)),
        )
    )


def _value(value: Any, point: dict[Any, Any] | None = None, digits: int = _DIGITS) -> Any:
    """Return the value of an expression at a point; None if it has none."""
    number = value.evalf(digits, subs=point)
    return number if number.is_number and number.is_finite else None


def _close(left: Any, right: Any, tolerance: float) -> bool:
    if _is_zero(left) or _is_zero(right):
        return _is_zero(left) and _is_zero(right)
    return bool(abs(left - right) <= tolerance * max(abs(left), abs(right)))


def _is_zero(value: Any) -> bool:
    """Return whether a computed value is 0, exactly or within its precision."""
    return all(
        part == 0 or (isinstance(part, sympy.Float) and part._prec == 1)
        for part in value.as_real_imag()
    )


# ---------------------------------------------------------------- the process


def same(left: str, right: str, tolerance: float) -> bool:
    """Return whether two texts are equal expressions."""
    return equal(read(left), read(right), tolerance)


def main() -> None:
    """Have a child answer, and write its exit code, which the trainer may be unable to get."""
    # A trainer may ignore or block these signals, and its child processes inherit that.
    for number in (signal.SIGCHLD, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    same("x + 1", "1 + x", 0)
    ended, unclosed = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ended)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        answer()
        return
    os.close(unclosed)
    hang_up = select.poll()
    # Without requested events, poll reports hang-ups: the child or the parent has ended.
    hang_up.register(ended, 0)
    hang_up.register(sys.stdin.fileno(), 0)
    hang_up.poll()
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")


def answer() -> None:
    """Answer until standard input ends."""
    sys.stdout.write("true\n")
    sys.stdout.flush()
    for line in sys.stdin:
        left, right, tolerance, cpu_time_s = json.loads(line)
        began = time.process_time()
        # There is no handler, because the default action ends the process even inside C code.
        signal.setitimer(signal.ITIMER_PROF, cpu_time_s)
        try:
            is_equal = bool(same(left, right, tolerance))
        except MemoryError:
            sys.exit(_OUT_OF_MEMORY)
        except Exception:  # noqa: BLE001 - then they are not equal
            is_equal = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        outcome = [is_equal, time.process_time() - began]
        sys.stdout.write(f"{json.dumps(outcome)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
