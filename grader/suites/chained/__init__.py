"""Reads tests of Exercism's tracks, such as `expect(f(2)).toBe(4)` of jest.

Each of these assertions becomes a case of expressions, as in `grader.suites.assertions`: the
submission's program shows the first value, and a program with a stand-in for the submission shows
the second one.
"""

import re
from collections.abc import Sequence

from grader.languages import Exercises
from grader.languages.reading_tests import refuse, require_short
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError
from grader.suites.chained.assertions import find_assertions, require_own
from grader.suites.chained.expected import expected_values
from grader.suites.chained.names import own_names
from grader.suites.masked import Code


def read_exercise(
    source: str, how: Exercises, solution_path: str, example: str = ""
) -> tuple[ExpressionTests, str | None]:
    """Return the cases of a file of tests, and a name that the submission defines; None if unknown.

    Args:
        source: The file.
        how: How such files are written.
        solution_path: Where the file expects the submission.
        example: The exercise's own solution; empty if it has none.

    Raises:
        SuiteError: It takes nothing from the submission, asserts nothing, has an assertion that
            cannot be taken apart, or needs an example and has none.
    """
    require_short(source)
    if how.stub is None and not example:
        message = "the exercise has no example, from which the types of the tests' values come"
        raise SuiteError(message)
    program, names = how.program(source, solution_path, example)
    if not names:
        message = f"the tests take nothing from {solution_path}"
        raise SuiteError(message)
    code = Code.of(program, how.comments, how.texts)
    if how.start.search(code.mask) is None:
        refuse("the tests have no assertion", program)
    own = own_names(code, names, how)
    found = find_assertions(code, how, own)
    expected, code = expected_values(code, found, own, how)
    around, cases, end = list[str](), list[ExpressionCase](), 0
    for number, (each, value) in enumerate(zip(found, expected, strict=True)):
        around.append(code.text[end : each.start])
        require_own(each, own, how)
        cases.append(each.matcher.case(str(number), each.actual.text, value))
        end = each.end
    around.append(code.text[end:])
    tests = ExpressionTests(
        cases=tuple(cases),
        around=tuple(around),
        stub=example if how.stub is None else how.stub(names),
        solution_path=solution_path,
    )
    member = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*[.:]\s*(\w+)")
    defining = Code.of(example, how.comments, how.texts).mask
    called = (name for name in names if re.search(rf"\b{re.escape(name)}\s*\(", defining))
    return tests, (
        defined_name(defining, names)
        or next(called, None)
        or defined_name(defining, member.findall(code.mask))
    )


def defined_name(example: str, names: Sequence[str]) -> str | None:
    """Return the first of some names that an example defines by a keyword; None if there is none.

    Args:
        example: Its source.
        names: Names that tests may take from it.
    """
    kinds = "fn|func|function|sub|const|class|struct|enum|trait|interface|record|module|namespace"
    of = r"(?:\([^()]*\)\s*|\w+[.:])?"  # a receiver in Go, or a table in Lua
    defined = set(re.findall(rf"\b(?:{kinds})\s+{of}(\w+)", example))
    return next((name for name in names if name in defined), None)
