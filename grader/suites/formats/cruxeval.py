"""CRUXEval: predict what a function returns, or an input for which it returns a given value.

Recognised by `code, input, output`, all of them text: `code` defines the function `f`, or the one
that `function_name` names (LiveCodeBench's execution tasks); `input` holds the arguments of a call,
or the whole call; `output` is a literal. The original harness chooses the task by its option
`mode`. Here a field `mode` does: "output", which is the default, or "input".

The answer is an assertion, or only the predicted part of it; `grader.extract.predictions` finds
it. It becomes call tests of one case: the prediction is evaluated in the sandbox, for an input by
calling the row's function, and the value is compared by `==`.

Original harness: 3 s. It executes any expression of the answer beside the function, so an answer
can replace the function. Here an answer may hold only literals, arithmetic on them and calls of
builtin types.
"""

import ast
from contextlib import suppress

from grader.model import CallCase, CallTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.model.overrides import ExtractionRule
from grader.source.prediction import ENTRY_POINT, program_of
from grader.suites import fields, source
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for
from grader.suites.literals import read_literal

LIMITS = fields.time_limits(3.0)

_RULES = {"output": ExtractionRule.PREDICTED_OUTPUT, "input": ExtractionRule.PREDICTED_INPUT}


def read(row: Row) -> TestSuite:
    """Turn a row of CRUXEval into its suite.

    Raises:
        LabelError: `mode` is unknown, or `output` is not a literal.
    """
    mode = row.get("mode") or "output"
    if not isinstance(mode, str) or mode not in _RULES:
        message = f"mode is {mode!r:.40}: expected 'output' or 'input', which is to be predicted"
        raise LabelError(message)
    code = fields.text(row, "code")
    output = fields.text(row, "output")
    try:
        expected = read_literal(output)
    except LabelError as error:
        message = f"output must be a literal: {error}"
        raise LabelError(message) from error
    right = _call(row) if mode == "input" else output
    prelude = f"{code.rstrip()}\n\n\n" if mode == "input" else ""
    return TestSuite(
        tests=CallTests(entry_point=ENTRY_POINT, cases=(CallCase(id="0", expected=expected),)),
        format="cruxeval",
        problem_id=fields.identifier(row, "id", "task_id", "question_id"),
        prompt=fields.any_text(row, "prompt"),
        entry_point=_function(row),
        prelude=prelude,
        extraction=_RULES[mode],
        limits=LIMITS,
        image=image_for(code),
        reference=program_of(right),
    )


def _function(row: Row) -> str:
    return fields.optional_text(row, "function_name") or "f"


def _call(row: Row) -> str:
    """Return the call that `input` describes.

    Raises:
        SuiteError: It is not the arguments of a call.
    """
    function, given = _function(row), fields.text(row, "input")
    for text in (given.strip(), f"{function}({given})"):
        with suppress(SuiteError):
            match source.parse(text, "input").body:
                case [ast.Expr(value=ast.Call(func=ast.Name(id=name)))] if name == function:
                    return text
    message = f"input must be the arguments of {function}, or a call of it, but is {given!r:.80}"
    raise SuiteError(message)


def _is_prediction(row: Row) -> bool:
    """Return whether the fields hold code and its values; `input` may also describe a format."""
    if not all(isinstance(row.get(name), str) for name in ("code", "input", "output")):
        return False
    with suppress(LabelError, SuiteError):
        return source.defines(source.parse(fields.text(row, "code"), "code"), _function(row))
    return False


CRUXEVAL = Format(
    name="cruxeval",
    summary="CRUXEval: predict what a function returns, or an input for which it returns a value",
    fields=field_sets("code input output"),
    example={
        "id": "sample_0",
        "code": "def f(n):\n    return 2 * n",
        "input": "21",
        "output": "42",
        "mode": "output",
    },
    read=read,
    accepts=_is_prediction,
)
