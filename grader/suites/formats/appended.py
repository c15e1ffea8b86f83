"""HumanEval-X, HumanEvalPack and McEval in other languages than Python.

McEval is recognised by `task_id, prompt, canonical_solution, test, entry_point, signature,
docstring, instruction`, the others as `humanevalpack`. The part of `task_id` before the slash is
the language. `test` is source that follows the submission. `grader.suites.assertions` reads its
assertions: the call is evaluated in the submission's program, the expected value in another one,
and both are compared outside the sandbox.

Original harness: one program of prompt, completion and test. Exit code 0 passes; for HumanEval-X
in JavaScript, if nothing was printed. Here, neither counts.
"""

import re
from dataclasses import replace

from grader import languages
from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import fields
from grader.suites.assertions import read_assertions
from grader.suites.format import Format, Row, field_sets
from grader.suites.masked import Code

_IMPORT = re.compile(
    r"^[ \t]*(?:import\s*\([^)]*\)|import[ \t][^;\n]+;?|using(?: namespace| static)? [\w.]+;"
    r"|#include[^\n]*|use [\w:{][^;\n]*;)",
    re.MULTILINE,
)
_END = re.compile(r"(?<![ \t])[ \t]*[{;]?[ \t]*(?://.*)?\Z")
"""What may follow a function's head in the last line of a prompt."""
_NAME = re.compile(r"(\w+)\s*(?:=\s*(?:async\s*)?)?(?:<[^<>()]*>)?\(")


def read(row: Row) -> TestSuite:
    """Turn a row into its suite.

    Raises:
        LabelError: Such tests are not supported in its language.
        SuiteError: An assertion cannot be split into a call and an expected value.
    """
    name = fields.text(row, "task_id").partition("/")[0]
    language = languages.find(name)
    if language is None or language.assertions is None:
        known = [key for key, each in languages.languages().items() if each.assertions]
        message = (
            f"language not supported: {name!r}; such tests can be graded in "
            f"{', '.join((languages.PYTHON, *known))}"
        )
        raise LabelError(message)
    prompt = fields.text(row, "prompt")
    declaration = fields.optional_text(row, "declaration") or ""
    if not Code.of(prompt, language.assertions.comments).text.strip():
        prompt += declaration
    prompt = f"{prompt.rstrip()}\n"
    test = fields.text(row, "test")
    entry_point = fields.optional_text(row, "entry_point") or ""
    if not entry_point or (declaration and not re.search(rf"\b{re.escape(entry_point)}\b", test)):
        entry_point = _last_name(declaration)  # HumanEvalPack may shorten the name.
    tests = read_assertions(test, language.assertions, entry_point, declaration or prompt)
    before, newline, last = (declaration or prompt).rstrip().rpartition("\n")
    begun = before + newline + _END.sub("", last)
    imports = f"{language.assertions.imports}\n{fields.optional_text(row, 'import') or ''}"
    stub = language.assertions.stub
    solution = fields.optional_text(row, "canonical_solution")
    return TestSuite(
        tests=replace(tests, stub="" if stub is None else stub(begun, entry_point)),
        format="mceval",
        problem_id=fields.identifier(row, "task_id"),
        prompt=prompt,
        continues_prompt=True,
        entry_point=entry_point,
        prelude="\n".join(dict.fromkeys(_IMPORT.findall(f"{imports}\n{prompt}\n{declaration}"))),
        limits=fields.time_limits(15.0),
        image=language.image,
        language=language.name,
        reference=None if solution is None else prompt + solution,
    )


def _last_name(declaration: str) -> str:
    """Return the name of the function at the end of a declaration.

    Raises:
        LabelError: The declaration does not end with the beginning of a function.
    """
    last = declaration.strip().rpartition("\n")[2]
    found = _NAME.search(last)
    if found is None:
        message = (
            f"declaration must end with the beginning of a function, but ends with {last!r:.80}"
        )
        raise LabelError(message)
    return found[1]


MCEVAL = Format(
    name="mceval",
    summary="McEval: prompt and tests with assertions in another language than Python",
    fields=field_sets(
        "task_id prompt canonical_solution test entry_point signature docstring instruction"
    ),
    example={
        "task_id": "Lua/1",
        "prompt": "-- Returns twice n.\nfunction double(n)\n",
        "canonical_solution": "    return 2 * n\nend\n",
        "test": "assert(double(2) == 4)\n",
        "entry_point": "double",
        "signature": "function double(n)",
        "docstring": "Returns twice n.",
        "instruction": "Complete the function.",
    },
    read=read,
    accepts=lambda row: "declaration" not in row,
    precedes=("source", "humaneval"),
)
