"""What tests do with an honest submission: it works across the split as in one process.

In split_features/, each NAME.py.txt is a submission and each section of NAME.features.txt the
body of a test of it. Each runs twice, apart and together, and must pass both times.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from textwrap import indent

import pytest

from grader.sandbox.base import Sandbox, Slot
from grader.verdict import Verdict
from tests.hostile.splitting import Suite, run, verdicts

_FOLDER = Path(__file__).with_name("split_features")
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
def test_feature_works_apart_as_together(slot: Slot, name: str, body: str) -> None:
    module = (
        "import pytest\nimport solution\nfrom solution import *\n\n"
        f"def test_it(capsys, monkeypatch):\n{indent(body, '    ')}\n"
        # Without another after it, a test has no copy of the submission of its own.
        "def test_after_it(): pass\n"
    )
    suite = Suite(right=SOURCES[name], module=module)

    together, _ = run(slot, suite, suite.right, split=False)
    apart, outcome = run(slot, suite, suite.right)

    assert [case.verdict for case in together] == [Verdict.PASSED] * 2, verdicts(together)
    assert [case.verdict for case in apart] == [Verdict.PASSED] * 2, (verdicts(apart), outcome)


@pytest.mark.parametrize(
    ("name", "body"), [row for row in FEATURES if row.values[0] != "functions"]
)
def test_feature_works_in_a_script(slot: Slot, name: str, body: str) -> None:
    suite = Suite(right=SOURCES[name], cases=[f"import pytest\n{body}"])

    cases, outcome = run(slot, suite, suite.right)

    assert [case.verdict for case in cases] == [Verdict.PASSED], (verdicts(cases), outcome)


def test_features_are_many() -> None:
    assert len(FEATURES) >= 60
