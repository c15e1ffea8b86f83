"""The summary of a graded file, and its differences from another."""

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.model import Conditions, LimitOverrides, Limits, Usage
from grader.model.errors import InputError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import LimitKind, Suspicion, Verdict
from grader.report.batch import Batch, batch_of
from grader.report.flips import NOTHING, ONLY_A_LIMIT, Flips, flips_of
from grader.report.index import GradedFile
from tests.factories import make_report
from tests.graded import Row, write_graded

AC, WA, IE, TLE = Verdict.PASSED, Verdict.FAILED, Verdict.INTERNAL_ERROR, Verdict.TIME_LIMIT


def conditions(**changes: Any) -> Conditions:
    values: dict[str, Any] = {
        "format": "asserts",
        "image": "python",
        "extraction": ExtractionRule.AUTO,
        "extraction_note": "Took block 1 of 1.",
        "limits": Limits(),
    }
    return Conditions(**{**values, **changes})


def batch(folder: Path, *rows: Row) -> Batch:
    return batch_of(GradedFile(write_graded(folder / "a.jsonl", rows)).entries)


def test_counts_and_means_leave_out_ungraded_samples(tmp_path: Path) -> None:
    found = batch(
        tmp_path,
        Row(report=make_report(AC)),
        Row(report=make_report(WA)),
        Row(report=make_report(IE, feedback="SandboxUnavailableError: slot 3 broke")),
        Row(report=make_report(IE, feedback="SandboxUnavailableError: slot 12 broke")),
    )
    assert (found.samples, found.graded, found.passed) == (4, 2, 1)
    assert (found.mean_reward, found.mean_score) == (0.0, 0.5)
    assert found.verdicts == ((AC, 1), (WA, 1), (IE, 2))
    assert [(bin.label, bin.count) for bin in found.rewards] == [("-1", 1), ("1", 1)]
    ((cause),) = found.causes
    assert (cause.words, cause.count) == ("SandboxUnavailableError: slot … broke", 2)


def test_problems_have_pass_at_k_and_come_worst_first(tmp_path: Path) -> None:
    found = batch(
        tmp_path,
        *(
            Row(report=make_report(v, code=f"x{n}"), problem="p")
            for n, v in enumerate((AC, AC, WA))
        ),
        *(Row(report=make_report(WA, code=f"y{n}"), problem="q") for n in range(2)),
    )
    assert [(problem.id, problem.passed) for problem in found.problems] == [("q", 0), ("p", 2)]
    assert [(point.k, round(point.value, 3)) for point in found.pass_at] == [(1, 0.333), (2, 0.5)]
    assert found.problems[1].pass_at[1] == 1.0
    assert found.flaky == ()


def test_suite_that_judges_equal_code_differently_is_flaky(tmp_path: Path) -> None:
    found = batch(
        tmp_path,
        Row(report=make_report(AC), problem="p"),
        Row(report=make_report(WA), problem="p"),
        Row(report=make_report(IE, feedback="SuiteError: no case"), problem="q"),
    )
    assert [problem.id for problem in found.flaky] == ["p"]
    assert [problem.id for problem in found.broken] == ["q"]


def test_shares_of_limits_mark_samples_that_hit_one(tmp_path: Path) -> None:
    reports = [
        make_report(verdict, usage=Usage(cpu_time_s=cpu), conditions=conditions())
        for verdict, cpu in ((AC, 0.5), (AC, 9.99), (TLE, 10.02))
    ]
    found = batch(tmp_path, *(Row(report=report) for report in reports))
    counts = {bin.label: bin.count for bin in found.cpu_shares if bin.count}
    assert counts == {"0": 1, "90": 1, "hit": 1}
    assert found.slowest[0].verdict is TLE
    assert found.memory_shares == ()


def test_suspicion_is_counted_by_sign(tmp_path: Path) -> None:
    report = make_report(WA, suspicion=(Suspicion.NETWORK,))
    found = batch(tmp_path, Row(report=make_report(AC), id="a"), Row(report=report, id="b"))
    assert [(sign, n, first.name) for sign, n, first in found.suspicion] == [
        (Suspicion.NETWORK, 1, "b")
    ]


# ---------------------------------------------------------------- the index


def test_rows_are_read_again_by_their_place(tmp_path: Path) -> None:
    rows = [Row(id=f"é{n}", completion="y" * n, report=make_report(AC)) for n in range(20)]
    file = GradedFile(write_graded(tmp_path / "a.jsonl", rows))
    assert [file.read(entry).name for entry in file.entries] == [row.id for row in rows]


def test_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = write_graded(tmp_path / "a.jsonl", [Row(report=make_report(AC))] * 2)
    path.write_bytes(path.read_bytes()[:-30])
    assert len(GradedFile(path).entries) == 1


def test_changed_file_is_not_shown(tmp_path: Path) -> None:
    path = write_graded(tmp_path / "a.jsonl", [Row(id="a", report=make_report(AC))])
    file = GradedFile(path)
    write_graded(path, [Row(id="b", report=make_report(AC))])
    with pytest.raises(InputError, match="has changed since"):
        file.read(file.entries[0])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "no graded row", id="empty"),
        pytest.param(b'{"id": 1}\n', r"a\.jsonl: line 1 was not written by", id="not graded"),
        pytest.param(b"\x1f\x8b...", "is damaged", id="gzip"),
        pytest.param(b"PAR1...", "is a Parquet file", id="parquet"),
    ],
)
def test_file_of_something_else_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        GradedFile(path)


# ---------------------------------------------------------------- two files


def flips(folder: Path, here: list[Row], there: list[Row]) -> Flips:
    files = [
        GradedFile(write_graded(folder / name, rows))
        for name, rows in (("here.jsonl", here), ("there.jsonl", there))
    ]
    return flips_of(files[0].entries, files[1].entries, "there.jsonl")


@pytest.mark.parametrize(
    ("here", "there", "reason"),
    [
        pytest.param({}, {}, NOTHING, id="nothing"),
        pytest.param({"code": "y = 2"}, {}, "the extracted code", id="code"),
        pytest.param(
            {"conditions": conditions(limits=Limits().override(LimitOverrides(cpu_time_s=1.0)))},
            {"conditions": conditions()},
            "the limit cpu_time_s (10 → 1)",
            id="limits",
        ),
        pytest.param(
            {"conditions": conditions(image="science")},
            {"conditions": conditions()},
            "the image (python → science)",
            id="image",
        ),
        pytest.param(
            {"conditions": conditions(extraction=ExtractionRule.LAST_BLOCK)},
            {"conditions": conditions()},
            "the extraction rule (auto → last_block)",
            id="extraction",
        ),
        pytest.param(
            {"limit_hit": LimitKind.CPU_TIME, "conditions": conditions()},
            {"conditions": conditions()},
            ONLY_A_LIMIT,
            id="limit hit",
        ),
    ],
)
def test_flip_names_the_other_differences(
    tmp_path: Path, here: dict[str, Any], there: dict[str, Any], reason: str
) -> None:
    found = flips(
        tmp_path,
        [Row(report=make_report(WA, **here))],
        [Row(report=make_report(AC, **there))],
    )
    assert (found.changed, found.gained, found.lost) == (1, 0, 1)
    assert found.found[1].reasons == (reason,)


def test_samples_of_one_name_are_paired_by_the_rows_they_came_from(tmp_path: Path) -> None:
    """Rows are written in the order in which they finish, not in the order of the input."""
    first, second = make_report(AC), make_report(WA)
    found = flips(
        tmp_path,
        [Row(report=first, line=1), Row(report=second, line=2)],
        [Row(report=second, line=2), Row(report=first, line=1)],
    )
    assert (found.common, found.changed) == (2, 0)


def test_samples_of_one_name_are_paired_in_order(tmp_path: Path) -> None:
    passed, failed = Row(report=make_report(AC)), Row(report=make_report(WA))
    found = flips(tmp_path, [passed, failed, passed], [passed, passed])
    assert (found.common, found.changed, found.only_new, found.only_old) == (2, 1, 1, 0)
    assert set(found.found) == {2}


def test_folder_is_read_as_one_run_and_read_on_while_it_grows(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write_graded(folder / "step-20.jsonl", [Row(id="a", report=make_report(WA))])
    zipped = write_graded(tmp_path / "b.jsonl", [Row(id="b", report=make_report())] * 2)
    (folder / "step-40.jsonl.gz").write_bytes(gzip.compress(zipped.read_bytes()))
    (folder / "notes.txt").write_text("not rows")
    found = GradedFile(folder)
    assert [(e.line, e.name, e.step) for e in found.entries] == [
        (1, "a", 20),
        (2, "b", 40),
        (3, "b", 40),
    ]
    assert not found.read_on()
    with (folder / "step-20.jsonl").open("ab") as file:
        file.write(zipped.read_bytes())
    with (folder / "step-40.jsonl.gz").open("ab") as file:
        file.write(gzip.compress(zipped.read_bytes()))
    write_graded(folder / "step-60.jsonl", [Row(id="c", report=make_report())])
    assert found.read_on()
    assert [e.step for e in found.entries] == [20, 40, 40, 20, 20, 40, 40, 60]
    assert [found.read(e).name for e in found.entries] == ["a", "b", "b", "b", "b", "b", "b", "c"]


def test_row_of_a_folder_that_cannot_be_read_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(InputError, match=r"odd\.jsonl: line 1 was not written by"):
        GradedFile(tmp_path)
    (tmp_path / "odd.jsonl").unlink()
    with pytest.raises(InputError, match=r"holds 0 files"):
        GradedFile(tmp_path)


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_graded(tmp_path / "a.jsonl", [Row(id="a", report=make_report())])
    packed = gzip.compress(file.read_bytes())
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed)))
    monkeypatch.setattr(sys, "stdin", given)
    found = GradedFile(Path("-"))
    assert found.read(found.entries[0]).completion == "x = 1"
    odd = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"id": 1}\n')))
    monkeypatch.setattr(sys, "stdin", odd)
    with pytest.raises(InputError, match="standard input: line 1 was not written by"):
        GradedFile(Path("-"))
