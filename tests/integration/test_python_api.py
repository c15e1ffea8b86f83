"""The public face: what `from grader import ...` gives, in plain and in asynchronous code."""

import asyncio
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grader
from grader import Grader, Settings, Submission, Verdict, parse_label
from grader.sandbox.native.backend import NativeSandbox

pytestmark = pytest.mark.timeout(300)

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs/python-api.md"
SUITE = parse_label('["assert add(1, 2) == 3"]')


def submissions() -> list[Submission]:
    """Return a right and a wrong one."""
    return [
        Submission(id="right", completion="def add(a, b):\n    return a + b\n", suite=SUITE),
        Submission(id="wrong", completion="def add(a, b):\n    return a - b\n", suite=SUITE),
    ]


EXPECTED = {"right": Verdict.PASSED, "wrong": Verdict.FAILED}


@pytest.fixture
def settings(native_sandbox: NativeSandbox) -> Settings:
    assert native_sandbox.name == "native"
    return Settings(sandbox=grader.SandboxChoice.NATIVE, slots=2)


def test_plain_form(settings: Settings) -> None:
    with Grader(settings) as opened:
        found = {each.id: report.verdict for each, report in opened.as_completed(submissions())}
        again = opened.grade_batch(submissions())
    assert found == EXPECTED
    assert [report.verdict for report in again] == list(EXPECTED.values())


def test_asynchronous_form_inside_a_running_loop(settings: Settings) -> None:
    async def grade() -> dict[str, Verdict]:
        async with Grader(settings) as opened:
            one = await opened.agrade(submissions()[0])
            assert one.verdict is Verdict.PASSED
            return {
                each.id: report.verdict async for each, report in opened.as_completed(submissions())
            }

    assert asyncio.run(grade()) == EXPECTED


def test_plain_form_inside_a_running_loop_as_in_a_notebook(settings: Settings) -> None:
    async def cell() -> list[Verdict]:
        with Grader(settings) as opened:
            return [report.verdict for report in opened.grade_batch(submissions())]

    assert asyncio.run(cell()) == list(EXPECTED.values())


def broken_off() -> Iterator[Submission]:
    yield from submissions()
    message = "row 3"
    raise ValueError(message)


def follow(opened: Grader, seen: dict[str, Verdict]) -> None:
    for each, report in opened.as_completed(broken_off()):
        seen[each.id] = report.verdict


def follow_asynchronously(opened: Grader, seen: dict[str, Verdict]) -> None:
    async def run() -> None:
        async for each, report in opened.as_completed(broken_off()):
            seen[each.id] = report.verdict

    asyncio.run(run())


@pytest.mark.parametrize("loop", [follow, follow_asynchronously])
def test_reports_before_broken_input_are_given_out(
    settings: Settings, loop: Callable[[Grader, dict[str, Verdict]], None]
) -> None:
    seen: dict[str, Verdict] = {}
    with Grader(settings) as opened, pytest.raises(ValueError, match="row 3"):
        loop(opened, seen)
    assert seen == EXPECTED


BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=["plain", "asynchronous"])
def test_programs_of_the_page_run(
    native_sandbox: NativeSandbox, tmp_path: Path, block: str
) -> None:
    assert native_sandbox.name == "native"
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        [sys.executable, "-c", block],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
        check=True,
    )
    assert "passed" in done.stdout


USER_PROGRAM = """
from grader import Grader, GradeReport, Settings, Submission, Verdict, load_settings, parse_label


def share(completions: list[str], label: str) -> float:
    suite = parse_label(label)
    with Grader(Settings(slots=1)) as grader:
        reports: list[GradeReport] = grader.grade_batch(
            Submission(id=str(n), completion=text, suite=suite)
            for n, text in enumerate(completions)
        )
    return sum(report.verdict is Verdict.PASSED for report in reports) / len(reports)


async def first(settings: Settings, submission: Submission) -> float:
    async with Grader(settings) as grader:
        async for _, report in grader.as_completed([submission]):
            return report.reward
    return (await Grader(load_settings().settings).agrade(submission)).reward
"""


def test_types_reach_a_project_that_installs_the_wheel(tmp_path: Path) -> None:
    """mypy --strict reads the installed package, and not this checkout."""
    wheel = tmp_path / "wheel"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(wheel), str(REPO)], check=True, timeout=120)
    (built,) = wheel.glob("*.whl")
    installed = tmp_path / "site-packages"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(installed)
    program = tmp_path / "project" / "program.py"
    program.parent.mkdir()
    program.write_text(USER_PROGRAM)
    (program.parent / "wrong.py").write_text("from grader import Grader\n\nGrader().grade(3)\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py", "wrong.py"],
        capture_output=True,
        text=True,
        cwd=program.parent,
        env={**os.environ, "MYPYPATH": "", "PYTHONPATH": str(installed)},
        timeout=240,
        check=False,
    )
    errors = [line for line in checked.stdout.splitlines() if "error" in line]
    assert len(errors) == 2, checked.stdout + checked.stderr
    assert errors[0].startswith("wrong.py:3: error: Argument 1")
    assert errors[1].startswith("Found 1 error in 1 file")


def test_every_public_name_can_be_imported() -> None:
    for name in grader.__all__:
        assert getattr(grader, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = grader.Nothing
