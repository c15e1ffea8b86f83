"""Makes cases from inputs and outputs, which most stdin and function-call labels consist of."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.model import (
    CallCase,
    CallTests,
    Comparator,
    Comparison,
    PytestTests,
    ScriptCase,
    ScriptTests,
    StdinCase,
    StdinTests,
    TestSuite,
)
from grader.model.errors import LabelError, SuiteError
from grader.suites.fields import clean, is_list, load_data, wrong
from grader.text.integers import counted

TOKENS_OR_NUMBERS = Comparison(
    comparator=Comparator.FLOATS, abs_tol=1e-6, rel_tol=1e-6, abs_tol_share=0.01
)
"""For contest problems: blank-separated tokens, numbers within 1e-6.

In 241 of 2,999 real CodeContests cases, it accepts a correct output that a comparison by lines
refuses. It replaces the comparisons of APPS and its successors, which compare sets of tokens in
the end and so accept wrong answers in another order.
"""

JSON_VALUES = Comparison(comparator=Comparator.EXACT, tuples_as_lists=True)
"""For expected values that went through JSON, which has no tuples."""

MOST_CASES = 20_000
"""Each costs the grader itself about 0.2 ms. Large suites of public datasets have 1,000 cases."""

INPUTS = ("input", "stdin")
OUTPUTS = ("output", "expected_output", "expected", "stdout", "expected_stdout")
"""The names that datasets have for the two parts of a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One input and its expected output, both as the label has them."""

    id: str
    input: object
    output: object
    points: float = 1.0
    group: str | None = None


def pairs(inputs: object, outputs: object, *, prefix: str = "") -> tuple[Pair, ...]:
    """Return the pairs of two parallel lists; ids count from 0.

    Raises:
        LabelError: One of them is not a list.
        SuiteError: Their lengths differ: some outputs would go unchecked.
    """
    if not is_list(inputs) or not is_list(outputs):
        message = "inputs and outputs must be lists"
        raise LabelError(message)
    if len(inputs) != len(outputs):
        message = f"{counted(len(inputs), 'input')} but {counted(len(outputs), 'output')}"
        raise SuiteError(message)
    return tuple(
        Pair(id=f"{prefix}{index}", input=given, output=wanted)
        for index, (given, wanted) in enumerate(zip(inputs, outputs, strict=True))
    )


def pairs_of_items(items: Iterable[object]) -> tuple[Pair, ...]:
    """Return the pairs of a list of {input, output} objects.

    Raises:
        LabelError: An item has another form.
    """
    return tuple(_pair(index, item) for index, item in enumerate(items))


def _pair(index: int, item: object) -> Pair:
    name = f"test case {index}"
    if not isinstance(item, Mapping):
        raise wrong(item, name, "an object with input and output")
    # In tables, fields that a case lacks are null.
    points = 1.0 if item.get("points") is None else item["points"]
    group = item.get("group")
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 <= points < 1e9:
        raise wrong(points, f"{name}: points", "a number from 0 to 1e9")
    return Pair(
        id=str(index),
        input=_part(item, INPUTS, name),
        output=_part(item, OUTPUTS, name),
        points=float(points),
        group=None if group is None else str(group),
    )


def _part(item: Mapping[str, object], names: Sequence[str], case: str) -> object:
    """Return the input or the output of a case.

    SandboxFusion's cases have an object in its place, {stdin} or {stdout}.

    Args:
        item: The case.
        names: The fields that may hold it.
        case: The case's name in errors.

    Raises:
        LabelError: None of the fields is there, or several hold different values.
    """
    present = [name for name in names if name in item]
    filled = [name for name in present if item[name] is not None]
    if not present or any(item[name] != item[filled[0]] for name in filled):
        found = f"has {' and '.join(filled)}, which differ" if present else f"has no {names[0]}"
        message = f"{case} must be an object with input and output, but {found}"
        raise LabelError(message)
    value = item[filled[0]] if filled else None
    if isinstance(value, Mapping):
        inner = [value[name] for name in ("stdin", "stdout") if name in value]
        return inner[0] if len(inner) == 1 else value
    return value


def stdin_tests(pairs: Sequence[Pair], comparison: Comparison = TOKENS_OR_NUMBERS) -> StdinTests:
    """Return stdin tests; an input or output may be a text or the list of its lines.

    Raises:
        LabelError: An input or output is neither.
        SuiteError: There is no case.
    """
    require_cases(pairs)
    cases = tuple(
        StdinCase(
            id=pair.id,
            stdin=_stream(pair.input, f"input {pair.id}"),
            expected=_stream(pair.output, f"output {pair.id}"),
            points=pair.points,
            group=pair.group,
        )
        for pair in pairs
    )
    return StdinTests(cases=cases, comparison=comparison)


def call_tests(
    entry_point: str,
    pairs: Sequence[Pair],
    comparison: Comparison = JSON_VALUES,
    *,
    may_be_wrapped: bool = False,
) -> CallTests:
    """Return call tests.

    Args:
        entry_point: As in `CallTests`.
        pairs: The cases. An input is a list of arguments, an object of arguments by name, or a
            text with one JSON value per line.
        comparison: As in `CallTests`.
        may_be_wrapped: If every expected value is a list of one item, whether the item alone is
            right, too. APPS and its successors often wrap values, and their graders accept both.

    Raises:
        LabelError: An input has another form.
        SuiteError: There is no case.
    """
    require_cases(pairs)
    outputs = [_values(pair) for pair in pairs]
    is_wrapped = may_be_wrapped and all(is_list(o[0]) and len(o[0]) == 1 for o in outputs)
    cases = tuple(
        _call_case(pair, [*_items(right), *right] if is_wrapped else right)
        for pair, right in zip(pairs, outputs, strict=True)
    )
    return CallTests(entry_point=entry_point, cases=cases, comparison=comparison)


def _call_case(pair: Pair, right: Sequence[object]) -> CallCase:
    args, kwargs = _arguments(pair)
    return CallCase(
        id=pair.id,
        args=args,
        kwargs=kwargs,
        expected=right[0],
        alternatives=tuple(right[1:]),
        points=pair.points,
        group=pair.group,
    )


def _items(wrapped: Sequence[object]) -> list[object]:
    """Return the readings of the items of those values that are lists of one item."""
    return [each for value in wrapped if is_list(value) for each in _readings(value[0])]


def script_tests(sources: Sequence[str], setup: str = "") -> ScriptTests:
    """Return script tests with one case for each source; those without a statement are left out.

    Raises:
        SuiteError: There is no case.
    """
    cases = tuple(
        ScriptCase(id=str(index), source=text)
        for index, text in enumerate(sources)
        if any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
    )
    require_cases(cases)
    return ScriptTests(cases=cases, setup=setup)


def require_cases(cases: Sequence[object]) -> None:
    """Refuse a suite without cases, which would pass any program.

    Raises:
        SuiteError: There is no case.
    """
    if not cases:
        message = "the suite has no test case"
        raise SuiteError(message)


def check_cases(suite: TestSuite) -> TestSuite:
    """Return a suite, after a check of the number of its cases.

    Raises:
        LabelError: There are more than `MOST_CASES`.
    """
    number = 0 if isinstance(suite.tests, PytestTests) else len(suite.tests.cases)
    if number > MOST_CASES:
        message = f"the suite has {number} cases; at most {MOST_CASES} are graded"
        raise LabelError(message)
    return suite


def _stream(value: object, name: str) -> str:
    if isinstance(value, str):
        return clean(value)
    if is_list(value) and all(isinstance(line, str) for line in value):
        return clean("\n".join(str(line) for line in value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    raise wrong(value, name, "text or a list of lines")


def _arguments(pair: Pair) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the positional arguments and the named arguments of a call."""
    given = pair.input
    if isinstance(given, str):
        lines = [line for line in clean(given).split("\n") if line.strip()]
        given = [load_data(line, f"input {pair.id}, a JSON value a line,") for line in lines]
    if isinstance(given, Mapping):
        return (), {str(name): _int_keys(value) for name, value in given.items()}
    if not is_list(given):
        raise wrong(given, f"input {pair.id}", "a list of arguments")
    return tuple(_int_keys(argument) for argument in given), {}


def _values(pair: Pair) -> list[object]:
    """Return the values that are right for a case; at least one.

    If the input is text, a text output is read as JSON or as a Python literal; a literal may also
    stand for its own text. If the arguments are values, a text output is taken as it is, and also
    as the list or object that it spells. Integer keys became text in JSON, so both are right.
    """
    output = pair.output
    if not isinstance(output, str):
        return _readings(output)
    try:
        decoded = load_data(output, "an output")
    except LabelError:
        return [output]
    if isinstance(pair.input, str):
        return [*_readings(decoded), *([] if _is_json(output) else [output])]
    is_container = isinstance(decoded, Mapping) or is_list(decoded)
    return [output, *(_readings(decoded) if is_container else ())]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _readings(value: object) -> list[object]:
    numbered = _int_keys(value)
    return [value] if numbered is value else [numbered, value]


def _int_keys(value: object) -> object:
    """Turn the keys of an object into numbers if all spell integers, since JSON made them text."""
    if isinstance(value, Mapping) and value and all(_is_integer(key) for key in value):
        return {int(key): item for key, item in value.items()}
    return value


def _is_integer(key: object) -> bool:
    return isinstance(key, str) and key.removeprefix("-").isdecimal() and len(key) < 20
