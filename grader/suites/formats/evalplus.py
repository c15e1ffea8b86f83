"""EvalPlus: HumanEval+ and MBPP+ as released, with inputs but without expected values.

Recognised by `base_input, plus_input, entry_point, canonical_solution`; MBPP+ rows add
`assertion`. EvoEval's rows have `inputs` instead, each a text of arguments as Python writes them.
(Files in the original layout have results; their rows are `humaneval` and `mbppplus`.)

Becomes call tests, all made in one run, as in the original harness. The expected values are
those that the reference returns, in a process apart from the submission. The task `find_zero` has
many right answers: a script asserts that the returned value is a root.

Original harness: `==`, else floats within atol (1e-6 if the row says 0) and rtol 1e-7;
set-equality, not-None and a polynomial's root for twelve tasks; 60 s a task, and max(4 s, 4
times the reference) an input. Here 120 s a task. To pass, a submission must be right for base and
plus inputs.

MBPP+ inputs went through JSON. EvalPlus restores tuples and complex numbers by lists of task
numbers. Here they are restored from the row: a list becomes a tuple if the row's own assertions
pass a tuple in that place, or if they show three levels of tuples above it (tuples of any depth).
Text becomes a number if the contract mentions complex numbers.
"""

import ast
from collections.abc import Mapping
from typing import Any, cast

from grader.model import (
    CallCase,
    CallTests,
    Comparator,
    Comparison,
    ScriptCase,
    ScriptTests,
    TestSuite,
)
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.cases import require_cases
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.humaneval import complete
from grader.suites.images import image_for
from grader.suites.literals import read_literal

LIMITS = fields.time_limits(120.0)

_SET_EQUAL = frozenset(
    (
        "Diff common_in_nested_lists extract_singly find_char_long find_dissimilar"
        " intersection_array larg_nnum similar_elements"
    ).split()
)
_NOT_NONE = frozenset({"check_str", "text_match_three", "text_starta_endb"})
_ROOT = frozenset({"find_zero"})

_ROOT_SETUP = """\
def _value(factors, at):
    return sum(factor * at**power for power, factor in enumerate(factors))


"""


def read(row: Row) -> TestSuite:
    """Turn a row of HumanEval+ or MBPP+ into its suite."""
    prompt, entry_point = fields.text(row, "prompt"), fields.text(row, "entry_point")
    assertion = fields.optional_text(row, "assertion")
    solution = fields.text(row, "canonical_solution")
    reference = solution if assertion else complete(prompt, solution)
    if row.get("base_input") is None:
        base, plus = _written_inputs(row), []
    else:
        base, plus = _inputs(row, "base_input"), _inputs(row, "plus_input")
    require_cases(base)
    inputs = [*base, *plus]
    if assertion:
        inputs = _restored(inputs, assertion, entry_point, fields.any_text(row, "contract"))
    ids = [f"base/{n}" for n in range(len(base))] + [f"plus/{n}" for n in range(len(plus))]
    atol = row.get("atol")
    atol = float(atol) if isinstance(atol, int | float) else 0.0
    return TestSuite(
        tests=_tests(entry_point, dict(zip(ids, inputs, strict=True)), atol),
        format="evalplus",
        problem_id=fields.identifier(row, "task_id"),
        prompt=prompt,
        continues_prompt=assertion is None,
        entry_point=entry_point,
        limits=LIMITS,
        image=image_for(reference),
        reference=reference,
    )


def _tests(
    entry_point: str, inputs: Mapping[str, list[Any]], atol: float
) -> CallTests | ScriptTests:
    if entry_point in _ROOT:
        return ScriptTests(
            cases=tuple(
                ScriptCase(id=id, source=_asserts_root(entry_point, arguments, atol))
                for id, arguments in inputs.items()
            ),
            setup=_ROOT_SETUP,
        )
    return CallTests(
        entry_point=entry_point,
        cases=tuple(CallCase(id=id, args=tuple(each)) for id, each in inputs.items()),
        comparison=Comparison(comparator=_comparator(entry_point), abs_tol=atol, rel_tol=1e-7),
        in_one_run=True,
        asks_reference=True,
    )


def _asserts_root(entry_point: str, arguments: list[Any], atol: float) -> str:
    given = ", ".join(map(repr, arguments))
    return f"assert abs(_value({arguments[0]!r}, {entry_point}({given}))) <= {atol or 1e-6}"


def _comparator(entry_point: str) -> Comparator:
    if entry_point in _SET_EQUAL:
        return Comparator.SET
    return Comparator.FOUND if entry_point in _NOT_NONE else Comparator.ALLCLOSE


def _inputs(row: Row, name: str) -> list[list[Any]]:
    found = fields.structure(row.get(name), name) or []  # MBPP+ writes "no inputs" as {}
    if not fields.is_list(found) or not all(isinstance(item, list) for item in found):
        message = f"{name} must be a list of lists of arguments"
        raise LabelError(message)
    return list(found)


def _written_inputs(row: Row) -> list[list[Any]]:
    texts = fields.texts(row, "inputs")
    return [cast("list[Any]", read_literal(f"[{text}]")) for text in texts]


# ---------------------------------------------------------------- types that JSON lost in MBPP+

_Path = tuple[str | int, ...]
"""A place in the arguments: the argument's number, then "item" or "value" for each level."""

_RECURSIVE = 3
"""From so many levels of tuples in the assertions on, deeper lists are tuples, too."""


def _restored(
    inputs: list[list[Any]], assertion: str, entry_point: str, contract: str
) -> list[list[Any]]:
    """Return the inputs with the tuples and complex numbers that they had before JSON."""
    places = _places(source.parse(assertion, "the assertion"), entry_point)
    has_complex = "complex" in contract
    return [
        [
            _with_tuples(_number(value) if has_complex else value, (place,), places)
            for place, value in enumerate(arguments)
        ]
        for arguments in inputs
    ]


def _places(tree: ast.Module, entry_point: str) -> dict[_Path, bool]:
    """Return the places of sequences in calls of the assertions, and whether all are tuples."""
    found: dict[_Path, set[type]] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == entry_point
        ):
            for place, argument in enumerate(node.args):
                _note_kinds(argument, (place,), found)
    return {place: kinds == {ast.Tuple} for place, kinds in found.items()}


def _note_kinds(node: ast.expr, path: _Path, found: dict[_Path, set[type]]) -> None:
    if isinstance(node, ast.Tuple | ast.List):
        found.setdefault(path, set()).add(type(node))
        for item in node.elts:
            _note_kinds(item, (*path, "item"), found)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            _note_kinds(value, (*path, "value"), found)


def _with_tuples(value: Any, path: _Path, places: dict[_Path, bool], above: int = 0) -> Any:
    """Return `value` with its tuples; `above` is the number of tuples directly around it."""
    if isinstance(value, list):
        is_tuple = places.get(path, above >= _RECURSIVE)
        below = above + 1 if is_tuple else 0
        items = [_with_tuples(item, (*path, "item"), places, below) for item in value]
        return tuple(items) if is_tuple else items
    if isinstance(value, Mapping):
        return {key: _with_tuples(item, (*path, "value"), places) for key, item in value.items()}
    return value


def _number(value: Any) -> Any:
    """Return the number that a text spells; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return complex(value)


def _has_inputs(row: Row) -> bool:
    return row.get("base_input") is not None or row.get("outputs") is None


EVALPLUS = Format(
    name="evalplus",
    summary="HumanEval+, MBPP+, EvoEval: inputs whose expected values the reference computes",
    fields=field_sets(
        "base_input plus_input entry_point canonical_solution prompt",
        "inputs entry_point canonical_solution prompt",
    ),
    example={
        "task_id": "HumanEval/0",
        "prompt": 'def double(n):\n    """Return twice n."""\n',
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "base_input": [[2], [0]],
        "plus_input": [[-1]],
        "atol": 0,
    },
    read=read,
    accepts=_has_inputs,
    precedes=("humaneval", "source"),
)
