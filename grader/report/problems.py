"""What a sample's problem says: its prompt and its reference, for the page of the sample."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from grader.model.errors import GraderError
from grader.offline.finder import ProblemLookup, SuiteFinder

MAX_LABEL_CHARS = 32 * 1024
"""Larger labels are not read, since only a text of them would be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTexts:
    """The texts of a problem; "" if it has none."""

    prompt: str = ""
    reference: str = ""


class ProblemReader:
    """Finds the texts of problems. Safe for many threads."""

    def __init__(self, problems: ProblemLookup | None = None) -> None:
        """Remember where problems are.

        Args:
            problems: The problems that rows name; None: only what labels in rows say.
        """
        self._problems = problems
        self._finder = SuiteFinder(problems)

    def texts_of(self, problem_id: str | None, label: object) -> ProblemTexts:
        """Return the texts of a problem. Never raises for a label: one that is bad has no texts.

        Args:
            problem_id: Its id, if that is known.
            label: The label of the sample's row; None if it has none.
        """
        row: Mapping[str, object] = {"problem_id": problem_id, "label": label}
        size = len(label) if isinstance(label, str) else len(json.dumps(label))
        if size > MAX_LABEL_CHARS:
            row = {"problem_id": problem_id}
        if self._problems is None and row.get("label") is None:
            return ProblemTexts()
        try:
            suite = self._finder.find(row, size)
        except GraderError:
            return ProblemTexts()
        return ProblemTexts(prompt=suite.prompt, reference=suite.reference or "")
