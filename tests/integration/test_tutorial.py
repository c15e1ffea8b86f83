"""docs/tutorial.md: its programs run and print what the page says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Run
from tests.guides import blocks, run_python

pytestmark = pytest.mark.usefixtures("native_sandbox")


@pytest.fixture
def tutorial(repo_dir: Path, tmp_path: Path, environment: dict[str, str]) -> Path:
    """The tutorial, with the files that its first steps write in the test's folder."""
    page = repo_dir / "docs/tutorial.md"
    (make_problems,) = blocks(page.read_text(), "python")
    (samples,) = blocks(page.read_text(), "json")
    run_python(make_problems, tmp_path, environment)
    (tmp_path / "samples.jsonl").write_text(samples)
    return page


@pytest.mark.timeout(120)
def test_problems_of_the_tutorial_are_ok(tutorial: Path, run: Run) -> None:
    checked = run("check", "problems.jsonl")
    assert "`4 problems: 4 ok`" in tutorial.read_text()
    assert "4 problems: 4 ok" in checked.stdout, checked.stderr


def test_samples_of_the_tutorial_get_the_rewards_of_its_table(
    tutorial: Path, tmp_path: Path, run: Run
) -> None:
    graded = run("grade", "samples.jsonl", "--problems", "problems.jsonl", "-o", "out.jsonl")
    assert graded.returncode == 0, graded.stderr
    rows = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    got = {(row["id"], row["report"]["verdict"], row["report"]["reward"]) for row in rows}
    table = re.findall(r"^\| `(.*?)` \| `(.*?)` \| (\S+) \|", tutorial.read_text(), re.MULTILINE)
    assert got == {(id, verdict, float(reward)) for id, verdict, reward in table}


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("tutorial")
def test_model_of_the_tutorial_trains_a_step(
    repo_dir: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("trl")
    command = [sys.executable, str(repo_dir / "examples/trl/toy_grpo.py")]
    command += ["--problems", "problems.jsonl", "--steps", "1", "--history", "log.jsonl"]
    environment = {**environment, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    (entry,) = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert entry["grader/graded"] == 1
    assert entry["grader/verdict_passed"] < 1
