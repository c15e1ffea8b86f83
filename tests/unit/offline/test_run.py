"""Grading rows and resuming, with a grader that runs nothing."""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.rewards import ConversationSettings, MathSettings, RewardTask
from grader.config.settings import Settings
from grader.model import GradeReport, LimitOverrides, Limits
from grader.model.errors import ConfigurationError, InputError
from grader.offline.finder import SuiteFinder
from grader.offline.output import Output
from grader.offline.resume import DoneRow, continue_output, run_key
from grader.offline.rows import RowRules, RowSample
from grader.offline.run import grade_rows
from grader.offline.source import Row, open_rows
from tests.unit.offline.scripted import ScriptedGrader, ScriptedRater

LABEL = ["assert add(1, 2) == 3"]
SETTINGS = Settings(slots=1)


def key_of(settings: Settings = SETTINGS, **changes: Any) -> str:
    given: dict[str, Any] = {"limits": LimitOverrides(), "completion_key": None, "problems": None}
    return run_key(settings, **{**given, **changes})


def run(
    samples: Path,
    out: Path,
    grader: ScriptedGrader,
    *,
    resume: bool = False,
    retry_ungraded: bool = False,
    key: str = "",
) -> list[str]:
    """Grade a file as the command does; return what an observer sees."""
    key = key or key_of()
    seen: list[str] = []

    def before(row: DoneRow) -> None:
        seen.append(f"{row.id} {row.report.verdict}")

    def now(sample: RowSample, report: GradeReport) -> None:
        seen.append(f"{sample.id} {report.verdict}")

    rows = open_rows(samples)
    with Output(out, resume=resume) as output:
        done = (
            continue_output(output, rows, key, before, retry_ungraded=retry_ungraded)
            if resume
            else None
        )
        grade_rows(
            rows,
            grader=grader,
            rater=ScriptedRater(),
            finder=SuiteFinder(),
            rules=RowRules(run=key),
            policy="graded",
            write=output.write,
            observe=now,
            done=done,
        )
    return seen


def write_rows(path: Path, rows: list[Any]) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def places(path: Path) -> Counter[tuple[int, int | None]]:
    origins = [row["_grader"] for row in read_rows(path)]
    return Counter((origin["line"], origin.get("sample")) for origin in origins)


def some_rows(count: int) -> list[Any]:
    return [{"id": f"r{number}", "completion": "passed", "label": LABEL} for number in range(count)]


MIXED: list[Any] = [
    *some_rows(3),
    "not json",
    {"id": "many", "completion": ["passed", "failed", "passed"], "label": LABEL},
    {"id": "no label", "completion": "c"},
    "",
    {"id": "late", "completion": "failed", "label": LABEL},
    {"id": "more", "completion": ["failed", "passed"], "label": LABEL},
    {"id": "error", "completion": "internal_error", "label": LABEL},
    {"id": "sum", "completion": ["failed", "passed"], "label": {"math": "42"}},
]
MIXED_PLACES = {
    (1, None), (2, None), (3, None), (4, None), (5, 0), (5, 1), (5, 2), (6, None), (8, None),
    (9, 0), (9, 1), (10, None), (11, 0), (11, 1),
}  # fmt: skip


def test_every_row_is_written_with_its_own_report(tmp_path: Path) -> None:
    samples = write_rows(tmp_path / "in", MIXED)
    seen = run(samples, tmp_path / "out", ScriptedGrader())
    assert places(tmp_path / "out") == Counter(MIXED_PLACES)
    for row in read_rows(tmp_path / "out"):
        expected = (
            row["completion"] if row.get("id") not in (None, "no label") else "internal_error"
        )
        assert row["report"]["verdict"] == expected
    assert Counter(seen)["many passed"] == 2


def test_damaged_input_is_told_after_its_rows_were_graded(tmp_path: Path) -> None:
    samples = tmp_path / "in.gz"
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in some_rows(5000))
    whole = gzip.compress(lines)
    samples.write_bytes(whole[: len(whole) - 100])
    with pytest.raises(InputError, match="is damaged after line"):
        run(samples, tmp_path / "out", ScriptedGrader())
    assert len(read_rows(tmp_path / "out")) > 1000


@pytest.mark.parametrize("stop_after", range(10))
def test_stopped_run_is_resumed_without_losing_or_repeating_a_row(
    tmp_path: Path, stop_after: int
) -> None:
    samples, out = write_rows(tmp_path / "in", MIXED), tmp_path / "out"
    first = ScriptedGrader(stop_after=stop_after)
    with pytest.raises(KeyboardInterrupt):
        run(samples, out, first)
    second = ScriptedGrader()
    seen = run(samples, out, second, resume=True)
    assert places(out) == Counter(MIXED_PLACES)
    assert len(seen) == len(MIXED_PLACES)
    assert len(first.graded) + len(second.graded) == 10


def test_run_cut_at_any_byte_is_resumed(tmp_path: Path) -> None:
    samples, out = write_rows(tmp_path / "in", MIXED), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    whole = out.read_bytes()
    cuts = random.Random(1).sample(range(len(whole)), 25)  # noqa: S311 - places to cut
    for cut in cuts:
        out.write_bytes(whole[:cut])
        run(samples, out, ScriptedGrader(), resume=True)
        assert places(out) == Counter(MIXED_PLACES), cut


def test_finished_run_is_resumed_without_grading(tmp_path: Path) -> None:
    samples, out = write_rows(tmp_path / "in", MIXED), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    before = out.read_bytes()
    grader = ScriptedGrader()
    run(samples, out, grader, resume=True)
    assert grader.graded == []
    assert out.read_bytes() == before


def test_longer_input_is_continued(tmp_path: Path) -> None:
    samples, out = write_rows(tmp_path / "in", some_rows(5)), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    write_rows(samples, some_rows(8))
    run(samples, out, ScriptedGrader(), resume=True)
    assert places(out) == Counter({(number, None) for number in range(1, 9)})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(lambda rows: [rows[1], rows[0], *rows[2:]], "row 1 differs", id="order"),
        pytest.param(
            lambda rows: rows[:3], "it holds row 5, and the input ends at 3", id="shorter"
        ),
        pytest.param(lambda _rows: [], "the input ends at 0", id="empty"),
    ],
)
def test_output_of_another_input_is_refused(
    tmp_path: Path, change: Callable[[list[Any]], list[Any]], problem: str
) -> None:
    samples, out = write_rows(tmp_path / "in", some_rows(5)), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    before = out.read_bytes()
    write_rows(samples, change(some_rows(5)))
    with pytest.raises(ConfigurationError, match=problem):
        run(samples, out, ScriptedGrader(), resume=True)
    assert out.read_bytes() == before


@pytest.mark.parametrize("missing", ["completion", "label"])
def test_fields_that_are_null_in_the_first_rows_do_not_stop_the_rest(
    tmp_path: Path, missing: str
) -> None:
    rows = [{"id": "null", "completion": "x", "label": LABEL, missing: None}] * 12
    samples, out = write_rows(tmp_path / "in", [*rows, *some_rows(2)]), tmp_path / "out"
    grader = ScriptedGrader()
    run(samples, out, grader)
    assert len(read_rows(out)) == 14
    assert len(grader.graded) == 2
    null = next(row for row in read_rows(out) if row["id"] == "null")
    assert f"the field {missing} is null" in null["report"]["feedback"]


LOST = {"id": "lost", "completion": "no tests", "label": {"what": 1}}
GOOD = {"id": "lost", "completion": "x", "label": LABEL}
SEVERAL = {"id": "lost", "completion": ["x", "y"], "label": LABEL}


@pytest.mark.parametrize(
    ("corrected", "expected"),
    [
        pytest.param(GOOD, [None], id="one completion"),
        pytest.param(SEVERAL, [0, 1], id="several"),
        pytest.param({**LOST, "label": {"where": 1}}, [None], id="still wrong"),
    ],
)
def test_corrected_row_is_graded_again(
    tmp_path: Path, corrected: dict[str, Any], expected: list[int | None]
) -> None:
    samples, out = write_rows(tmp_path / "in", [*some_rows(2), LOST]), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    kept = [line for line in out.read_bytes().splitlines() if b"no tests" not in line]
    write_rows(samples, [*some_rows(2), corrected])
    grader = ScriptedGrader()
    seen = run(samples, out, grader, resume=True)
    assert len(seen) == 2 + len(expected)
    assert places(out) == Counter([(1, None), (2, None), *((3, each) for each in expected)])
    assert out.read_bytes().splitlines()[:2] == kept
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_ungraded_rows_are_graded_again_on_request_also_with_other_settings(
    tmp_path: Path,
) -> None:
    samples, out = write_rows(tmp_path / "in", [LOST, LOST]), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    other = key_of(replace(SETTINGS, policy="binary"))
    with pytest.raises(ConfigurationError, match="other settings: policy changed"):
        run(samples, out, ScriptedGrader(), resume=True, key=other)
    run(samples, out, ScriptedGrader(), resume=True, retry_ungraded=True, key=other)
    assert [row["_grader"]["run"] for row in read_rows(out)] == [other, other]


def test_only_lost_samples_of_a_row_are_graded_again(tmp_path: Path) -> None:
    samples, out = write_rows(tmp_path / "in", [SEVERAL]), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    first, second = read_rows(out)
    second["report"] |= {"verdict": "internal_error", "graded": False}
    write_rows(out, [first, second])
    grader = ScriptedGrader()
    run(samples, out, grader, resume=True)
    assert grader.graded == []
    run(samples, out, grader, resume=True, retry_ungraded=True)
    assert len(grader.graded) == 1
    assert places(out) == Counter([(1, 0), (1, 1)])
    write_rows(samples, [{**SEVERAL, "prompt": "another"}])
    with pytest.raises(ConfigurationError, match="row 1 differs"):
        run(samples, out, grader, resume=True, retry_ungraded=True)


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        pytest.param(key_of(replace(SETTINGS, policy="binary")), "policy", id="policy"),
        pytest.param(
            key_of(replace(SETTINGS, limits=Limits(cpu_time_s=1.0))), "limits", id="limits"
        ),
        pytest.param(key_of(limits=LimitOverrides(processes=3)), "limits", id="--set"),
        pytest.param(
            key_of(replace(SETTINGS, policy="ladder", stop_early=True)),
            "policy and stop early",
            id="two",
        ),
        pytest.param(key_of(completion_key="text"), "completion key", id="completion key"),
        pytest.param(key_of(problems=Path(__file__)), "problems", id="problems"),
        pytest.param(key_of(replace(SETTINGS, task=RewardTask.MATH)), "task", id="task"),
        pytest.param(key_of(label_key="answer"), "label key", id="label key"),
        pytest.param(
            key_of(replace(SETTINGS, math=MathSettings(wrong=-1))),
            "how answers and conversations are graded",
            id="math",
        ),
    ],
)
def test_output_of_other_settings_is_refused(tmp_path: Path, key: str, changed: str) -> None:
    samples, out = write_rows(tmp_path / "in", some_rows(3)), tmp_path / "out"
    run(samples, out, ScriptedGrader())
    with pytest.raises(ConfigurationError, match=f"other settings: {changed} changed"):
        run(samples, out, ScriptedGrader(), resume=True, key=key)


def test_changed_file_of_an_own_policy_is_another_policy(tmp_path: Path) -> None:
    file = tmp_path / "my_policy.py"
    settings = replace(SETTINGS, policy=f"{file}:reward")
    file.write_text("reward = max")
    before = key_of(settings)
    assert key_of(settings) == before
    file.write_text("reward = min")
    assert key_of(settings) != before


def test_where_and_how_much_at_once_may_change_between_runs() -> None:
    changed = replace(
        SETTINGS,
        slots=9,
        retries=0,
        math=MathSettings(processes=9),
        conversation=ConversationSettings(device="cuda", batch=64),
    )
    assert key_of(changed) == key_of()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"id": 1}', id="not graded"),
        pytest.param("text", id="not json"),
        pytest.param('{"report": {"verdict": "won"}, "_grader": {"line": 1}}', id="other report"),
    ],
)
def test_file_that_grade_did_not_write_is_refused(tmp_path: Path, line: str) -> None:
    samples, out = write_rows(tmp_path / "in", some_rows(3)), tmp_path / "out"
    out.write_text(f"{line}\n")
    with pytest.raises(ConfigurationError, match=r"line 1 of .* was not written by"):
        run(samples, out, ScriptedGrader(), resume=True)
    assert out.read_text() == f"{line}\n"


def test_rows_are_pulled_only_as_they_are_graded(tmp_path: Path) -> None:
    pulled: list[int] = []
    rows = open_rows(write_rows(tmp_path / "in", some_rows(100)))

    def counted() -> Iterator[Row]:
        for row in rows:
            pulled.append(row.number)
            yield row

    with Output(tmp_path / "out") as output, pytest.raises(KeyboardInterrupt):
        grade_rows(
            counted(),
            grader=ScriptedGrader(in_flight=3, stop_after=1),
            rater=ScriptedRater(),
            finder=SuiteFinder(),
            rules=RowRules(run=""),
            policy="graded",
            write=output.write,
            observe=lambda _sample, _report: None,
        )
    assert len(pulled) == 4
