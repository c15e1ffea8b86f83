"""Test programs that are tables: lists of inputs and results, and a loop that compares.

EvalPlus writes its suites so, with a thousand inputs each. Such a program only calls one function
with plain data and compares the results with literals. So it is read as call tests, whose results
are compared outside of the sandbox. A program that may do more stays a program.
"""

import ast
import re
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from grader.model import CallCase, CallTests, Comparator, Comparison
from grader.source.syntax import UNPARSABLE, parse

_MAX_CHARS = 2 << 20
"""The longest program that is read; the results of its calls must fit into one report."""
_MAX_CASES = 10_000
_REL_TOL = 1e-7

_HELPERS = """\
def is_floats(x) -> bool:
    if isinstance(x, float):
        return True
    if isinstance(x, (list, tuple)):
        return all(isinstance(i, float) for i in x)
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64 or x.dtype == np.float32
    return False

def assertion(out, exp, atol):
    exact_match = out == exp
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact_match and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert exact_match

def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp, f"out: {out}, exp: {exp}"
"""
"""The functions by which EvalPlus compares; both versions of `assertion` do the same."""
_KNOWN_HELPERS = frozenset(ast.dump(node) for node in parse(_HELPERS).body)

_NAMES = {"inf": inf, "nan": nan}


_REFERENCE_LAST = re.compile(r"\bassertion\((\w+)\(\*inp\), ref_func\(\*inp\), ([\w.+-]+)\)")


def with_reference_first(program: str) -> str:
    """Return a program that calls EvalPlus's reference before the submission, not after it.

    Both get the same arguments, so a submission that changed them would change what is expected.
    """
    return _REFERENCE_LAST.sub(r"assertion(exp=ref_func(*inp), out=\1(*inp), atol=\2)", program)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    inputs: list[Any]
    results: list[Any]
    comparison: Comparison


def calls_of(program: str, entry_point: str) -> CallTests | None:
    """Return the calls that a test program makes, or None if it may do more.

    Args:
        program: Defines `check(candidate)`, or compares as it runs.
        entry_point: The function that `check` is called with.
    """
    if len(program) > _MAX_CHARS or "zip(inputs, results)" not in program:
        return None
    try:
        table = _read(parse(program).body, entry_point)
    except (ValueError, TypeError, *UNPARSABLE):
        return None
    if table is None or not 0 < len(table.inputs) <= _MAX_CASES:
        return None
    if len(table.inputs) != len(table.results):
        return None
    if not all(type(arguments) in (list, tuple) for arguments in table.inputs):
        return None
    cases = tuple(
        CallCase(id=str(index), args=tuple(arguments), expected=result)
        for index, (arguments, result) in enumerate(zip(table.inputs, table.results, strict=True))
    )
    return CallTests(
        entry_point=entry_point, cases=cases, comparison=table.comparison, in_one_run=True
    )


def _read(body: list[ast.stmt], function: str) -> _Table | None:
    """Return the table in these statements, or None if one of them does something else."""
    values: dict[str, Any] = {}
    table = None
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                if not _is_known_import(statement):
                    return None
            case ast.FunctionDef(name="check", args=ast.arguments(args=[ast.arg(arg=name)])):
                if table is not None or statement.decorator_list:
                    return None
                table = _read(statement.body, name)
                if table is None:
                    return None
            case ast.FunctionDef():
                if ast.dump(statement) not in _KNOWN_HELPERS:
                    return None
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = _literal(value)
            case ast.For() if table is None and {"inputs", "results"} <= values.keys():
                comparison = _comparison(statement, function)
                if comparison is None:
                    return None
                table = _Table(
                    inputs=values["inputs"], results=values["results"], comparison=comparison
                )
            case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)])):
                if name != function:
                    return None
            case _:
                return None
    return table


def _is_known_import(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Import | ast.ImportFrom) or ast.unparse(statement) in (
        "import numpy as np",
        "from math import inf",
    )


def _comparison(loop: ast.For, function: str) -> Comparison | None:
    """Return how a loop such as `for i, (inp, exp) in enumerate(zip(...))` compares, or None."""
    header = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
    if loop.orelse or len(loop.body) != 1 or header not in _HEADERS:
        return None
    call = f"{function}(*inp)"
    match loop.body[0]:
        case ast.Assert(test=test) if ast.unparse(test) == f"{call} == exp":
            return Comparison(comparator=Comparator.EXACT)
        case ast.Expr(
            value=ast.Call(func=ast.Name(id="assertion"), args=[out, exp, atol], keywords=[])
        ) if ast.unparse(out) == call and ast.unparse(exp) == "exp":
            value = _literal(atol)
            if type(value) in (int, float) and 0 <= value < inf:
                return Comparison(
                    comparator=Comparator.ALLCLOSE, abs_tol=float(value), rel_tol=_REL_TOL
                )
        case _:
            pass
    return None


_HEADERS = (
    "for (i, (inp, exp)) in enumerate(zip(inputs, results))",
    "for i, (inp, exp) in enumerate(zip(inputs, results))",
    "for (inp, exp) in zip(inputs, results)",
    "for inp, exp in zip(inputs, results)",
)


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, which may have the names `inf` and `nan` in it.

    Raises:
        ValueError: It is not a literal.
    """
    match node:
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name)) if name in _NAMES:
            return -_NAMES[name]
        case ast.List(elts=items):
            return [_literal(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_literal(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return {
                ast.literal_eval(key or ast.Name(id="_")): _literal(value)
                for key, value in zip(keys, values, strict=True)
            }
        case _:
            return ast.literal_eval(node)
