"""MBPP, its sanitized subset, and EvalPlus's MBPP+ in the original layout.

Recognised by `code, test_list`; sanitized rows add `test_imports`, full ones `test_setup_code`,
and MBPP+ rows a `test` program that repeats the asserts with many more inputs.

Becomes one script case per assert. `test_imports` and `test_setup_code` run after the submission's
code, since two rows (367, 927) call a class of the solution in their setup. An MBPP+ row becomes
call tests, all made in one run, whose results are compared outside the sandbox (`tables`), or one
case of the whole program if that does more; the limit is 60 s a task, as in EvalPlus. The entry
point, for extraction, is the function of the solution that the asserts call.

Original harness: code, setup and asserts in one process, all asserts must hold, no prelude.
Here each assert is a case, so that a fraction can be scored. Line ends in the file are CRLF and
read as LF. The benchmark does not count the asserts of `challenge_test_list`, so they are left out;
to use them, give them as a list of asserts.
"""

from grader.model import ScriptCase, ScriptTests, TestSuite
from grader.suites import fields, source
from grader.suites.cases import script_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for
from grader.suites.tables import calls_of, with_reference_first

PLUS_LIMITS = fields.time_limits(60.0)


def read(row: Row) -> TestSuite:
    """Turn an MBPP row into its suite."""
    code, asserts = fields.text(row, "code"), fields.texts(row, "test_list")
    for text in asserts:
        source.parse(text, "an assert")
    setup = "\n".join([*fields.texts(row, "test_imports"), fields.any_text(row, "test_setup_code")])
    return TestSuite(
        tests=script_tests(asserts, setup.strip()),
        format="mbpp",
        problem_id=fields.identifier(row, "task_id"),
        prompt=fields.any_text(row, "prompt", "text"),
        entry_point=source.called_name(asserts, code),
        image=image_for(code, setup),
        reference=code,
    )


def read_plus(row: Row) -> TestSuite:
    """Turn an MBPP+ row of the original layout into its suite."""
    code, program = fields.text(row, "code"), with_reference_first(fields.text(row, "test"))
    source.outline(program)
    entry_point = source.called_name(fields.texts(row, "test_list"), code)
    tests = calls_of(program, entry_point) if entry_point else None
    return TestSuite(
        tests=tests or ScriptTests(cases=(ScriptCase(id="check", source=program),)),
        format="mbppplus",
        problem_id=fields.identifier(row, "task_id"),
        prompt=fields.any_text(row, "prompt", "text"),
        entry_point=entry_point,
        limits=PLUS_LIMITS,
        image=image_for(code, program),
        reference=code,
    )


MBPP = Format(
    name="mbpp",
    summary="A list of assert statements, with setup that runs after the code",
    fields=field_sets("code test_list"),
    example={
        "task_id": 1,
        "text": "Write a function to double a number.",
        "code": "def double(n):\r\n    return 2 * n",
        "test_setup_code": "",
        "test_list": ["assert double(2) == 4", "assert double(0) == 0"],
        "challenge_test_list": [],
    },
    read=read,
    precedes=("assert_list",),
)

MBPPPLUS = Format(
    name="mbppplus",
    summary="MBPP+ in the original layout: a program that holds many inputs and results",
    fields=field_sets("code test_list test"),
    example={
        "task_id": 1,
        "prompt": "Write a function to double a number.",
        "code": "def double(n):\n    return 2 * n",
        "test_imports": [],
        "test_list": ["assert double(2) == 4"],
        "test": "for n, want in [(2, 4), (-1, -2)]:\n    assert double(n) == want\n",
    },
    read=read_plus,
    precedes=("mbpp", "assert_list"),
)
