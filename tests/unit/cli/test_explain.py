"""`grader explain`: finds the row, and prints a hostile row inertly."""

import gzip
from pathlib import Path

import pytest

from grader.cli.app import run
from grader.model import CaseResult, Evidence, GradeReport, Usage
from grader.model.verdict import Verdict
from grader.report.index import GradedFile
from tests.factories import make_report
from tests.graded import Row, write_graded

WRONG = make_report(
    Verdict.FAILED,
    usage=Usage(cpu_time_s=0.5),
    cases=(
        CaseResult(
            id="a",
            verdict=Verdict.FAILED,
            feedback="line 1 differs",
            evidence=Evidence(input="given\n", expected="same\nright\n", got="same\nwrong\n"),
        ),
    ),
)


def write(folder: Path, *rows: tuple[str, str, GradeReport]) -> Path:
    return write_graded(
        folder / "out.jsonl",
        (Row(id=id, completion=completion, report=report) for id, completion, report in rows),
    )


def test_explain_shows_everything_about_a_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, ("p/1", "Sure:\nx = 1", WRONG), ("p/2", "", make_report()))
    assert run(["explain", str(file), "p/1"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "WA Wrong answer",
        "reward -1",
        "Sure:",
        "def add(a, b):",
        "line 1 differs",
        "given",
        "- right",
        "+ wrong",
        "CPU time",
        "Being right in its one case would have earned +1.",
    ):
        assert words in printed


def test_explain_shows_hostile_text_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b]0;owned\x07[bold red]\x1b[2J\u202e:smile:\r"
    report = make_report(
        Verdict.FAILED,
        feedback=hostile,
        code=hostile,
        policy=hostile,
        cases=(
            CaseResult(
                id=hostile,
                verdict=Verdict.FAILED,
                feedback=hostile,
                group=hostile,
                evidence=Evidence(
                    input=hostile,
                    expected=hostile,
                    got=f"x{hostile}",
                    stdout=hostile,
                    stderr=hostile,
                    traceback=hostile,
                ),
            ),
        ),
    )
    file = write(tmp_path, (hostile, f"{hostile}\u2066", report))
    assert run(["explain", str(file), "@1", "--all"]) == 0
    printed = capsys.readouterr().out
    assert not set(printed) & set("\x1b\x07\u202e\ud800\r")
    assert printed.count("␛]0;owned␇[bold red]␛[2J⟨U+202E⟩:smile:␍") > 5
    assert "⟨U+2066⟩" in printed


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        pytest.param("p/3", "no row with the id 'p/3'; there are, for example: p/", id="none"),
        pytest.param("p/1", "2 rows have the id 'p/1'; name one by its line: @1, @2", id="several"),
        pytest.param("@9", "no row on line 9; its last row is @3", id="no such line"),
    ],
)
def test_explain_says_which_rows_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], id: str, problem: str
) -> None:
    rows = [("p/1", "", make_report()), ("p/1", "", WRONG), ("p/2", "", WRONG)]
    assert run(["explain", str(write(tmp_path, *rows)), id]) == 2
    assert problem in capsys.readouterr().err


def test_malformed_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, ("p/1", "", make_report()))
    file.write_text(file.read_text() + "broken\n")
    assert run(["explain", str(file), "p/1"]) == 2
    assert "line 2 was not written by `grader grade`: not JSON" in capsys.readouterr().err


def test_explain_counts_the_rows_of_a_folder_as_a_report_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        write(folder, (f"{name}/1", "x", WRONG), (f"{name}/2", "y", make_report()))
        (folder / "out.jsonl").rename(tmp_path / f"{name}.jsonl")
        folder.rmdir()
    packed = gzip.compress((tmp_path / "b.jsonl").read_bytes())
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "b.jsonl.gz").write_bytes(packed[:-8])  # As of a process that was killed.
    assert [each.line for each in GradedFile(tmp_path).entries] == [1, 2, 3, 4]
    for sample in ("b/1", "@3"):
        assert run(["explain", str(tmp_path), sample]) == 0
        assert "b/1" in capsys.readouterr().out
    assert run(["explain", str(tmp_path), "@5"]) == 2
    assert "its last row is @4" in capsys.readouterr().err
