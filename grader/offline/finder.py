"""Finding the tests of a row: in the file of problems, in its label, or in the row itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from grader.model import TestSuite
from grader.model.errors import LabelError, MissingFieldError
from grader.suites.cache import SuiteCache
from grader.suites.reading import read_label, read_problem
from grader.text.nearest import nearest

PROBLEM_KEYS = ("problem_id", "task_id", "question_id", "id", "slug", "name")
"""Fields that may name a row's problem. The first that names a known problem counts."""
_UNKNOWN_COMPARED = 10
"""Most unknown ids for which errors name similar known ones, since finding these takes time."""


class ProblemLookup(Protocol):
    """Finds the tests of a problem by its id."""

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the problem's tests; None if there is no such problem."""


class SuiteFinder:
    """Finds the tests of rows, with a cache of recent labels. Safe for many threads."""

    def __init__(
        self, problems: ProblemLookup | None = None, *, most_values: int | None = None
    ) -> None:
        """Start with an empty cache.

        Args:
            problems: The problems that rows may name.
            most_values: As in `read_label`.
        """
        self._problems = problems
        self._most_values = most_values
        self._seen: SuiteCache[TestSuite] = SuiteCache()
        self._unknown = 0
        """How many ids were not found among the problems."""

    def find(self, row: Mapping[str, Any], size: int) -> TestSuite:
        """Return the tests of a row.

        Looks for the row's id among the problems, then for a label. If there is neither, the row
        itself is read as a problem that also has a completion.

        Args:
            row: Its fields.
            size: The size of its text, in bytes.

        Raises:
            MissingFieldError: There are neither problems, nor a label, nor tests in the row.
            LabelError: There is no label that can be read.
            SuiteError: The suite is broken.
            ReaderLostError: As `read_label`.
        """
        ids = [str(row[key]) for key in PROBLEM_KEYS if row.get(key) is not None]
        if self._problems is not None:
            for problem_id in ids:
                if (suite := self._problems.get(problem_id)) is not None:
                    return suite
        label = row.get("label")
        if label is None:
            return self._from_row_itself(row, ids)
        key = key_of(label)
        if (suite := self._seen.get(key)) is None:
            suite = read_label(label, problems=self._problems, most_values=self._most_values)
            self._seen.keep(key, suite, size)
        return suite

    def seen(self, key: str) -> TestSuite | None:
        """Return the tests of a label that was read before, by its `key_of`; None if it was not."""
        return self._seen.get(key)

    def _from_row_itself(self, row: Mapping[str, Any], ids: list[str]) -> TestSuite:
        try:
            return read_problem(row, problems=self._problems)
        except LabelError as error:
            if self._problems is None and "label" not in row:
                by_id = f", or the file that has problem {ids[0]!r} by --problems" if ids else ""
                message = (
                    f"no tests: there is no field label; name the field of the tests by --label-key"
                    f"{by_id} (the row is not itself a label: {error})"
                )
                raise MissingFieldError(message) from error
            message = f"{self._what_is_missing(ids)} (the row is not itself a label: {error})"
            raise LabelError(message) from error

    def _what_is_missing(self, ids: list[str]) -> str:
        if self._problems is None:
            return "no tests: the field label is null"
        if not ids:
            return f"no label, and no id to find a problem by ({', '.join(PROBLEM_KEYS)})"
        self._unknown += 1
        near = nearest(ids[0], self._problems) if self._unknown <= _UNKNOWN_COMPARED else []
        like = f" (it has, for example, {', '.join(near)})" if near else ""
        return f"no label, and the file of problems lacks {' and '.join(map(repr, ids))}{like}"


def key_of(label: object) -> str:
    """Return a text that no label with other tests has."""
    # Not the label itself, because 1, 1.0 and true are equal in Python but not in a test.
    return label if isinstance(label, str) else json.dumps(label)
