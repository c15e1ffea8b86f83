"""MultiPL-E: HumanEval and MBPP translated to other languages, tests included.

Recognised by `name, language, prompt, tests, stop_tokens`. `tests` is source that is appended to
the submission; each of its lines that compares a call with a value becomes a case of expressions.
`TranslatedTests` of the language says how such lines are written. The call is evaluated in the
submission's program, the value in another program, and both are compared outside the sandbox.

Original harness: one program of prompt, completion and tests; it passes if its exit code is 0,
for whatever reason. It cuts completions at the first of `stop_tokens`, which loses an answer that
defines a helper function first. Neither is repeated here: a code block is taken whole, and a `main`
that it brings to try itself out is not run. The comparison is that of the tests: `==` on plain data
in JavaScript, `!==` in PHP, text in Perl and Bash.
"""

import re

from grader import languages
from grader.languages import TranslatedTests, in_type_of_call
from grader.model import ExpressionCase, ExpressionTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import fields
from grader.suites.format import Format, Row, field_sets

_IMPORTS = re.compile(r"^(?:import|using|use) [\w.* :{},]+;", re.MULTILINE)

_MOST_MORE_LINES = 16
"""The most line breaks in the texts of a case."""


def read(row: Row) -> TestSuite:
    """Turn a row into its suite.

    Raises:
        LabelError: Tests in its language cannot be graded.
        SuiteError: A case of its tests has an unknown form, or the tests call no known function.
    """
    language = languages.named(row.get("language"))
    found = languages.find(language)
    if found is None or found.tests is None:
        known = ", ".join(name for name, each in languages.languages().items() if each.tests)
        message = f"language not supported: {language!r}; such tests can be graded in {known}"
        raise LabelError(message)
    prompt, source = fields.text(row, "prompt"), fields.text(row, "tests")
    if (name := found.tests.name.search(source)) is None:
        message = "the tests name no function that they call"
        raise SuiteError(message)
    return TestSuite(
        tests=ExpressionTests(
            cases=_cases(source, found.tests),
            setup=found.tests.setup.format(name=name[1]),
            stub="" if found.tests.stub is None else found.tests.stub(prompt),
        ),
        format="multipl_e",
        problem_id=fields.identifier(row, "name"),
        prompt=prompt,
        continues_prompt=True,
        entry_point=name[1],
        prelude="\n".join([*_IMPORTS.findall(prompt), found.tests.head]).strip(),
        limits=fields.time_limits(15.0),
        image=found.image,
        language=language,
    )


def _cases(source: str, tests: TranslatedTests) -> tuple[ExpressionCase, ...]:
    cases: list[ExpressionCase] = []
    lines = source.split("\n")
    for number, line in enumerate(lines):
        rest = line.strip()
        if not rest.startswith(tests.start):
            continue
        both = tests.sides(rest.removeprefix(tests.start))
        if both is None and tests.texts_span_lines:
            ends = range(number + 2, number + 2 + _MOST_MORE_LINES)
            longer = ("\n".join(lines[number:end]).strip() for end in ends)
            split = (tests.sides(each.removeprefix(tests.start)) for each in longer)
            both = next((each for each in split if each is not None), None)
        if both is None or not both[0].startswith(tests.call):
            message = f"a line of the tests cannot be read: {rest[:80]!r}"
            raise SuiteError(message)
        expected = in_type_of_call(tests.expected, *both)
        cases.append(ExpressionCase(id=str(len(cases)), actual=both[0], expected=expected))
    return tuple(cases)


MULTIPL_E = Format(
    name="multipl_e",
    summary="MultiPL-E: prompt and tests in another language than Python",
    fields=field_sets("name language prompt tests stop_tokens"),
    example={
        "name": "double",
        "language": "js",
        "prompt": "//Return twice n.\nfunction double(n){\n",
        "tests": "const assert = require('node:assert');\n\n\nfunction test() {\n"
        "  let candidate = double;\n  assert.deepEqual(candidate(2),4);\n}\n\ntest();",
        "stop_tokens": ["\nfunction "],
    },
    read=read,
    precedes=("source", "assert_list"),
)
