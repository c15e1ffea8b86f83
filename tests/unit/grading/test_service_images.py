"""A submission gets the image that its code needs, whether or not its label says so."""

import pytest

from grader.config.settings import ImageSettings, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport
from grader.model.errors import ImageNotFoundError
from grader.model.verdict import Verdict
from grader.sandbox.contract import Slot
from tests.factories import make_submission, make_suite, make_tests
from tests.fake.backend import FakeSandbox

ADD = "def add(a, b):\n    return a + b\n"


class Recording(FakeSandbox):
    """Remembers the images of the slots that it opened. May lack one of them."""

    def __init__(self, missing: str | None = None) -> None:
        super().__init__()
        self.missing = missing
        self.opened: list[str] = []

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        if image == self.missing:
            message = f"no image {image}"
            raise ImageNotFoundError(message)
        self.opened.append(image)
        return super().open_slot(image=image, memory_bytes=memory_bytes)


def grade(
    sandbox: Recording, *codes: str, image: str = "python", settings: Settings | None = None
) -> list[GradeReport]:
    suite = make_suite(make_tests("assert add(1, 2) == 3"), image=image)
    with Grader(settings or Settings(slots=1), sandbox=sandbox) as grader:
        return [grader.grade(make_submission(f"```\n{code}```", suite=suite)) for code in codes]


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "import os, sympy",
        "from scipy.stats import norm",
        "def f(): import os; import pandas",
        "def f(): return __import__('sortedcontainers')",
    ],
)
def test_code_that_names_a_package_runs_where_that_is(line: str) -> None:
    sandbox = Recording()
    lines = f"def unused():\n    {line}\n{ADD}"
    (report,) = grade(sandbox, lines)
    assert (sandbox.opened, report.verdict) == (["science"], Verdict.PASSED)
    assert report.conditions is not None
    assert report.conditions.image == "science"


def test_code_that_names_none_runs_where_its_suite_says() -> None:
    sandbox = Recording()
    (report,) = grade(sandbox, "import math\nnumpyish = 1\n" + ADD)
    assert (sandbox.opened, report.verdict) == (["python"], Verdict.PASSED)


def test_machine_without_that_image_runs_it_all_the_same() -> None:
    sandbox = Recording(missing="science")
    (report,) = grade(sandbox, "try:\n    import numpyx, numpy\nexcept ImportError: pass\n" + ADD)
    assert report.verdict is Verdict.PASSED
    assert report.conditions is not None
    assert (report.conditions.image, sandbox.opened) == ("python", ["python"])


def test_suite_whose_image_is_missing_is_not_graded() -> None:
    (report,) = grade(Recording(missing="science"), ADD, image="science")
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "no image science" in report.feedback


CODES = ("x = 'numpy'\n" + ADD, ADD, "# pandas\n" + ADD, ADD)


def test_slot_of_the_larger_image_takes_all_that_comes() -> None:
    sandbox = Recording()
    grade(sandbox, *CODES)
    assert sandbox.opened == ["science"]


def test_slot_of_an_image_that_somebody_made_takes_its_own_alone() -> None:
    sandbox = Recording()
    images = ImageSettings(python="own:python")
    reports = grade(sandbox, *CODES, settings=Settings(slots=1, images=images))
    assert sandbox.opened == ["science", "python", "science", "python"]
    assert [report.conditions.image for report in reports if report.conditions] == sandbox.opened
