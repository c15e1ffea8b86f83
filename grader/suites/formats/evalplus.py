"""EvalPlus: HumanEval+ and MBPP+ as released, with inputs but without expected values.

Recognised by `base_input, plus_input, entry_point, canonical_solution`; MBPP+ rows add
`assertion`. EvoEval's rows have `inputs` instead, each a text of arguments as Python writes them.
(The files in the original layout carry results, and are `humaneval` and `mbppplus` rows.)

The expected values are what the reference returns. Becomes script tests: the setup holds the
reference, the inputs and the comparison; each input is a case, which calls the reference and
the submission on copies of the same arguments. Not call tests, though these are compared
outside the sandbox: a task has up to a thousand inputs and its expected values are known only
after running the reference, so call tests would fork twice a thousand times, where a judge
process here makes a thousand calls. The reference then lives where `check(candidate)` of other
formats lives: with the judge.

Harness of record: `==`, else floats within atol (1e-6 where the row says 0) and rtol 1e-7;
set-equality, not-None and a polynomial's root for eleven tasks; 60 s a task, and max(4 s, 4
times the reference) an input. Here 120 s a task, as the reference runs in it too. A pass needs
base and plus inputs alike.

MBPP+ inputs went through JSON. EvalPlus restores tuples and complex numbers by lists of task
numbers; here they are restored from the row: a list becomes a tuple where the row's own
assertions pass a tuple in that place, or below three such places (tuples of any depth), and text
becomes a number where the contract speaks of complex ones.
"""

import ast
import json
from collections.abc import Mapping
from typing import Any

from grader.errors import LabelError, SuiteError
from grader.model import ScriptCase, ScriptTests, TestSuite
from grader.suites import fields, source
from grader.suites.format import Format, Row
from grader.suites.format import fields as field_sets
from grader.suites.formats.humaneval import complete
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

_ORACLE = '''\
class _Oracle:
    """Holds what a candidate returns against what the reference returns."""

    def __init__(self, *, reference, entry_point, inputs, atol, rule):
        import copy
        import json

        self._copy = copy.deepcopy
        self._inputs = json.loads(inputs, object_hook=self._restored)
        namespace = {"__name__": "reference"}
        exec(compile(reference, "reference", "exec"), namespace)
        self._reference = namespace[entry_point]
        self._atol = atol
        self._right = getattr(self, "_" + rule)

    def check(self, index, candidate):
        given = self._inputs[index]
        want = self._reference(*self._copy(given))
        got = candidate(*self._copy(given))
        assert self._right(got, want, given), self._message(got, want)

    @staticmethod
    def _message(got, want):
        try:
            return f"returned {got!r:.200}, expected {want!r:.200}"
        except ValueError:
            return "returned another number; both have too many digits to show"

    @staticmethod
    def _restored(item):
        for name, kind in (("__tuple__", tuple), ("__set__", set), ("__dict__", dict)):
            if name in item:
                return kind(item[name])
        return complex(item["__complex__"]) if "__complex__" in item else item

    def _equal(self, got, want, given):
        return bool(got == want) or self._near(got, want, self._tolerance(want))

    def _set_equal(self, got, want, given):
        return set(got) == set(want)

    def _not_none(self, got, want, given):
        return self._found(got) == self._found(want)

    @staticmethod
    def _found(value):
        return value if isinstance(value, bool) else value is not None

    def _root(self, got, want, given):
        value = sum(factor * got**power for power, factor in enumerate(given[0]))
        return abs(value) <= self._tolerance(want)

    def _tolerance(self, want):
        values = want if isinstance(want, (list, tuple)) else [want]
        all_floats = all(isinstance(value, float) for value in values)
        return self._atol or (1e-6 if all_floats else 0.0)

    def _near(self, got, want, atol):
        if not atol:
            return False
        if isinstance(want, (list, tuple)):
            return (
                type(got) is type(want)
                and len(got) == len(want)
                and all(self._near(mine, other, atol) for mine, other in zip(got, want))
            )
        if not isinstance(want, (int, float)) or not isinstance(got, (int, float)):
            return bool(got == want)
        return got == want or abs(got - want) <= atol + 1e-7 * abs(want)


'''


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
    if not base:
        message = "the suite has no test case"
        raise SuiteError(message)
    inputs = [*base, *plus]
    if assertion:
        inputs = _restored(inputs, assertion, entry_point, fields.any_text(row, "contract"))
    ids = [f"base/{n}" for n in range(len(base))] + [f"plus/{n}" for n in range(len(plus))]
    cases = tuple(
        ScriptCase(id=case_id, source=f"_oracle.check({index}, {entry_point})")
        for index, case_id in enumerate(ids)
    )
    return TestSuite(
        tests=ScriptTests(cases=cases, setup=_setup(row, reference, entry_point, inputs)),
        format="evalplus",
        problem_id=fields.identifier(row, "task_id"),
        prompt=prompt,
        continues_prompt=assertion is None,
        entry_point=entry_point,
        limits=LIMITS,
        image=source.image_for(reference),
        reference=reference,
    )


def _inputs(row: Row, name: str) -> list[list[Any]]:
    found = fields.structure(row.get(name), name) or []  # MBPP+ writes "no inputs" as {}
    if not fields.is_list(found) or not all(isinstance(item, list) for item in found):
        message = f"{name} must be a list of lists of arguments"
        raise LabelError(message)
    return list(found)


def _written_inputs(row: Row) -> list[list[Any]]:
    texts = fields.texts(row, "inputs")
    return [_writable(read_literal(f"[{text}]")) for text in texts]


def _writable(value: Any) -> Any:
    """Return a value as JSON that the oracle's decoder gives tuples and sets back to."""
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, tuple | set):
        name = "__tuple__" if isinstance(value, tuple) else "__set__"
        return {name: [_writable(item) for item in value]}
    if isinstance(value, dict):
        return {"__dict__": [[_writable(key), _writable(item)] for key, item in value.items()]}
    return value


def _setup(row: Row, reference: str, entry_point: str, inputs: list[list[Any]]) -> str:
    atol = row.get("atol")
    arguments = {
        "reference": reference,
        "entry_point": entry_point,
        "inputs": json.dumps(inputs),
        "atol": float(atol) if isinstance(atol, int | float) else 0.0,
        "rule": _rule(entry_point),
    }
    given = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
    return f"{_ORACLE}_oracle = _Oracle(\n{given})\n"


def _rule(entry_point: str) -> str:
    if entry_point in _SET_EQUAL:
        return "set_equal"
    if entry_point in _NOT_NONE:
        return "not_none"
    return "root" if entry_point in _ROOT else "equal"


# ---------------------------------------------------------------- what JSON took from MBPP+

_Path = tuple[str | int, ...]
"""A place in the arguments: the argument's number, then "item" or "value" for each level."""


_RECURSIVE = 3
"""How many tuples within each other the assertions must show to mean tuples of any depth."""


def _restored(
    inputs: list[list[Any]], assertion: str, entry_point: str, contract: str
) -> list[list[Any]]:
    """Return the inputs with tuples and complex numbers marked for the oracle's decoder."""
    places = _places(source.parse(assertion, "the assertion"), entry_point)
    has_complex = "complex" in contract
    return [
        [
            _marked(_number(value) if has_complex else value, (place,), places)
            for place, value in enumerate(arguments)
        ]
        for arguments in inputs
    ]


def _places(tree: ast.Module, entry_point: str) -> dict[_Path, bool]:
    """Return where calls in the assertions have sequences, and whether these are all tuples."""
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


def _marked(value: Any, path: _Path, places: dict[_Path, bool], above: int = 0) -> Any:
    """Return `value` with tuples marked; `above` counts the tuples right above it."""
    if isinstance(value, list):
        is_tuple = places.get(path, above >= _RECURSIVE)
        below = above + 1 if is_tuple else 0
        items = [_marked(item, (*path, "item"), places, below) for item in value]
        return {"__tuple__": items} if is_tuple else items
    if isinstance(value, Mapping):
        return {key: _marked(item, (*path, "value"), places) for key, item in value.items()}
    return value


def _number(value: Any) -> Any:
    """Return text that is a number as that number; complex ones marked."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return {"__complex__": value}


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
