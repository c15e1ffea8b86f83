"""The playground: grades a completion and a label from the page like any other submission."""

import json
from functools import cache

from pydantic import BaseModel, ConfigDict, Field

from grader.model import GradeReport, StdinTests, TestSuite
from grader.model.errors import LabelError
from grader.server.endpoints.grade import OneSubmission, grade_one
from grader.server.service import Service
from grader.suites import FORMATS, parse_label

_DEADLINE_S = 60.0
_ANSWERS = {
    "program": "print(2 * int(input()))\n",
    "class": "class Solution:\n    def double(self, n):\n        return 2 * n\n",
    "function": "def double(n):\n    return 2 * n\n",
    "prediction": "assert f(21) == 42\n",
    "javascript": "function double(n) {\n  return 2 * n;\n}\n",
}
"""Right answers to the examples of the formats, for examples whose reference is not one."""


class Trial(BaseModel):
    """The input of the playground."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    completion: str
    label: str = Field(description="JSON, or the source of tests")


async def try_out(service: Service, trial: Trial, size: int) -> GradeReport:
    """Grade the input of the playground, under the limits that hold for every request.

    Args:
        service: The service that grades.
        trial: The input.
        size: The size of the request in bytes.

    Raises:
        HTTPException: The label cannot be read.
    """
    item = OneSubmission(
        id="playground",
        completion=trial.completion,
        label=trial.label,
        deadline_s=_DEADLINE_S,
    )
    return await grade_one(service, item, size)


@cache
def examples() -> tuple[dict[str, str], ...]:
    """Return an example of every label format: its name, what it is, a label, a right answer."""
    found = []
    for form in FORMATS:
        try:
            suite = parse_label(dict(form.example))
        except LabelError:
            continue  # The example names a problem in a file, which may not be there.
        found.append(
            {
                "name": form.name,
                "summary": form.summary,
                "label": json.dumps(form.example, indent=2, ensure_ascii=False),
                "completion": f"```{suite.language}\n{_answer(suite).rstrip()}\n```\n",
            }
        )
    return tuple(found)


def _answer(suite: TestSuite) -> str:
    if suite.extraction.is_task:
        return _ANSWERS["prediction"]
    if suite.reference is not None:
        return suite.reference
    if suite.language in _ANSWERS:
        return _ANSWERS[suite.language]
    if isinstance(suite.tests, StdinTests):
        return _ANSWERS["program"]
    return _ANSWERS["class" if suite.entry_point == "Solution" else "function"]
