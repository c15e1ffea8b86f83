"""DS-1000: snippets that fit into a given program, over numpy, pandas and others.

Recognised by `code_context` with `reference_code` or `metadata`.

`code_context` defines `test_execution(text)`, in some rows also `test_string(text)`. Both take the
submission's source as text and run it in a program, in the place of `[insert]`. So the row becomes
a pytest suite of one or two tests that read the submission's file. Such tests cannot be judged
apart from the submission: the verdict's integrity is "shared".

In some programs, the line before `[insert]` is the head of a function, whose body is asked for. A
submission must be Python by itself, so the head becomes a prompt that the completion continues,
and the tests remove it.

Limits: 60 s and 1 GiB, since the libraries need it. Original harness: 120 s a problem. It cuts
model output at markers of its prompts; the ordinary extraction rule is used here.
"""

import re

from grader.model import MiB, TestSuite
from grader.model.errors import SuiteError
from grader.suites import fields, source
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.formats.humaneval import complete

LIMITS = fields.time_limits(60.0, memory_bytes=1024 * MiB)

_TEST_PATH = "test_snippet.py"
_HEAD = re.compile(r"^(.*:)[ \t]*\n\[insert\]", re.MULTILINE)
_SNIPPET = """

def _snippet():
    from pathlib import Path

    code = Path(__file__).with_name("solution.py").read_text()
    _, _, body = code.partition({head!r})
    return body or code
"""


def read(row: Row) -> TestSuite:
    """Turn a row of DS-1000 into its suite.

    Raises:
        SuiteError: `code_context` defines no `test_execution`.
    """
    context = fields.text(row, "code_context")
    tree = source.parse(context, "code_context")
    names = [name for name in ("test_execution", "test_string") if source.defines(tree, name)]
    if "test_execution" not in names:
        message = "code_context defines no test_execution"
        raise SuiteError(message)
    metadata = fields.mapping({"metadata": row.get("metadata") or {}}, "metadata")
    found = _HEAD.search(context)
    head = f"{found[1].lstrip()}\n" if found else ""
    snippet = _SNIPPET.format(head=head or "\0")
    text = context.rstrip() + "\n" + snippet + "".join(map(_as_test, names))
    solution = fields.optional_text(row, "reference_code")
    return TestSuite(
        tests=pytest_tests({_TEST_PATH: text}, test_paths=(_TEST_PATH,)),
        format="ds1000",
        problem_id=fields.identifier(metadata, "problem_id"),
        prompt=head or fields.any_text(row, "prompt"),
        continues_prompt=bool(head),
        limits=LIMITS,
        image="science",
        reference=solution and complete(head, solution),
    )


def _as_test(name: str) -> str:
    """Return source that turns a function of one argument into a test without arguments."""
    return f"\n\n_{name} = {name}\n\n\ndef {name}():\n    _{name}(_snippet())\n"


DS1000 = Format(
    name="ds1000",
    summary="DS-1000: a program that takes the submission as text and tests it",
    fields=field_sets("code_context reference_code", "code_context metadata"),
    example={
        "prompt": "Put twice n into result.",
        "reference_code": "result = 2 * n",
        "metadata": {"problem_id": 0, "library": "Numpy"},
        "code_context": "def test_execution(solution):\n    names = {'n': 2}\n"
        "    exec(solution, names)\n    assert names['result'] == 4\n",
    },
    read=read,
)
