"""Which tests a row asks for: a problem's, its label's, or those that it holds itself."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import parse_label, parse_problem
from grader.suites.cache import SuiteCache

PROBLEM_KEYS = ("problem_id", "task_id", "question_id", "id", "slug", "name")
"""Which fields may name a row's problem; the first whose value is a known problem counts."""


class ProblemLookup(Protocol):
    """Tests by the id of their problem."""

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the problem's tests; None: there is no such problem."""


class SuiteFinder:
    """Finds the tests of rows, and remembers labels that it saw lately."""

    def __init__(self, problems: ProblemLookup | None = None) -> None:
        self._problems = problems
        self._seen = SuiteCache()

    def find(self, row: Mapping[str, Any], size: int) -> TestSuite:
        """Return the tests of a row.

        Looks among the problems by the row's id, then at the row's label, and without either
        takes the row for a problem that carries a completion.

        Args:
            row: Its fields.
            size: Of its text, in bytes.

        Raises:
            LabelError: There is no label, or none that can be read.
            SuiteError: The tests are broken.
        """
        ids = [str(row[key]) for key in PROBLEM_KEYS if row.get(key) is not None]
        if self._problems is not None:
            for problem_id in ids:
                if (suite := self._problems.get(problem_id)) is not None:
                    return suite
        label = row.get("label")
        if label is None:
            return self._from_row_itself(row, ids)
        # By its text: 1, 1.0 and true are equal in Python and different in a test.
        key = label if isinstance(label, str) else json.dumps(label)
        if (suite := self._seen.get(key)) is None:
            suite = parse_label(label, problems=self._problems)
            self._seen.keep(key, suite, size)
        return suite

    def _from_row_itself(self, row: Mapping[str, Any], ids: list[str]) -> TestSuite:
        try:
            return parse_problem(row, problems=self._problems)
        except LabelError as error:
            message = f"{self._what_is_missing(ids)}: {error}"
            raise LabelError(message) from error

    def _what_is_missing(self, ids: list[str]) -> str:
        if self._problems is None and ids:
            return f"no label, and no file of problems (--problems) to find {ids[0]!r} in"
        if self._problems is None:
            return "no label, no file of problems (--problems), and the row holds no tests itself"
        if ids:
            return f"no label, and the file of problems lacks {' and '.join(map(repr, ids))}"
        return f"no label, and no id to find a problem by ({', '.join(PROBLEM_KEYS)})"
