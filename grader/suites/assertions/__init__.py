"""Reads tests that people wrote as assertions in another language than Python.

Each assertion becomes a case of expressions: it is replaced by a statement that shows a value. In
the submission's program, that is the value of the call; in another program, the expected value. So
it must be possible to split the condition into these two. If more than the call is on the
submission's side, the submission could redefine it, so the row is refused.
"""

import re

from grader.languages import Assertions, in_type_of_call
from grader.languages.language import without_comments
from grader.languages.reading_tests import require_short
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError
from grader.suites.assertions.finding import AssertionFinder, FoundAssertion
from grader.suites.expected_values import WORD, without_expected
from grader.suites.masked import TEXTS, Code, mask_of

_LITERALS = frozenset(
    {"true", "false", "null", "nil", "None", "undefined", "TRUE", "FALSE", "NULL"}
)


def read_assertions(
    source: str, how: Assertions, entry_point: str, given: str = ""
) -> ExpressionTests:
    """Return the cases of some tests.

    Args:
        source: The tests, which follow the submission.
        how: How such tests are written.
        entry_point: The function or method of the submission that they call.
        given: The problem's own code.

    Raises:
        SuiteError: There is no assertion, or one that cannot be taken apart.
    """
    require_short(source)
    if how.read is not None:
        return how.read(without_comments(source, how.comments, TEXTS), entry_point)
    if how.prepare is not None:
        source = how.prepare(source)
    code = Code.of(source, how.comments)
    found = list(AssertionFinder(code, how, entry_point, given).assertions())
    certain = [each for each in found if not each.pairs]
    for each in certain:
        code = code.blank(each.start, each.end)
    found = [each for each in found if each.pairs]
    pairs = [pair for each in found for pair in each.pairs]
    submitted = without_expected(
        code,
        ((each.start, each.end) for each in found),
        actual=(pair.actual for pair in pairs),
        expected=[pair.expected for pair in pairs],
    )
    calls = re.compile(rf"(?<![\w$]){re.escape(entry_point)}\s*\(")
    for pair in pairs:
        if calls.search(mask_of(pair.expected)):
            message = f"the tests expect what the submission computes: {pair.expected[:120]!r}"
            raise SuiteError(message)
    cases = [
        ExpressionCase(
            id=str(number),
            actual=pair.actual,
            expected=in_type_of_call(
                how.expected,
                pair.actual,
                how.named.replace("{name}", pair.expected)
                if WORD.fullmatch(pair.expected) and pair.expected not in _LITERALS
                else pair.expected,
            ),
            within=pair.within,
            relation=pair.relation,
            repeats=each.repeats,
        )
        for number, (each, pair) in enumerate((each, pair) for each in found for pair in each.pairs)
    ]
    if not cases:
        message = "the tests assert nothing that is known to be an assertion"
        raise SuiteError(message)
    around, around_expected = _around(submitted, found), _around(code, found)
    return ExpressionTests(
        cases=tuple(cases),
        around=around,
        around_expected=() if around_expected == around else around_expected,
    )


def _around(code: Code, found: list[FoundAssertion]) -> tuple[str, ...]:
    """Return the source between the expressions of assertions."""
    around, end, after = list[str](), 0, ""
    for each in found:
        around.append(f"{after}{code.text[end : each.start]}{each.before}")
        around += [each.between] * (len(each.pairs) - 1)
        end, after = each.end, each.after
    return (*around, f"{after}{code.text[end:]}")
