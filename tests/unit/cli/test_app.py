"""The command line without a sandbox: help, mistakes, and start-up cost."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli.app import run
from grader.model import wire
from tests.factories import make_report

COMMANDS = (
    *("grade", "check", "report", "explain", "try", "doctor", "images", "serve", "worker"),
    *("status", "formats", "config", "version"),
)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plain(text: str) -> str:
    """Return a help text as one line, without its frames."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = plain(capsys.readouterr().out)
    assert all(command in shown for command in COMMANDS)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_help_is_printed_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding=encoding))
    assert run(["grade", "--help"]) == 0
    assert "? 130: stopped with Ctrl-C" in plain(printed.getvalue().decode(encoding))


def test_worker_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "celery", None)
    assert run(["worker", "--broker", "redis://127.0.0.1:1/0"]) == 2
    assert "pip install 'grader-rl[worker]'" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert f"Usage: grader {command}" in plain(capsys.readouterr().out)


def test_help_of_grade_shows_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    run(["grade", "--help"])
    shown = plain(capsys.readouterr().out)
    assert "grader grade samples.jsonl -o graded.jsonl --problems problems.jsonl" in shown
    assert "[default: one per core]" in shown
    assert "130: stopped with Ctrl-C" in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["grad"], "No such command", id="command"),
        pytest.param(["grade"], "Missing argument", id="no samples"),
        pytest.param(["grade", "in.jsonl"], "Missing option", id="no out"),
        pytest.param(["grade", "in.jsonl", "-o", "o", "--slots", "0"], "--slots", id="no slot"),
        pytest.param(["grade", "in.jsonl", "-o", "o", "--sandbox", "vm"], "vm", id="sandbox"),
        pytest.param(["grade", "in.jsonl", "-o", "o"], "cannot read in.jsonl", id="no file"),
        pytest.param(
            ["grade", "-", "-o", "o", "--resume"], "standard input does not allow", id="stdin twice"
        ),
        pytest.param(
            ["grade", "-", "-o", "o", "--resume", "--force"], "choose one", id="resume and force"
        ),
        pytest.param(["grade", "-", "-o", "o", "--policy", "best"], "best", id="policy"),
        pytest.param(["grade", "-", "-o", "o", "--set", "x=1"], "no setting 'x'", id="setting"),
        pytest.param(["check", "absent.jsonl"], "absent.jsonl", id="no problems"),
        pytest.param(["formats", "nonsense"], "expected one of humaneval", id="format"),
    ],
)
def test_mistake_gets_a_message(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = plain(capsys.readouterr().err)
    assert problem in shown
    assert "Traceback" not in shown


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["grade", LONG, "-o", "out.jsonl"],
        ["grade", "in.jsonl", "-o", LONG],
        ["check", LONG],
        ["explain", LONG, "a"],
        ["report", LONG, "-o", "page.html"],
        ["report", "graded.jsonl", "-o", LONG],
        ["compare", LONG, "graded.jsonl"],
        ["export", "graded.jsonl", "-o", f"{LONG}.csv"],
        ["try", LONG, "in.jsonl"],
    ],
    ids=lambda arguments: " ".join(arguments).replace(LONG, "LONG"),
)
def test_path_that_cannot_be_asked_for_gets_a_message(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    report = json.loads(wire.report_json(make_report()))
    row = {"id": "a", "completion": "", "label": ["assert f()"]}
    Path("in.jsonl").write_text(json.dumps(row))
    Path("graded.jsonl").write_text(json.dumps({**row, "report": report}))
    assert run(arguments) == 2
    assert capsys.readouterr().err.endswith("File name too long\n")


def test_mistake_in_the_environment_gets_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADER_SLOT", "3")
    assert run(["config"]) == 2
    assert "did you mean GRADER_SLOTS?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["in.jsonl", "problems.jsonl"])
def test_output_that_is_an_input_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.jsonl").write_text('{"id": "a", "completion": "c"}\n')
    Path("problems.jsonl").write_text('{"id": "a", "tests": "assert 1"}\n')
    before = Path(name).read_bytes()
    arguments = ["grade", "in.jsonl", "--problems", "problems.jsonl", "-o", name, "--force"]
    assert run(arguments) == 2
    assert "which is read" in capsys.readouterr().err
    assert Path(name).read_bytes() == before


def test_config_says_where_values_come_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADER_LIMITS_CPU_TIME_S", "3")
    Path("grader.toml").write_text("slots = 5\n")
    assert run(["config"]) == 0
    shown = capsys.readouterr().out
    assert "limits.cpu_time_s = 3.0  (GRADER_LIMITS_CPU_TIME_S; seconds" in shown
    assert "slots = 5  (grader.toml; " in shown
    assert "retries = 2  (default; " in shown


def test_config_shows_no_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADER_BROKER", "redis://:s3cret@queue:6379/0")
    monkeypatch.setenv("GRADER_URL", "http://any:s3cret@host:8080")
    assert run(["config"]) == 0
    shown = capsys.readouterr().out
    assert "url = http://any:(set)@host:8080" in shown
    assert "s3cret" not in shown


def test_config_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["sandbox"] == "auto"
    assert values["limits.memory_bytes"] == 512 * 1024 * 1024


def test_every_format_is_listed_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    from grader.suites import FORMATS, parse_problem

    assert run(["formats"]) == 0
    shown = capsys.readouterr().out
    for form in FORMATS:
        assert f"{form.name}: {form.summary}" in shown
    assert run(["formats", "humaneval"]) == 0
    example = json.loads(capsys.readouterr().out)
    assert parse_problem(example).format == "humaneval"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == run(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("grader")


def test_starting_imports_only_what_every_command_needs(repo_dir: Path) -> None:
    code = "import sys, grader.cli.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=repo_dir
    )
    loaded = set(done.stdout.split())
    heavy = {
        "docker",
        "pydantic",
        "pyarrow",
        "requests",
        "rich",
        "grader.grading.grader",
        "grader.suites",
    }
    assert loaded & heavy == set()


@pytest.fixture
def anywhere(repo_dir: Path) -> dict[str, str]:
    """The environment in which `python -m grader` works in any folder."""
    return {**os.environ, "PYTHONPATH": str(repo_dir)}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["version"], id="buffered to the end"),
        pytest.param(["formats"], id="in parts"),
        pytest.param(["explain", "graded.jsonl", "a"], id="by rich"),
    ],
)
def test_full_standard_output_gets_a_message(
    arguments: list[str], anywhere: dict[str, str]
) -> None:
    report = json.loads(wire.report_json(make_report()))
    Path("graded.jsonl").write_text(json.dumps({"id": "a", "completion": "", "report": report}))
    command = [sys.executable, "-m", "grader", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=anywhere)
    assert done.stderr == "error: cannot write standard output: No space left on device\n"
    assert done.returncode == 3


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "grader.cli.grading":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from grader.cli import main
main()
"""


def test_interrupt_before_a_command_begins_ends_in_silence(anywhere: dict[str, str]) -> None:
    command = [sys.executable, "-c", INTERRUPTED, "version"]
    done = subprocess.run(command, capture_output=True, text=True, env=anywhere)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_reader_that_leaves_ends_the_command_in_silence(anywhere: dict[str, str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "grader", "version"]
    done = subprocess.run(
        command, stdout=write_end, stderr=subprocess.PIPE, text=True, env=anywhere
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("rows", "closed"),
    [
        ("empty.jsonl", "<&-"),
        ("-", "<&-"),
        ("empty.jsonl", ">&-"),
        ("empty.jsonl", "2>&-"),
        ("empty.jsonl", "<&- >&- 2>&-"),
    ],
)
def test_closed_streams_do_no_harm(rows: str, closed: str, anywhere: dict[str, str]) -> None:
    Path("empty.jsonl").touch()
    grade = f"{sys.executable} -m grader grade {rows} -o out.jsonl --sandbox native"
    done = subprocess.run(["/bin/sh", "-c", f"{grade} {closed}"], env=anywhere)
    assert done.returncode == 3
    assert not Path("out.jsonl").exists()


def test_rows_are_not_lost_in_a_closed_standard_output(anywhere: dict[str, str]) -> None:
    Path("row.jsonl").write_text(
        '{"completion": "print(1)", "label": {"inputs": [""], "outputs": ["1"]}}\n'
    )
    grade = f"{sys.executable} -m grader grade row.jsonl -o - --sandbox native >&-"
    done = subprocess.run(["/bin/sh", "-c", grade], env=anywhere, capture_output=True, text=True)
    assert done.returncode == 3
    assert "cannot write -: Bad file descriptor" in done.stderr
