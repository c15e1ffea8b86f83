"""A run as a table, and as figures for experiment trackers."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run
from grader.model import Usage
from grader.model.verdict import LimitKind, Suspicion, Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.export import COLUMNS
from grader.report.index import GradedFile
from grader.report.trackers import figures_of
from grader.report.trends import MOMENTS, trends_of
from tests.factories import make_report

HOSTILE = "=HYPERLINK(1)\ud800"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    limit = make_report(
        Verdict.TIME_LIMIT,
        limit_hit=LimitKind.CPU_TIME,
        suspicion=(Suspicion.TWIN, Suspicion.NETWORK),
        feedback=HOSTILE,
        usage=Usage(cpu_time_s=10.5, peak_memory_bytes=1024),
    )
    samples = [
        RecordedSample(
            id="-p", prompt="", completion="+1", report=limit, at=5.0, step=40, queue_s=0.5
        ),
        RecordedSample(
            id="q",
            prompt="",
            completion="x\n,y",
            report=make_report(Verdict.INTERNAL_ERROR),
            at=6.5,
            step=41,
            dataset="mbpp",
        ),
    ]
    with SampleRecorder(tmp_path / "run", 1 << 30) as recorder:
        recorder.write(samples)
    return tmp_path / "run"


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_parquet(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("name", "read"),
    [("t.jsonl", read_jsonl), ("t.parquet", read_parquet)],
    ids=["jsonl", "parquet"],
)
def test_table_has_typed_cells_for_every_sample(
    folder: Path, tmp_path: Path, name: str, read: Any
) -> None:
    out = tmp_path / name
    assert run(["export", str(folder), "-o", str(out), "--texts"]) == 0
    one, two = read(out)
    assert list(one) == [*COLUMNS, "completion", "code"]
    assert (one["step"], one["at"], one["queue_s"]) == (40, 5.0, 0.5)
    assert (one["problem"], one["verdict"], one["limit_hit"]) == ("-p", "time_limit", "cpu_time")
    assert (one["suspicion"], one["hack"]) == ("twin network", True)
    assert one["family"] == "forging results, probing the sandbox"
    assert (one["cpu_time_s"], one["peak_memory_bytes"]) == (10.5, 1024)
    assert (one["reward"], one["completion"]) == (-1.0, "+1")
    assert (two["reward"], two["graded"], two["queue_s"]) == (None, False, None)
    assert (two["dataset"], two["completion"]) == ("mbpp", "x\n,y")


def test_csv_has_no_cell_that_a_spreadsheet_runs(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    assert run(["export", str(folder), "-o", str(out), "--texts"]) == 0
    one, two = read_csv(out)
    assert list(one) == [*COLUMNS, "completion", "code"]
    assert (one["name"], one["completion"], one["reward"]) == ("'-p", "'+1", "-1.0")
    assert one["feedback"].startswith("'=HYPERLINK(1)")
    assert (two["reward"], two["completion"]) == ("", "x\n,y")


def test_table_replaces_nothing_and_has_a_known_ending(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.csv"
    out.touch()
    assert run(["export", str(folder), "-o", str(out)]) == 2
    assert run(["export", str(folder), "-o", str(out), "--force"]) == 0
    assert list(read_csv(out)[0]) == list(COLUMNS)
    assert run(["export", str(folder), "-o", str(tmp_path / "t.xlsx")]) == 2
    assert "ends with .xlsx; expected .csv or .parquet or .jsonl" in capsys.readouterr().err
    assert run(["export", str(folder), "-o", str(tmp_path / "no" / "t.csv")]) == 2
    assert run(["export", str(folder)]) == 2


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("t.csv", 3, "cannot write {}/t.csv: "),
        ("t.parquet", 3, "cannot write {}/t.parquet: "),
        ("gzipped.csv", 2, "temporary directory"),
    ],
)
def test_disk_without_room_leaves_no_file(
    folder: Path, tmp_path: Path, name: str, code: int, message: str
) -> None:
    pytest.importorskip("pyarrow")
    run_file = tmp_path / "run.jsonl"
    (recorded,) = folder.iterdir()
    rows = gzip.decompress(recorded.read_bytes())
    run_file.write_bytes(gzip.compress(rows) if name.startswith("gzipped") else rows)
    before = sorted(tmp_path.iterdir())
    export = [sys.executable, "-m", "grader", "export", str(run_file), "-o", str(tmp_path / name)]
    # No file may have a byte, as on a disk without room.
    command = ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *export]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert message.format(tmp_path) in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_trackers_get_the_means_of_every_step(tmp_path: Path) -> None:
    steps = range(0, 4 * MOMENTS, 2)
    with SampleRecorder(tmp_path, 1 << 30) as recorder:
        for step in steps:
            report = make_report(Verdict.PASSED if step else Verdict.INTERNAL_ERROR)
            recorder.write(
                [RecordedSample(id="p", prompt="", completion="", report=report, at=1.0, step=step)]
            )
    trends = trends_of(GradedFile(tmp_path).entries, every_step=True)
    assert trends is not None
    found = dict(figures_of(trends))
    assert list(found) == list(steps)
    assert found[2]["grader/reward"] == 1.0
    assert found[2]["grader/verdict_passed"] == 1.0
    assert found[0]["grader/verdict_internal_error"] == 1.0
    # What is not known is no figure.
    assert "grader/reward" not in found[0]
    assert "grader/queue_time_s" not in found[2]


@pytest.mark.parametrize("tracker", ["wandb", "mlflow", "tensorboard"])
def test_tracker_that_is_not_installed_says_what_to_install(
    folder: Path,
    tracker: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    module = {"tensorboard": "tensorboard.summary"}.get(tracker, tracker)
    monkeypatch.setitem(sys.modules, module, None)
    assert run(["export", str(folder), "--to", tracker, "-o", str(tmp_path / "logs")]) == 2
    assert f"pip install 'grader-rl[{tracker}]'" in capsys.readouterr().err
