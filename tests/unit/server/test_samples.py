"""Which samples the service keeps: how many, in how much memory, for how long."""

import sys
import tracemalloc
from typing import Any

import pytest

from grader.config.server import KeepSamples, KeepSettings
from grader.model import CaseResult, Evidence, GradeReport, KiB, MiB
from grader.model.errors import ConfigurationError
from grader.model.verdict import Suspicion, Verdict
from grader.server.samples import GradedSample, SampleKind, SampleStore, kind_of
from tests.factories import make_report


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def make_sample(report: GradeReport | None = None, **overrides: Any) -> GradedSample:
    values: dict[str, Any] = {
        "id": "s",
        "problem_id": None,
        "prompt": "",
        "completion": "code",
        "endpoint": "/v1/grade",
        "at": 0.0,
        "took_s": 0.1,
    }
    report = report or make_report(Verdict.FAILED)
    return GradedSample(report=report, **{**values, **overrides})


def make_store(**settings: Any) -> SampleStore:
    return SampleStore(KeepSettings(**settings))


def ids(store: SampleStore, *kinds: SampleKind) -> list[str]:
    return [kept.sample.id for kept in store.newest(kinds or SampleKind, 1000)]


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        pytest.param(make_report(), SampleKind.PASSED, id="passed"),
        pytest.param(make_report(Verdict.NO_CODE), SampleKind.FAILED, id="no code"),
        pytest.param(make_report(Verdict.MEMORY_LIMIT), SampleKind.LIMIT, id="limit"),
        pytest.param(make_report(Verdict.INTERNAL_ERROR), SampleKind.UNGRADED, id="our fault"),
        pytest.param(make_report(Verdict.TAMPERED), SampleKind.ATTACK, id="tampered"),
        pytest.param(
            make_report(suspicion=(Suspicion.NETWORK,)), SampleKind.ATTACK, id="passed, suspicious"
        ),
    ],
)
def test_kind_is_the_most_serious_reason_to_look(report: GradeReport, kind: SampleKind) -> None:
    assert kind_of(report) is kind


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        pytest.param(KeepSamples.NONE, [], id="none"),
        pytest.param(KeepSamples.FAILED, ["attack", "failed"], id="failed"),
        pytest.param(KeepSamples.ALL, ["attack", "failed", "passed"], id="all"),
    ],
)
def test_setting_chooses_the_kept_kinds(keep: KeepSamples, kept: list[str]) -> None:
    store = make_store(samples=keep)
    store.add(make_sample(make_report(), id="passed"))
    store.add(make_sample(id="failed"))
    store.add(make_sample(make_report(suspicion=(Suspicion.TWIN,)), id="attack"))
    assert ids(store) == kept


def test_newest_of_each_kind_stay() -> None:
    store = make_store(count=3)
    store.add(make_sample(make_report(Verdict.TIME_LIMIT), id="limit"))
    for number in range(10):
        store.add(make_sample(id=str(number)))
    assert ids(store) == ["9", "8", "7", "limit"]
    assert ids(store, SampleKind.FAILED) == ["9", "8", "7"]
    assert [kept.sample.id for kept in store.newest([SampleKind.FAILED], 2)] == ["9", "8"]


def test_flood_of_one_kind_leaves_the_few_of_another() -> None:
    store = make_store(total_bytes=200 * KiB)
    store.add(make_sample(make_report(Verdict.TAMPERED), id="attack", completion="x" * 10_000))
    for number in range(100):
        store.add(make_sample(id=str(number), completion="x" * 10_000))
    counts = store.counts()
    assert "attack" in ids(store)
    assert counts.size <= 200 * KiB
    assert 10 < counts.by_kind[SampleKind.FAILED] < 20


def test_sample_is_forgotten_in_time() -> None:
    clock = Clock()
    store = SampleStore(KeepSettings(lifetime_s=60), clock)
    first = store.add(make_sample(id="first"))
    assert first is not None
    clock.now += 59
    store.add(make_sample(id="second"))
    assert store.get(first.key) == first
    clock.now += 1
    assert store.get(first.key) is None
    assert ids(store) == ["second"]
    clock.now += 60
    assert store.counts().size == 0


def test_keys_are_unique_across_processes() -> None:
    one, other = make_store(), make_store()
    keys = {
        kept.key for store in (one, other) for _ in range(5) if (kept := store.add(make_sample()))
    }
    assert len(keys) == 10
    assert one.get("no-key") is None


def big_report() -> GradeReport:
    text = "\N{SNOWMAN}" * 2000
    evidence = Evidence(input=text, expected=text, got=text, stdout=text, stderr=text)
    cases = tuple(
        CaseResult(
            id=str(number),
            verdict=Verdict.PASSED if number < 5000 else Verdict.FAILED,
            feedback=text[:500],
            evidence=evidence,
        )
        for number in range(6000)
    )
    code = "\N{GRINNING FACE}" * 300_000
    return make_report(Verdict.FAILED, cases=cases, total=6000, code=code, output=evidence)


def test_large_sample_is_cut_and_keeps_failed_cases() -> None:
    text = "a" * 1_000_000 + "\N{GRINNING FACE}"
    sample = make_sample(big_report(), completion=text, prompt=text, id=text, problem_id=text)
    kept = make_store(sample_bytes=256 * KiB).add(sample)
    assert kept is not None
    assert kept.size <= 256 * KiB
    assert kept.sample.completion.startswith("aaa")
    assert kept.sample.completion.endswith("\N{GRINNING FACE}")
    assert "characters left out" in kept.sample.completion
    cases = kept.sample.report.cases
    assert 1 < len(cases) <= 200
    assert {case.verdict for case in cases} == {Verdict.FAILED}
    assert cases[0].evidence is not None
    assert kept.sample.report.total == 6000


def test_sample_that_fits_stays_whole() -> None:
    sample = make_sample(completion="x" * 100_000)
    kept = make_store(sample_bytes=256 * KiB).add(sample)
    assert kept is not None
    assert kept.sample is sample


def test_estimated_sizes_are_close_to_the_memory_in_use() -> None:
    store = make_store(count=1000, total_bytes=8 * MiB)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(3000):
            report = make_report(Verdict.FAILED, code=f"code {number}" * 500)
            store.add(make_sample(report, id=str(number), completion=f"{number}" * 2000))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    size = store.counts().size
    assert size <= 8 * MiB
    assert 0.5 * size < taken < 1.1 * size + sys.getsizeof(store)


def test_settings_out_of_range_are_refused() -> None:
    for wrong in ({"count": 0}, {"lifetime_s": float("nan")}, {"total_bytes": -1}):
        with pytest.raises(ConfigurationError, match="expected at least 1"):
            KeepSettings(**wrong)
