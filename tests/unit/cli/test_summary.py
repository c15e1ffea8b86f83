import pytest

from grader.cli import progress
from grader.cli.summary import print_summary
from grader.model import Usage
from grader.model.verdict import LimitKind, Verdict
from grader.scoring.statistics import RunningSummary
from tests.factories import make_report


def shown(running: RunningSummary, capsys: pytest.CaptureFixture[str], **options: int) -> list[str]:
    given = {"earlier": 0, "elapsed_s": 2, **options}
    print_summary(running.summary(), err=False, **given)
    return capsys.readouterr().out.splitlines()


def test_summary_counts_verdicts_and_rates(capsys: pytest.CaptureFixture[str]) -> None:
    running = RunningSummary()
    for number in range(4):
        verdict = Verdict.PASSED if number else Verdict.FAILED
        report = make_report(verdict, usage=Usage(cpu_time_s=number / 10))
        running.add(report, id=f"row-{number}", problem_id=f"p{number // 2}")
    lines = shown(running, capsys)
    assert lines[0].split() == ["AC", "passed", "3", "75.0", "%"]
    assert lines[1].split() == ["WA", "failed", "1", "25.0", "%"]
    assert "rows: 4 in 2.0 s (2.0/s)" in lines
    assert "pass rate: 75.0 %" in lines
    assert "pass@1: 75.0 %  (2 problems)" in lines
    assert "pass@2: 100.0 %  (2 problems)" in lines
    assert "slowest: row-3: 0.30 s CPU, passed" in lines


def test_summary_says_what_limits_cost(capsys: pytest.CaptureFixture[str]) -> None:
    running = RunningSummary()
    running.add(make_report(usage=Usage(cpu_time_s=1.0)), id="a")
    assert "CPU time: 1.0 s in all submissions together" in shown(running, capsys)
    report = make_report(
        Verdict.TIME_LIMIT, usage=Usage(cpu_time_s=3.0), limit_hit=LimitKind.CPU_TIME
    )
    running.add(report, id="b")
    line = "CPU time: 4.0 s in all submissions together, 75 % of it in those that reached a limit"
    assert line in shown(running, capsys)


def test_single_samples_have_no_pass_at(capsys: pytest.CaptureFixture[str]) -> None:
    running = RunningSummary()
    running.add(make_report(), id="a", problem_id="a")
    assert not any(line.startswith("pass@") for line in shown(running, capsys))


def test_rows_of_an_earlier_run_do_not_count_as_speed(capsys: pytest.CaptureFixture[str]) -> None:
    running = RunningSummary()
    for number in range(5):
        running.add(make_report(), id=str(number))
    assert "rows: 1 in 2.0 s (0.5/s), 4 more before" in shown(running, capsys, earlier=4)


def test_rows_that_were_not_graded_are_named_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    running = RunningSummary()
    report = make_report(
        Verdict.INTERNAL_ERROR, feedback="row 3: no\ncompletion\x1b[2J" + "x" * 500
    )
    running.add(report, id="\x1b[31mrow")
    text = "\n".join(shown(running, capsys))
    assert "not graded: 1 of 1 row: our errors or bad rows" in text
    assert "␛[31mrow: row 3: no completion" in text
    assert "\x1b" not in text
    assert "x" * 200 not in text


def test_plain_progress_counts_one_thing_in_the_singular(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PLAIN_INTERVAL_S", 0.0)
    plain = progress.PlainProgress("problem", "ok")
    for _ in range(2):
        plain.advance(behind=None, good=True)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("1 problem, ")
    assert second.startswith("2 problems, ")


def test_plain_progress_is_silent_for_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    plain = progress.PlainProgress("row", "passed")
    with plain.shown():
        for number in range(1000):
            plain.advance(behind=number / 1000, good=True)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
