"""A suite that needs what the sandbox lacks is our fault, and no submission can claim that."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox
from grader.suites import parse_label

RIGHT = "def f(x):\n    return x\n\n\nasync def g(x):\n    return x\n"
LACKING = {
    "library": "import absent\nfrom solution import f\n\ndef test_f():\n    assert f(1) == 1\n",
    "library in a test": (
        "from solution import f\n\ndef test_f():\n    import absent\n    assert f(1) == 1\n"
    ),
    "library that a module asks for": (
        "import pytest\nabsent = pytest.importorskip('absent')\nfrom solution import f\n\n"
        "def test_f():\n    assert f(1) == 1\n"
    ),
    "library that a test asks for": (
        "import pytest\nfrom solution import f\n\ndef test_f():\n"
        "    pytest.importorskip('absent')\n    assert f(1) == 1\n"
    ),
    "library in a script": ["import absent\nassert f(1) == 1"],
    "fixture": "from solution import f\n\ndef test_f(mocker):\n    assert f(1) == 1\n",
    "coroutines": (
        "import pytest\nfrom solution import g\n\n@pytest.mark.asyncio\nasync def test_g():\n"
        "    assert await g(1) == 1\n"
    ),
    "package": "from ..solution import f\n\ndef test_f():\n    assert f(1) == 1\n",
}
SOUND = (
    "import pytest\npytest.importorskip('colorsys')\nfrom solution import f\n\n"
    "def test_f(tmp_path):\n    import colorsys\n    assert f(1) == 1\n"
)
CLAIMS = {
    "no finders": "import sys\nsys.modules.pop('colorsys', None)\nsys.meta_path.clear()\n",
    "no module": "def f(x):\n    raise ModuleNotFoundError(\"No module named 'colorsys'\")\n",
    "no fixture": (
        "class FixtureLookupError(Exception): pass\ndef f(x):\n    raise FixtureLookupError('x')\n"
    ),
    "no library, by a skip": (
        "import pytest\ndef f(x):\n    pytest.skip(\"could not import 'colorsys': none\")\n"
    ),
    "no module, by a skip": "import pytest\npytest.skip('none', allow_module_level=True)\n",
    "no plugin": (
        "import pytest\ndef f(x):\n"
        "    pytest.fail('async def functions are not natively supported')\n"
    ),
}


@pytest.fixture(scope="module")
def grader(native_sandbox: Sandbox) -> Iterator[Grader]:
    with Grader(Settings(slots=1, retries=0), sandbox=native_sandbox) as opened:
        yield opened


def grade(grader: Grader, label: object, code: str) -> GradeReport:
    return grader.grade(Submission(id="0", completion=code, suite=parse_label(label)))


@pytest.mark.parametrize("code", [RIGHT, RIGHT.replace("x\n", "-x\n")], ids=["right", "wrong"])
@pytest.mark.parametrize("label", LACKING.values(), ids=LACKING)
def test_suite_that_nobody_can_pass_is_not_held_against_a_submission(
    grader: Grader, label: object, code: str
) -> None:
    report = grade(grader, label, code)
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "no submission can pass the suite here" in report.feedback


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_submission_cannot_claim_that_its_tests_lack_something(grader: Grader, claim: str) -> None:
    report = grade(grader, SOUND, "def f(x):\n    return -x\n" + claim)
    assert report.verdict in {Verdict.FAILED, Verdict.RUNTIME_ERROR}
    assert grade(grader, SOUND, RIGHT).verdict is Verdict.PASSED
