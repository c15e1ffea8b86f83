"""The command line over the real native sandbox, as a process of its own."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from grader.sandbox.images import DEFAULT_BASE
from tests.commands import Run, read_rows, write_rows
from tests.conftest import docker_settings

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(60)]

LABEL = ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]
GOOD = "```python\ndef add(a, b):\n    return a + b\n```"
BAD = "```python\ndef add(a, b):\n    return 3\n```"
SLEEPER = "```python\nimport time\ntime.sleep(0.2)\ndef add(a, b):\n    return a + b\n```"


def lines_of(path: Path) -> Counter[int]:
    return Counter(row["_grader"]["line"] for row in read_rows(path))


def whole_rows(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_rows_are_graded_and_summed_up(tmp_path: Path, run: Run) -> None:
    write_rows(
        tmp_path / "in.jsonl",
        [
            {"id": "good", "task_id": "add", "completion": GOOD, "label": LABEL},
            {"id": "bad", "task_id": "add", "completion": BAD, "label": LABEL},
            {"id": "both", "task_id": "add", "completion": [GOOD, "no code here"], "label": LABEL},
        ],
    )
    done = run("grade", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = sorted(
        (row["id"], row["report"]["verdict"]) for row in read_rows(tmp_path / "out.jsonl")
    )
    assert found == [("bad", "failed"), ("both", "no_code"), ("both", "passed"), ("good", "passed")]
    assert "pass rate: 50.0 %" in done.stdout
    assert "pass@1: 50.0 %  (1 problem)" in done.stdout
    report = next(row["report"] for row in read_rows(tmp_path / "out.jsonl") if row["id"] == "bad")
    assert (report["passed"], report["total"]) == (1, 2)
    assert [case["verdict"] for case in report["cases"]] == ["passed", "failed"]
    assert report["sandbox"] in ("native", "native-reduced")
    assert report["code"].startswith("def add")


def test_bad_rows_are_reported_and_the_others_go_on(tmp_path: Path, run: Run) -> None:
    write_rows(
        tmp_path / "in.jsonl",
        [
            "{ not json",
            {"id": "no completion", "label": LABEL},
            {"id": "unknown label", "completion": GOOD, "label": {"what": 1}},
            {"id": "good", "completion": GOOD, "label": LABEL},
        ],
    )
    done = run("grade", "in.jsonl", "-o", "out.jsonl")
    assert done.returncode == 3
    assert "not graded: 1: row 1: not JSON" in done.stderr
    assert "not graded: no completion: row 2: no completion" in done.stderr
    assert "not graded: unknown label: row 3: " in done.stderr
    assert "Traceback" not in done.stderr
    verdicts = {row["_grader"]["line"]: row["report"] for row in read_rows(tmp_path / "out.jsonl")}
    assert [verdicts[line]["graded"] for line in (1, 2, 3, 4)] == [False, False, False, True]


def test_rows_flow_from_standard_input_to_standard_output(tmp_path: Path, run: Run) -> None:
    (tmp_path / "-").touch()  # a file of that name is not meant
    row = json.dumps({"id": "a", "completion": GOOD, "label": LABEL})
    done = run("grade", "-", "-o", "-", stdin=f"{row}\n{row}\n")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["report"]["verdict"] for line in done.stdout.splitlines()] == [
        "passed",
        "passed",
    ]
    assert "pass rate: 100.0 %" in done.stderr


def test_empty_files_get_a_message(tmp_path: Path, run: Run) -> None:
    (tmp_path / "in.jsonl").touch()
    graded, checked = run("grade", "in.jsonl", "-o", "out.jsonl"), run("check", "in.jsonl")
    assert (graded.returncode, checked.returncode) == (3, 3)
    assert "in.jsonl has no rows" in graded.stderr
    assert "the file is empty" in checked.stdout


def test_queue_that_does_not_answer_is_reported_at_once(tmp_path: Path, run: Run) -> None:
    write_rows(tmp_path / "in.jsonl", [{"completion": GOOD, "label": LABEL}])
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--broker", "redis://127.0.0.1:1/0")
    assert done.returncode == 3
    assert "Redis does not answer" in done.stderr


def test_sandbox_that_cannot_be_opened_ends_the_command_before_any_row(
    tmp_path: Path, run: Run, environment: dict[str, str]
) -> None:
    environment["DOCKER_HOST"] = "tcp://127.0.0.1:1"
    write_rows(tmp_path / "in.jsonl", [{"completion": GOOD, "label": LABEL}] * 3)
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--sandbox", "docker")
    assert done.returncode == 3
    assert "error: the Docker engine did not connect" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_output_is_not_overwritten_unasked(tmp_path: Path, run: Run) -> None:
    write_rows(tmp_path / "in.jsonl", [{"id": "a", "completion": GOOD, "label": LABEL}])
    (tmp_path / "out.jsonl").write_text("mine\n")
    refused = run("grade", "in.jsonl", "-o", "out.jsonl")
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert (tmp_path / "out.jsonl").read_text() == "mine\n"
    assert run("grade", "in.jsonl", "-o", "out.jsonl", "--force").returncode == 0
    assert len(read_rows(tmp_path / "out.jsonl")) == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, id="terminated"),
        pytest.param(signal.SIGKILL, -9, id="killed"),
    ],
)
def test_stopped_run_is_continued(
    tmp_path: Path,
    run: Run,
    start: "Callable[..., subprocess.Popen[str]]",
    eventually: Callable[[Callable[[], bool], float], None],
    number: signal.Signals,
    code: int,
) -> None:
    rows = [{"id": str(n), "completion": SLEEPER, "label": LABEL} for n in range(30)]
    write_rows(tmp_path / "in.jsonl", rows)
    out = tmp_path / "out.jsonl"
    process = start("grade", "in.jsonl", "-o", "out.jsonl")
    eventually(lambda: whole_rows(out) >= 5, 30)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in stderr
    if number is not signal.SIGKILL:
        assert "the same command with --resume continues it" in stderr
    before = whole_rows(out)
    assert 5 <= before < 30
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--resume")
    assert done.returncode == 0, done.stderr
    assert lines_of(out) == Counter(range(1, 31))
    assert f"rows: {30 - before} in" in done.stdout
    assert f"{before} more before" in done.stdout
    assert "pass rate: 100.0 %" in done.stdout


def test_two_runs_do_not_write_one_file(
    tmp_path: Path,
    run: Run,
    start: "Callable[..., subprocess.Popen[str]]",
    eventually: Callable[[Callable[[], bool], float], None],
) -> None:
    rows = [{"id": str(n), "completion": SLEEPER, "label": LABEL} for n in range(50)]
    write_rows(tmp_path / "in.jsonl", rows)
    process = start("grade", "in.jsonl", "-o", "out.jsonl")
    eventually(lambda: whole_rows(tmp_path / "out.jsonl") >= 1, 30)
    refused = run("grade", "in.jsonl", "-o", "out.jsonl", "--resume")
    assert refused.returncode == 2
    assert "another run" in refused.stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)


def test_limits_of_the_command_line_win(tmp_path: Path, run: Run) -> None:
    busy = "```python\ndef add(a, b):\n    while True:\n        pass\n```"
    label = {"assert_case": LABEL, "suite": {"limits": {"cpu_time_s": 50.0}}}
    write_rows(tmp_path / "in.jsonl", [{"id": "a", "completion": busy, "label": label}])
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--set", "cpu_time_s=0.5")
    assert done.returncode == 0, done.stderr
    report = read_rows(tmp_path / "out.jsonl")[0]["report"]
    assert (report["verdict"], report["limit_hit"]) == ("time_limit", "cpu_time")


# Its tests share an object of a class of their own with the submission, by subclassing its class.
SHARED_ONLY = """\
from solution import Shape

class Square(Shape):
    def area(self):
        return 4

def test_name():
    assert Square().describe() == "area 4"
"""
SHAPE = "class Shape:\n    def describe(self):\n        return f'area {self.area()}'\n"


@pytest.mark.parametrize(
    ("least", "verdicts", "code"),
    [
        pytest.param("shared", ["passed", "passed", "passed"], 0, id="anything"),
        pytest.param("split", ["passed", "passed", "internal_error"], 3, id="split"),
        pytest.param("isolated", ["passed", "internal_error", "internal_error"], 3, id="isolated"),
    ],
)
def test_suites_with_less_than_the_required_integrity_are_refused(
    tmp_path: Path, run: Run, least: str, verdicts: list[str], code: int
) -> None:
    call = {"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"}
    shape = {"test": SHARED_ONLY, "solution": SHAPE}
    rows = [
        {"id": "0", "completion": GOOD, "label": call},
        {"id": "1", "completion": GOOD, "label": LABEL},
        {"id": "2", "completion": f"```python\n{SHAPE}```", "label": shape},
    ]
    write_rows(tmp_path / "in.jsonl", rows)
    done = run("grade", "in.jsonl", "-o", "out.jsonl", "--require-integrity", least)
    assert done.returncode == code, done.stderr
    graded = sorted(read_rows(tmp_path / "out.jsonl"), key=lambda row: str(row["id"]))
    assert [row["report"]["verdict"] for row in graded] == verdicts
    refused = [row["report"]["feedback"] for row in graded if not row["report"]["graded"]]
    assert all(f"refused, since require_integrity is {least}:" in text for text in refused)


def test_check_tells_healthy_problems_from_others(tmp_path: Path, run: Run) -> None:
    reference = "def add(a, b):\n    return a + b\n"
    write_rows(
        tmp_path / "problems.jsonl",
        [
            {"task_id": "fine", "code": reference, "test_list": LABEL},
            {"task_id": "wrong", "code": reference, "test_list": ["assert add(1, 1) == 3"]},
            {"task_id": "idle", "code": reference, "test_list": [*LABEL, "add(1, 2)"]},
            {
                "task_id": "dice",
                "solution": "import random\nprint(random.getrandbits(1))\n",
                "inputs": [""] * 40,
                "outputs": ["0"] * 40,
            },
            {"task_id": "unreadable", "code": reference, "test_list": ["assert ("]},
        ],
    )
    done = run("check", "problems.jsonl", "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = {row["id"]: row for row in read_rows(tmp_path / "out.jsonl")}
    assert {name: row["health"] for name, row in found.items()} == {
        "fine": "ok",
        "wrong": "broken",
        "idle": "vacuous",
        "dice": "flaky",
        "unreadable": "broken",
    }
    assert len(found["idle"]["vacuous_cases"]) == 1
    assert "5 problems: " in done.stdout
    assert "wrong: failed, 0 of 1 cases passed" in done.stdout


def test_check_measures_references_and_grade_takes_its_limits_from_them(
    tmp_path: Path, run: Run
) -> None:
    reference = "def add(a, b):\n    return a + b\n"
    hangs = "def add(a, b):\n    while True: pass\n"
    write_rows(tmp_path / "problems.jsonl", [{"id": "p", "solution": reference, "tests": LABEL[0]}])
    done = run("check", "problems.jsonl", "--calibrate")
    assert done.returncode == 0, done.stderr
    assert "Measured 1 references: problems.jsonl.limits.jsonl" in done.stdout

    write_rows(tmp_path / "in.jsonl", [{"completion": hangs, "label": {"problem": "p"}}])
    options = ("--problems", "problems.jsonl", "--set", "calibration.floor_s=0.5")
    for more, seconds, origin in (
        ((), 0.5, "reference"),
        (("--set", "cpu_time_s=0.2"), 0.2, "suite"),
    ):
        done = run("grade", "in.jsonl", "-o", "out.jsonl", "--force", *options, *more)
        assert done.returncode == 0, done.stderr
        (row,) = read_rows(tmp_path / "out.jsonl")
        assert row["report"]["verdict"] == "time_limit"
        conditions = row["report"]["conditions"]
        assert conditions["limits"]["cpu_time_s"] == seconds
        assert conditions["limits_from"] == origin


def test_doctor_looks_at_machine_and_backends(run: Run) -> None:
    done = run("doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {
        "Machine",
        "Docker engine",
        "Sandbox native",
        "Sandbox docker",
        "Languages (native)",
        "Languages (docker)",
        "Conclusion",
    }
    names = {row["name"] for row in found["Machine"]}
    assert {"user namespaces", "cgroups", "seccomp", "cores"} <= names
    native = {row["name"]: row["health"] for row in found["Sandbox native"]}
    assert native["network"] == "ok"
    done = run("doctor")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Ready: native, 2 slots."


def test_doctor_of_a_machine_that_cannot_grade_says_so_last(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["GRADER_SANDBOX"] = "docker"
    environment["GRADER_DOCKER_HOST"] = f"unix://{tmp_path}/absent.sock"
    done = run("doctor")
    assert done.returncode == 3
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Not ready: the Docker engine did not connect")
    assert "see what is missing above" in last


@pytest.mark.docker
@pytest.mark.usefixtures("runsc_sandbox")
def test_doctor_names_gvisor_with_its_platform_and_what_slots_lack_on_it(
    run: Run, environment: dict[str, str]
) -> None:
    environment["GRADER_DOCKER_RUNTIME"] = "runsc"
    found = json.loads(run("doctor", "--json").stdout)
    engine = {row["name"]: row["state"] for row in found["Docker engine"]}
    assert "runsc (platform ptrace)" in engine["runtimes"]
    docker = {row["name"]: row for row in found["Sandbox docker"]}
    assert "runtime runsc" in docker["engine"]["state"]
    assert docker["submissions"]["health"] == "warning"
    assert docker["submissions"]["state"].startswith("reduced: no mount namespace")


@pytest.mark.docker
@pytest.mark.usefixtures("docker_sandbox")
def test_doctor_tells_which_images_of_languages_are_built_and_which_are_old(
    run: Run, environment: dict[str, str]
) -> None:
    name = f"grader-test-{uuid4().hex[:12]}"
    environment["GRADER_IMAGES_PYTHON"] = f"{name}:python"
    # Docker's own base for the plain image has no harness, like one of long ago.
    subprocess.run(["docker", "tag", DEFAULT_BASE, f"{name}:lua"], check=True)
    subprocess.run(["docker", "tag", docker_settings().images.python, f"{name}:go"], check=True)
    try:
        found = json.loads(run("doctor", "--json").stdout)["Languages (docker)"]
    finally:
        subprocess.run(["docker", "rmi", f"{name}:lua", f"{name}:go"], check=True)
    rows = {row["name"]: row for row in found}
    assert rows.keys() == {"go", "lua", "not built"}
    assert rows["go"]["state"] == f"ready: {name}:go"
    assert rows["lua"]["health"] == "warning"
    assert "run `grader images build lua`" in rows["lua"]["state"]
    assert rows["not built"]["health"] == "ok"
    assert "rust" in rows["not built"]["state"].split(", ")


def test_missing_docker_is_a_finding_and_not_a_failure(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["GRADER_DOCKER_HOST"] = f"unix://{tmp_path}/absent.sock"
    done = run("doctor")
    assert done.returncode == 0, done.stderr
    assert "missing  engine" in done.stdout
    assert "--sandbox native" in done.stdout


def test_missing_docker_sdk_is_a_finding_and_not_a_failure(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "docker.py").write_text("raise ImportError")
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    done = run("doctor")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'grader-rl[docker]'") == 3
    assert done.stdout.splitlines()[-1] == "Ready: native, 2 slots."


def test_terminal_sees_a_bar_and_tables(tmp_path: Path, environment: dict[str, str]) -> None:
    write_rows(
        tmp_path / "in.jsonl", [{"id": "a", "completion": GOOD, "label": LABEL}] * 3 + ["oops"]
    )
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "grade", "in.jsonl", "-o", "out.jsonl"],
        cwd=tmp_path,
        env={**environment, "TERM": "xterm-256color", "COLUMNS": "100"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = bytearray()
    try:
        while block := os.read(screen, 4096):
            shown += block
    except OSError:
        pass  # The other end was closed: how a terminal says that it is over.
    finally:
        os.close(screen)
    assert process.wait(timeout=10) == 3
    text = shown.decode()
    assert "Grading" in text
    assert "█" in text
    assert "not JSON" in text
    assert "Traceback" not in text


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, environment: dict[str, str]) -> None:
    """100,000 rows that need no sandbox: their completions hold no code."""
    row = {"prompt": "p" * 1500, "completion": "", "label": LABEL}
    with (tmp_path / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": str(n), **row}) + "\n" for n in range(100_000))
    code = (
        "import sys; from grader.cli.app import run; code = run(sys.argv[1:]); "
        # Not of getrusage, whose peak is that of the process which started this one, too.
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(code, peak.split()[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "grade", "in.jsonl", "-o", "out.jsonl"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, peak_kib = map(int, done.stdout.splitlines()[-1].split())
    assert exit_code == 0
    assert whole_rows(tmp_path / "out.jsonl") == 100_000
    assert peak_kib < 150 * 1024
