"""`grader grade --task`: rows of every kind, in one run of the real command."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Run, read_rows, write_rows

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(90)]

TESTS = ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]
GOOD = "```python\ndef add(a, b):\n    return a + b\n```"
BAD = "```python\ndef add(a, b):\n    return 3\n```"
WORK = "6 times 7 is 42, so the answer is 42."


def reports(out: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row["report"] for row in read_rows(out)}


def test_labels_of_every_kind_are_graded_in_one_run(tmp_path: Path, run: Run) -> None:
    both = {"combine": [{"code": TESTS, "weight": 0.5}, {"math": "1", "weight": 0.5}]}
    write_rows(
        tmp_path / "in.jsonl",
        [
            {"id": "code", "completion": BAD, "label": TESTS},
            {"id": "named code", "completion": GOOD, "label": {"code": TESTS}},
            {"id": "math", "completion": WORK, "label": {"math": "42"}},
            {"id": "json text", "completion": WORK, "label": json.dumps({"math": "41"})},
            {"id": "no answer", "completion": "I do not know.", "label": {"math": "42"}},
            {"id": "both", "completion": f"{GOOD}\nIt is \\boxed{{1}}.", "label": both},
            {"id": "half", "completion": f"{BAD}\nIt is \\boxed{{1}}.", "label": both},
            {"id": "no model", "completion": "Hello", "label": {"conversation": True}},
            {"id": "senseless", "completion": "x", "label": {"combine": []}},
        ],
    )
    done = run("grade", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 3, done.stderr
    found = reports(tmp_path / "out.jsonl")
    assert {name: (r["verdict"], r["reward"], r["policy"]) for name, r in found.items()} == {
        "code": ("failed", 0.3, "graded"),
        "named code": ("passed", 1.0, "graded"),
        "math": ("passed", 1.0, "math"),
        "json text": ("failed", 0.0, "math"),
        "no answer": ("no_code", -0.5, "math"),
        "both": ("passed", 1.0, "combine"),
        "half": ("failed", 0.65, "combine"),
        "no model": ("internal_error", 0.0, "graded"),
        "senseless": ("internal_error", 0.0, "graded"),
    }
    assert set(found["math"]) == set(found["code"])
    assert (found["math"]["code"], found["math"]["total"]) == ("42", 1)
    assert "expected 41" in found["json text"]["feedback"]
    assert len(found["half"]["cases"]) == 2
    assert "GRADER_CONVERSATION_MODEL" in found["no model"]["feedback"]
    assert "not graded: 2 of 9 rows: " in done.stdout
    assert "pass rate: 42.9 %" in done.stdout


def test_plain_answers_are_math_by_option_and_need_no_sandbox(
    tmp_path: Path, run: Run, environment: dict[str, str]
) -> None:
    environment |= {"GRADER_SANDBOX": "docker", "GRADER_DOCKER_HOST": "unix:///nowhere.sock"}
    solution = "She has 3 * 6 = 18 left.\n#### 18"
    write_rows(
        tmp_path / "in.jsonl",
        [
            {"id": "several", "completion": ["#### 18", "#### 17", "?"], "answer": solution},
            {"id": "named", "completion": "\\boxed{x+1}", "label": {"math": "1 + x"}},
            {"id": "none", "completion": "#### 1"},
        ],
    )
    done = run("grade", "in.jsonl", "-o", "-", "--task", "math")
    assert done.returncode == 3, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert Counter((row["id"], row["report"]["verdict"]) for row in rows) == {
        ("several", "passed"): 1,
        ("several", "failed"): 1,
        ("several", "no_code"): 1,
        ("named", "passed"): 1,
        ("none", "internal_error"): 1,
    }
    assert "expected label or answer or ground_truth" in done.stderr
    assert "pass@1" in done.stderr


def test_label_key_names_the_field(tmp_path: Path, run: Run) -> None:
    write_rows(
        tmp_path / "in.jsonl",
        [{"id": "a", "completion": GOOD, "tests": TESTS, "label": "something else"}],
    )
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--label-key", "tests")
    assert done.returncode == 0, done.stderr
    assert reports(tmp_path / "out.jsonl")["a"]["verdict"] == "passed"


def test_sandbox_that_is_not_there_is_told_where_a_row_needs_it(
    tmp_path: Path, run: Run, environment: dict[str, str]
) -> None:
    environment |= {"GRADER_SANDBOX": "docker", "GRADER_DOCKER_HOST": "unix:///nowhere.sock"}
    math = {"id": "math", "completion": "#### 1", "label": {"math": "1"}}
    write_rows(tmp_path / "in.jsonl", [math])
    assert run("grade", "in.jsonl", "-o", "out.jsonl").returncode == 0
    write_rows(tmp_path / "in.jsonl", [math, {"id": "code", "completion": GOOD, "label": TESTS}])
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--force")
    assert done.returncode == 3
    assert "the Docker engine did not co" in done.stderr


def test_task_without_its_means_is_refused_before_anything_is_graded(
    tmp_path: Path, run: Run
) -> None:
    write_rows(tmp_path / "in.jsonl", [{"id": "a", "completion": "x"}])
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--task", "conversation")
    assert done.returncode == 2
    assert "expected GRADER_CONVERSATION_MODEL" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_stopped_run_of_answers_is_resumed_and_not_by_another_task(
    tmp_path: Path, run: Run, start: "Callable[..., subprocess.Popen[str]]"
) -> None:
    # Each of these would be compared for as long as it may.
    slow = "\\boxed{9^{9^{9^{9}}} + x}"
    rows = [{"id": str(n), "completion": slow, "label": {"math": f"x + {n}"}} for n in range(6)]
    rows[:0] = [{"id": "first", "completion": "#### 1", "label": {"math": "1"}}]
    write_rows(tmp_path / "in.jsonl", rows)
    process = start("grade", "in.jsonl", "-o", "out.jsonl", "--set", "math.symbolic_s=60")
    out = tmp_path / "out.jsonl"
    while not (out.exists() and out.read_bytes().count(b"\n")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert [row["report"]["verdict"] for row in read_rows(out)] == ["passed"]
    refused = run("grade", "in.jsonl", "-o", "out.jsonl", "--resume", "--task", "math")
    assert refused.returncode == 2
    assert "task" in refused.stderr
    assert "how answers and conversations are graded changed" in refused.stderr
