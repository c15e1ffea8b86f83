"""docs/tutorial.md and the how-to pages: their programs run and print what the pages say."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.usefixtures("native_sandbox")


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in a language."""
    text = page.read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def python(program: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a program in a folder and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


@pytest.fixture
def tutorial(repo_dir: Path, tmp_path: Path, environment: dict[str, str]) -> Path:
    """The tutorial, with the files that its first steps write in the test's folder."""
    page = repo_dir / "docs/tutorial.md"
    (make_problems,) = blocks(page, "python")
    (samples,) = blocks(page, "json")
    python(make_problems, tmp_path, environment)
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


def test_checker_of_the_how_to_judges_as_its_table_says(
    repo_dir: Path, tmp_path: Path, run: Run
) -> None:
    page = repo_dir / "docs/how-to/checker.md"
    (label,) = map(json.loads, blocks(page, "json"))
    label = {**label, "inputs": label["inputs"][:1], "outputs": label["outputs"][:1]}
    table = re.findall(r"^\| `(.*?)` \| `(passed|failed)`", page.read_text(), re.MULTILINE)
    assert len(table) == 3
    samples = [
        {"id": printed, "completion": f"```python\nprint({printed!r})\n```", "label": label}
        for printed, _ in table
    ]
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, samples)))
    graded = run("grade", "samples.jsonl", "-o", "out.jsonl")
    assert graded.returncode == 0, graded.stderr
    rows = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert {(row["id"], row["report"]["verdict"]) for row in rows} == set(table)


def test_rewards_of_the_how_to_are_those_that_it_names(
    repo_dir: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    page = repo_dir / "docs/how-to/reward.md"
    *_, program = blocks(page, "python")
    printed = python(program, tmp_path, environment).splitlines()
    assert printed == ["passed 1.0", "failed -0.25", "no_code -0.5"]
    assert all(f"`{line}`" in page.read_text() for line in printed)


def test_reward_file_of_the_how_to_adds_its_bonus(
    repo_dir: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("torch")
    _, program, _ = blocks(repo_dir / "docs/how-to/reward.md", "python")
    label = json.dumps(["assert f(1) == 1"])
    calls = f"queries = ['def f(x): return x', 'def f(x): return 0']\nlabels = [{label!r}] * 2\n"
    calls += "print(*map(float, reward_func(queries, ['', ''], labels)['rewards']))"
    right, wrong = map(float, python(program + calls, tmp_path, dict(environment)).split())
    assert 0.8 < right <= 1
    assert wrong == 0
