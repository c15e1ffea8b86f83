"""CodeContests rows as DeepMind released them.

Recognised by `public_tests`, `private_tests` or `generated_tests`, each {input[], output[]}.

Becomes stdin tests of all three, in this order, with `time_limit` (seconds and nanos) and
`memory_limit_bytes` of the row. The reference is the first solution in Python 3 (language 3, or
"PYTHON3").

Comparator: tokens, numbers within 1e-6. In 2,999 real cases, the output of a correct program equals
the recorded one byte for byte in 18, except for trailing blanks in 2,454, by tokens in 25, and
within the tolerance in 208. Problems with several right answers need a checker, which the rows do
not have: set `suite.comparison.checker`.
"""

from collections.abc import Mapping

from grader.model import TestSuite
from grader.suites import fields
from grader.suites.cases import Pair, pairs, stdin_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for

_TESTS = ("public_tests", "private_tests", "generated_tests")
_PYTHON3 = (3, "3", "PYTHON3", "python3")


def read(row: Row) -> TestSuite:
    """Turn a row of CodeContests into its suite."""
    found: list[Pair] = []
    for name in _TESTS:
        if row.get(name) is not None:
            tests = fields.mapping(row, name)
            prefix = f"{name.partition('_')[0]}/"
            found += pairs(tests.get("input"), tests.get("output"), prefix=prefix)
    solution = _reference(row.get("solutions"))
    return TestSuite(
        tests=stdin_tests(found),
        format="codecontests",
        problem_id=fields.identifier(row, "name", "id"),
        prompt=fields.any_text(row, "description"),
        limits=fields.limits(row),
        image=image_for(solution),
        reference=solution,
    )


def _reference(solutions: object) -> str | None:
    if not isinstance(solutions, Mapping):
        return None
    languages, programs = solutions.get("language"), solutions.get("solution")
    if fields.is_list(languages) and fields.is_list(programs):
        for language, program in zip(languages, programs, strict=False):
            if language in _PYTHON3 and isinstance(program, str):
                return fields.clean(program)
    return None


def _has_tests(row: Row) -> bool:
    """Return whether a field may hold tests: `generated_tests` of open-r1's rows is a count."""
    return any(not isinstance(row.get(name), int | float | None) for name in _TESTS)


CODECONTESTS = Format(
    name="codecontests",
    summary="CodeContests: public, private and generated tests, time and memory limits",
    fields=field_sets(*_TESTS),
    example={
        "name": "0_A. Double",
        "description": "Print twice the number.",
        "public_tests": {"input": ["2\n"], "output": ["4\n"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["5\n"], "output": ["10\n"]},
        "time_limit": {"seconds": 2, "nanos": 0},
        "memory_limit_bytes": 268435456,
        "solutions": {"language": [3], "solution": ["print(2 * int(input()))"]},
    },
    read=read,
    accepts=_has_tests,
)
