"""What tests do with an honest submission: all of it works, as in plain Python.

In features/, each NAME.py.txt is a submission and each section of NAME.features.txt the body of a
test of it.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from textwrap import indent

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, verdicts

_FOLDER = Path(__file__).with_name("features")
_SECTION = re.compile(r"^# (.+)\n((?:(?!# ).*\n)+)", re.MULTILINE)

SOURCES = {
    path.name.partition(".")[0]: path.read_text() for path in sorted(_FOLDER.glob("*.py.txt"))
}
FEATURES = [
    pytest.param(name, body, id=f"{name}: {what}")
    for name in SOURCES
    for what, body in _SECTION.findall((_FOLDER / f"{name}.features.txt").read_text())
]


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all features."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize(("name", "body"), FEATURES)
def test_feature_passes(slot: Slot, name: str, body: str) -> None:
    module = (
        "import pytest\nimport solution\nfrom solution import *\n\n"
        f"def test_it(capsys, monkeypatch):\n{indent(body, '    ')}\n"
    )
    graded = grade(slot, Suite(right=SOURCES[name], module=module), SOURCES[name])

    assert [case.verdict for case in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)
    assert not graded.tampered


@pytest.mark.parametrize(
    ("name", "body"), [row for row in FEATURES if row.values[0] != "functions"]
)
def test_feature_passes_in_a_script(slot: Slot, name: str, body: str) -> None:
    graded = grade(
        slot, Suite(right=SOURCES[name], cases=[f"import pytest\n{body}"]), SOURCES[name]
    )

    assert [case.verdict for case in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)
    assert not graded.tampered
