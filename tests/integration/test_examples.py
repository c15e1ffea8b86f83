"""The examples, graded by the command that the README shows first."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Run

BACKENDS = [
    pytest.param("native", id="native"),
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
]


def run_grader(repo_dir: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(command, cwd=repo_dir, capture_output=True, text=True, timeout=110)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_example_gets_the_verdict_that_it_expects(
    repo_dir: Path, tmp_path: Path, backend: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(f"{backend}_sandbox")
    out = tmp_path / "out.jsonl"
    done = run_grader(
        repo_dir,
        *("grade", "examples/samples.jsonl", "--problems", "examples/problems.jsonl"),
        *("--out", str(out), "--sandbox", backend),
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    samples = (repo_dir / "examples/samples.jsonl").read_text().splitlines()
    assert len(rows) == len(samples)
    wrong = {
        row["id"]: (row["report"]["verdict"], row["report"]["feedback"])
        for row in rows
        if row["report"]["verdict"] != row["expect"]
    }
    assert wrong == {}


@pytest.mark.timeout(120)
def test_check_finds_no_fault_with_the_example_problems(repo_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "check.jsonl"
    done = run_grader(
        repo_dir, "check", "examples/problems.jsonl", "--out", str(out), "--sandbox", "native"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(out.read_text().splitlines()) == 20


@pytest.mark.usefixtures("native_sandbox")
def test_python_of_the_readme_runs(repo_dir: Path, environment: dict[str, str]) -> None:
    page = (repo_dir / "README.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("a passed 1.0\n", 0), done.stderr


@pytest.mark.parametrize("script", ["openrlhf/make_prompts.py", "verl/make_parquet.py"])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(None, "cannot read .*: No such file or directory", id="no file"),
        pytest.param(b'{"prompt": "a", "label": "b"}\n{broken\n', "Expecting", id="broken row"),
        pytest.param(b"[1]\n", "one object a line|no prompt and label", id="no object"),
        pytest.param(b"\x1f\x8b\x08", "codec can't decode .*; expected", id="gzip"),
    ],
)
def test_script_for_data_says_what_it_cannot_read(
    repo_dir: Path, tmp_path: Path, script: str, content: bytes | None, complaint: str
) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out"
    if content is not None:
        source.write_bytes(content)
    command = [sys.executable, *map(str, (repo_dir / "examples" / script, source, target))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(complaint, done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert not target.exists()


@pytest.mark.usefixtures("native_sandbox")
def test_row_of_the_readme_gets_the_report_that_it_shows(
    repo_dir: Path, tmp_path: Path, run: Run
) -> None:
    page = (repo_dir / "README.md").read_text()
    (example,) = re.findall(r"^```json\n(.*\n.*\n)```", page, re.MULTILINE)
    row, shown = example.splitlines()
    (tmp_path / "in.jsonl").write_text(row)
    done = run("grade", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.jsonl").read_text())["report"]
    expected = json.loads(shown)["report"]
    assert {name: report[name] for name in expected} == expected
