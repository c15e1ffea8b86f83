"""Reads Go's tests: functions with `if got != want { t.Errorf(...) }`, in loops over tables.

Each row of a table is a case, as is each other test. All conditions under which it passes are found
by following its statements, once for each row. The submission's program gets those fields of a row
that lead to its values, and shows these values; another program gets the fields that are compared
with them. If rows differ in which values are looked at, the values that were looked at before must
decide that.
"""

import re

from grader.languages.go_tests.program import TwoPrograms
from grader.languages.go_tests.source import (
    read_file,
    statements_of,
    without_comments,
)
from grader.languages.go_tests.tables import Tests
from grader.languages.go_tests.ways import Ways
from grader.languages.reading_tests import refuse, require_short, texts_of
from grader.model import ExpressionTests

_MOST_CHARS = 128 * 1024
_TEST = re.compile(r"Test(?![a-z])\w*")


def read_tests(source: str, solution_path: str) -> ExpressionTests:
    """Read files of Go's tests; see `grader.languages.Language.exercises`.

    Raises:
        SuiteError: There is no test, or something in one that is not known.
    """
    require_short(source, _MOST_CHARS)
    try:
        return _read(without_comments(source), solution_path)
    except (IndexError, RecursionError):
        refuse("the tests end within a statement, or are too deep", source)


def _read(source: str, solution_path: str) -> ExpressionTests:
    file, tables = read_file(source), set[str]()
    program = TwoPrograms(file, tables, solution_path)
    for name, function in file.declared.items():
        tokens = function.tokens
        if _TEST.fullmatch(name) and texts_of(tokens[4:8]) == ["*", "testing", ".", "T"]:
            reporter = tokens[3].text
            found = Tests(source, file, name, reporter, tables)
            for test in found.find(statements_of(tokens[10:-1])):
                ways = [
                    Ways(source, file, row, reporter).passing(test.statements) for row in test.rows
                ]
                program.add(test, ways, reporter)
    if not program.cases:
        refuse("the tests have no test", source)
    return program.tests()
