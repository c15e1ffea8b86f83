"""Two runs side by side: every figure, what may be chance, and regressions first."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.cli.app import run
from grader.model import Usage
from grader.model.verdict import Suspicion, Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.comparison import Delta, Effect, RunComparison, compare
from grader.report.index import GradedFile
from tests.factories import make_report

AC, WA, TLE, IE = Verdict.PASSED, Verdict.FAILED, Verdict.TIME_LIMIT, Verdict.INTERNAL_ERROR


def sample(verdict: Verdict, problem: str = "p", **more: object) -> RecordedSample:
    signs = (Suspicion.TWIN,) if verdict is Verdict.TAMPERED else ()
    values: dict[str, object] = {
        "id": problem,
        "prompt": "",
        "completion": f"It is {verdict}.",
        "report": make_report(verdict, suspicion=signs, usage=Usage(cpu_time_s=0.5)),
        "at": 1.0,
        "dataset": "one",
    }
    return RecordedSample(**{**values, **more})  # type: ignore[arg-type]


def recorded(folder: Path, *samples: RecordedSample) -> Path:
    with SampleRecorder(folder, 1 << 30) as recorder:
        recorder.write(samples)
    return folder


def compared(folder: Path, new: list[RecordedSample], old: list[RecordedSample]) -> RunComparison:
    files = [
        GradedFile(recorded(folder / name, *samples))
        for name, samples in (("new", new), ("old", old))
    ]
    return compare(files[0].entries, files[1].entries)


def figure(found: RunComparison, name: str) -> Delta:
    (delta,) = [each for each in found.figures if each.name == name]
    return delta


def test_regressions_come_first_and_say_how_large_they_are(tmp_path: Path) -> None:
    new = [sample(AC)] * 5 + [sample(Verdict.TAMPERED)] * 20 + [sample(IE)] * 5
    found = compared(tmp_path, new, [sample(AC)] * 20 + [sample(WA)] * 5)
    effects = [delta.effect for delta in found.figures]
    assert effects[0] is Effect.WORSE
    assert effects == sorted(effects, key=list(dict.fromkeys(effects)).index)
    reward = figure(found, "Reward")
    # Internal errors have no reward.
    assert (reward.new.value, reward.new.count) == (-0.6, 25)
    assert reward.difference == pytest.approx(-1.2)
    assert reward.effect is Effect.WORSE
    assert figure(found, "Tampered, %").effect is Effect.WORSE
    assert figure(found, "Attacks: forging results, %").effect is Effect.WORSE
    assert figure(found, "Passed, %").effect is Effect.WORSE
    assert figure(found, "CPU time, s").effect is Effect.SAME
    assert figure(found, "Completion, characters").effect is Effect.OTHER
    assert found.datasets == ()


@pytest.mark.parametrize(
    ("count", "effect"),
    [
        pytest.param(1, Effect.UNCLEAR, id="one sample each"),
        pytest.param(2, Effect.UNCLEAR, id="two"),
        pytest.param(3, Effect.WORSE, id="three of three"),
    ],
)
def test_difference_of_few_samples_may_be_chance(
    tmp_path: Path, count: int, effect: Effect
) -> None:
    found = compared(tmp_path, [sample(WA)] * count, [sample(AC)] * count)
    assert figure(found, "Reward").effect is effect
    assert found.problems[0].effect is effect


def test_problems_and_data_sets_are_compared_the_largest_loss_first(tmp_path: Path) -> None:
    new = [sample(WA, "b"), sample(AC, "a", dataset="two"), sample(AC, "new"), sample(WA, "c")]
    old = [sample(AC, "b"), sample(WA, "a", dataset="two"), sample(WA, "c"), sample(WA, "old")]
    found = compared(tmp_path, new, old)
    assert [(d.name, d.difference) for d in found.problems] == [("b", -2), ("c", 0), ("a", 2)]
    assert (found.only_new, found.only_old) == (1, 1)
    assert [d.name for d in found.datasets] == ["one", "two"]


VERDICTS = st.lists(st.sampled_from([AC, WA, TLE, IE, Verdict.TAMPERED]), min_size=1, max_size=12)


@given(new=VERDICTS, old=VERDICTS)
def test_comparison_the_other_way_round_is_the_opposite(
    tmp_path_factory: pytest.TempPathFactory, new: list[Verdict], old: list[Verdict]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    ours, theirs = [sample(v) for v in new], [sample(v) for v in old]
    one = {d.name: d for d in compared(folder / "1", ours, theirs).figures}
    other = {d.name: d for d in compared(folder / "2", theirs, ours).figures}
    opposite = {Effect.WORSE: Effect.BETTER, Effect.BETTER: Effect.WORSE}
    assert one.keys() == other.keys()
    for name, delta in one.items():
        assert delta.difference == -other[name].difference
        assert delta.effect is opposite.get(other[name].effect, other[name].effect)


def test_command_compares_stretches_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = [sample(AC if step < 40 else WA, f"p{step % 5}", step=step) for step in range(80)]
    folder = recorded(tmp_path / "run", *samples)
    assert run(["compare", f"{folder}@40:49", f"{folder}@30:39", "--problems", "2"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2].split() == ["Reward", "1", "-1", "-2", "worse"]
    assert "3 more problems" in out
    assert "10 samples in both: 10 with another verdict, 0 now pass, 10 no longer do" in out
    assert "p0: passed → failed (the completion)" in out
    assert run(["compare", f"{folder}@40", f"{folder}@0:39", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["figures"][0]["new"] == {"value": -1.0, "count": 1}
    minutes = [sample(AC if n < 60 else WA, at=1e6 + 30 * n) for n in range(120)]
    timed = recorded(tmp_path / "timed", *minutes)
    assert run(["compare", f"{timed}@30:39min", f"{timed}@20:29min", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["figures"][0]["new"]["count"], found["figures"][0]["old"]["count"]) == (20, 20)
    assert found["figures"][0]["new"]["value"] == -1.0
    assert run(["compare", str(folder), f"{folder}@90:99"]) == 2
    assert "no graded row of the steps 90 to 99" in capsys.readouterr().err
    assert run(["compare", str(folder), f"{folder}@90"]) == 2
    assert "no graded row of the step 90" in capsys.readouterr().err
    assert run(["compare", str(folder), f"{folder}@9:3"]) == 2
    assert "@9:3 ends before it begins" in capsys.readouterr().err
