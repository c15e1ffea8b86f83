"""Trends: figures over steps or over time, of all samples, data sets and problems."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.verdict import Suspicion, Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.batch import batch_of
from grader.report.index import GradedFile, IndexedRow
from grader.report.tables import tables
from grader.report.timeline import Timeline
from grader.report.trends import MOMENTS, STEP, TIME, Trends, trends_of
from tests.factories import make_report

AC, WA, IE = Verdict.PASSED, Verdict.FAILED, Verdict.INTERNAL_ERROR


def sample(
    verdict: Verdict = AC,
    *,
    step: int | None = None,
    at: float = 0.0,
    problem: str = "p",
    dataset: str = "",
    signs: tuple[Suspicion, ...] = (),
) -> RecordedSample:
    return RecordedSample(
        id=problem,
        prompt="",
        completion="",
        report=make_report(verdict, suspicion=signs),
        at=at,
        step=step,
        dataset=dataset,
    )


def entries(folder: Path, *samples: RecordedSample) -> list[IndexedRow]:
    with SampleRecorder(folder, 1 << 30) as recorder:
        recorder.write(samples)
    return GradedFile(folder).entries


def trends(folder: Path, *samples: RecordedSample) -> Trends:
    found = trends_of(entries(folder, *samples))
    assert found is not None
    return found


def chart(found: Trends, title: str) -> Timeline:
    (chart,) = [each for each in found.timelines if each.title == title]
    return chart


def lines(found: Trends, title: str) -> dict[str, list[float | None]]:
    return {series.name: list(series.values) for series in chart(found, title).series}


def test_figures_are_taken_step_by_step_whatever_the_order_of_rows(tmp_path: Path) -> None:
    found = trends(
        tmp_path,
        sample(WA, step=40),
        sample(AC, step=7),
        sample(WA, step=7),
        sample(IE, step=7),
        sample(WA, step=40, signs=(Suspicion.TWIN,)),
        sample(IE, step=41),
        sample(AC),
    )
    assert (found.axis, found.left_out) == (STEP, 1)
    assert [moment.label for moment in found.moments] == ["7", "40", "41"]
    # What could not be graded is in no mean, and is a verdict of its own.
    assert lines(found, "Mean reward") == {"Mean reward": [0.0, -1.0, None]}
    assert lines(found, "Passed, %") == {"Passed, %": [50.0, 0.0, None]}
    assert lines(found, "Verdicts, %")["Internal error"] == [pytest.approx(100 / 3), 0.0, 100.0]
    assert lines(found, "Signs of an attack, %") == {
        "any": [0.0, 50.0, None],
        "passes wrong tests": [0.0, 50.0, None],
    }
    assert chart(found, "Mean reward").in_words == "0 → -1; least -1 at 40, most 0 at 7"


def test_attacks_are_shown_by_family_whatever_sign_each_left(tmp_path: Path) -> None:
    found = trends(
        tmp_path,
        sample(step=1),
        sample(step=1, signs=(Suspicion.FORGED_REPORT, Suspicion.TWIN)),
        sample(step=2, signs=(Suspicion.FORGED_FRAME, Suspicion.NETWORK)),
        sample(Verdict.TAMPERED, step=2),
        sample(step=2, signs=(Suspicion.FORBIDDEN_CALL,)),
        sample(step=2),
    )
    assert lines(found, "Attacks by family, %") == {
        "any": [50.0, 75.0],
        "forging results": [50.0, 50.0],
        "probing the sandbox": [0.0, 50.0],
    }
    searches = {each.name: each.search for each in chart(found, "Attacks by family, %").series}
    assert searches["forging results"] == 'family:"forging results"'


def test_rows_without_steps_are_taken_by_time(tmp_path: Path) -> None:
    found = trends(tmp_path, *(sample(AC if n < 300 else WA, at=1e9 + 10 * n) for n in range(600)))
    assert (found.axis, len(found.moments)) == (TIME, MOMENTS)
    assert [len(moment.entries) for moment in found.moments] == [10] * 59 + [10]
    rates = lines(found, "Passed, %")["Passed, %"]
    assert (rates[0], rates[-1]) == (100.0, 0.0)
    assert (found.moments[0].label, found.moments[30].label) == ("0 min", "49.9 min")


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([sample(step=3)] * 2, id="one step"),
        pytest.param([sample(at=5.0)] * 2, id="one time"),
    ],
)
def test_single_moment_has_no_trend(tmp_path: Path, samples: list[RecordedSample]) -> None:
    assert trends_of(entries(tmp_path, *samples)) is None


def test_data_sets_have_lines_of_their_own(tmp_path: Path) -> None:
    found = trends(
        tmp_path,
        sample(AC, step=1, dataset="a"),
        sample(WA, step=1, dataset="b"),
        sample(WA, step=2, dataset="a"),
    )
    assert lines(found, "Passed by data set, %") == {"a": [100.0, 0.0], "b": [0.0, None]}
    titles = [
        each.title for each in trends(tmp_path / "one", sample(step=1), sample(step=2)).timelines
    ]
    assert not any("data set" in title for title in titles)


def test_problems_show_what_changed_and_which_suites_pay_for_hacks(tmp_path: Path) -> None:
    sign = (Suspicion.EARLY_EXIT,)
    found = entries(
        tmp_path,
        sample(AC, step=1, problem="falls"),
        sample(WA, step=9, problem="falls"),
        sample(WA, step=1, problem="pays"),
        sample(AC, step=9, problem="pays", signs=sign),
        sample(Verdict.TAMPERED, step=9, problem="pays", signs=sign),
        sample(AC, step=9, problem="new"),
    )
    table = tables(found, batch_of(found), trends=trends_of(found))["problems"]
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    assert [rows["falls"][key] for key in ("early", "late", "change")] == [1.0, 0.0, -1.0]
    assert [rows["new"][key] for key in ("early", "late", "change")] == [None, 1.0, None]
    assert [rows["pays"][key] for key in ("hacks", "paid_hacks")] == [2, 1]
    assert [rows["falls"][key] for key in ("hacks", "paid_hacks")] == [0, 0]


@given(steps=st.lists(st.integers(-5, 10**6), min_size=2, max_size=300, unique=True))
def test_every_sample_is_in_one_moment_and_axes_stay_readable(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    found = trends(folder, *(sample(step=step) for step in steps))
    order = [entry.step for moment in found.moments for entry in moment.entries]
    assert order == sorted(steps)
    assert 2 <= len(found.moments) <= MOMENTS
    axis = chart(found, "Mean reward").moments
    assert (axis[0], axis[-1]) == (found.moments[0].label, found.moments[-1].label)
    assert 2 <= sum(label != "" for label in axis) <= 7
