"""The playground: a completion and a label from the page, graded as any other submission is."""

import json
from functools import cache

from pydantic import BaseModel, ConfigDict, Field

from grader.model import GradeReport, StdinTests, TestSuite
from grader.model.errors import LabelError
from grader.server.endpoints.grade import One, grade_one
from grader.server.engine import Engine
from grader.suites import FORMATS, parse_label

_DEADLINE_S = 60.0
_ANSWERS = {
    "program": "print(2 * int(input()))\n",
    "class": "class Solution:\n    def double(self, n):\n        return 2 * n\n",
    "function": "def double(n):\n    return 2 * n\n",
}
"""What the examples of all formats ask for, where they bring no solution themselves."""


class Trial(BaseModel):
    """What somebody wants to see graded."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    completion: str
    label: str = Field(description="JSON, or the source of tests")


async def try_out(engine: Engine, trial: Trial, size: int) -> GradeReport:
    """Grade what somebody typed in, under the limits that hold for every request.

    Args:
        engine: What grades.
        trial: What was typed in.
        size: Of the request, in bytes.

    Raises:
        HTTPException: The label cannot be read.
    """
    sample = One(
        id="playground",
        completion=trial.completion,
        label=trial.label,
        deadline_s=_DEADLINE_S,
    )
    return await grade_one(engine, sample, size)


@cache
def examples() -> tuple[dict[str, str], ...]:
    """Return an example of every label format: its name, what it is, a label, a right answer."""
    found = []
    for form in FORMATS:
        try:
            suite = parse_label(dict(form.example))
        except LabelError:
            continue  # It names a problem in a file, which may not be there.
        found.append(
            {
                "name": form.name,
                "summary": form.summary,
                "label": json.dumps(form.example, indent=2, ensure_ascii=False),
                "completion": f"```python\n{(suite.reference or _answer(suite)).rstrip()}\n```\n",
            }
        )
    return tuple(found)


def _answer(suite: TestSuite) -> str:
    if isinstance(suite.tests, StdinTests):
        return _ANSWERS["program"]
    return _ANSWERS["class" if suite.entry_point == "Solution" else "function"]
