"""HumanEval, and the files that copy its columns.

Recognised by `entry_point, test`, mostly with a `prompt`, if the test is a program that defines
`check`. Rows of HumanEvalPack and HumanEval-X are recognised by `task_id, prompt, declaration,
canonical_solution, test`; in these, the call of `check` may tell the entry point.

A program that consists of lists of inputs and results, such as EvalPlus's, becomes call tests, all
made in one run, whose results are compared outside the sandbox (`tables`). Any other becomes one
script case: the test program, then `check(<entry point>)` if the program does not call `check`
itself. If the program uses helpers of the prompt, it gets them from the prompt and not from the
completion. The prompt is code that a completion may continue. The reference is the prompt followed
by `canonical_solution`, or only the latter if it is a whole program.

Original harness: prompt + completion + test in one process, 3 s of wall time, no prelude, any
exception fails. Here 3 s are CPU time, so that a loaded machine changes no verdict.
"""

from dataclasses import replace

from grader import languages
from grader.model import ScriptCase, ScriptTests, TestSuite
from grader.model.errors import SuiteError
from grader.suites import fields, source
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats import appended
from grader.suites.helpers import helpers_of
from grader.suites.images import image_for
from grader.suites.tables import calls_of, with_reference_first

LIMITS = fields.time_limits(3.0)


def check_tests(program: str, call: str) -> ScriptTests:
    """Return one case: a program that defines `check`, and a call of it with the argument `call`.

    Raises:
        SuiteError: The program does not parse, or does not define `check`.
    """
    names = source.outline(program)
    if "check" not in names.defined:
        message = "the test program defines no check(candidate)"
        raise SuiteError(message)
    if "check" not in names.used or not source.calls_at_top(source.parse(program), "check"):
        program = f"{program.rstrip()}\n\ncheck({call})\n"
    return ScriptTests(cases=(ScriptCase(id="check", source=program),))


def complete(prompt: str, solution: str) -> str:
    """Return a solution as a whole program; if it only continues the prompt, with the prompt."""
    return prompt + solution if source.is_continuation(solution) else solution


def read(row: Row) -> TestSuite:
    """Turn a HumanEval row into its suite."""
    prompt = fields.any_text(row, "prompt")
    program = with_reference_first(fields.text(row, "test"))
    entry_point = fields.text(row, "entry_point")
    solution = fields.optional_text(row, "canonical_solution")
    tests = calls_of(program, entry_point) or replace(
        check_tests(program, entry_point), setup=helpers_of(prompt, entry_point, program)
    )
    return TestSuite(
        tests=tests,
        format="humaneval",
        problem_id=fields.identifier(row, "task_id"),
        prompt=prompt,
        continues_prompt=bool(prompt),
        entry_point=entry_point,
        limits=LIMITS,
        image=image_for(program, prompt, solution),
        reference=None if solution is None else complete(prompt, solution),
    )


def read_pack(row: Row) -> TestSuite:
    """Turn a row of HumanEvalPack or HumanEval-X into its suite.

    Raises:
        LabelError: Such tests cannot be graded in its language.
        SuiteError: Neither the row nor its program says what the entry point is.
    """
    task_id = fields.text(row, "task_id")
    if languages.named(task_id.partition("/")[0]) != languages.PYTHON:
        return replace(appended.read(row), format="humanevalpack")
    if row.get("entry_point") is None:
        name = source.argument_of_check(source.parse(fields.text(row, "test")))
        if name is None:
            message = "the row has no entry_point, and its test does not call check with one"
            raise SuiteError(message)
        row = {**row, "entry_point": name}
    return replace(read(row), format="humanevalpack")


def _is_program(row: Row) -> bool:
    return isinstance(row["test"], str) and "def check(" in row["test"]


HUMANEVAL = Format(
    name="humaneval",
    summary="A prompt to continue and a program that defines check(candidate)",
    fields=field_sets("entry_point test"),
    example={
        "task_id": "HumanEval/0",
        "prompt": 'def double(n):\n    """Return twice n."""\n',
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    },
    read=read,
    accepts=_is_program,
    precedes=("source",),
)

HUMANEVALPACK = Format(
    name="humanevalpack",
    summary="HumanEval in several languages (HumanEvalPack, HumanEval-X)",
    fields=field_sets("task_id prompt declaration canonical_solution test"),
    example={
        "task_id": "Python/0",
        "prompt": 'def double(n):\n    """Return twice n."""\n',
        "declaration": "def double(n):\n",
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "buggy_solution": "    return n + 2\n",
        "test": "def check(double):\n    assert double(3) == 6\n\ncheck(double)\n",
    },
    read=read_pack,
    precedes=("humaneval", "source"),
)
