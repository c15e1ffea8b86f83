"""Events that no text can break out of, and charts."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from grader.config.server import KeepSettings
from grader.model.verdict import Suspicion, Verdict
from grader.queueing.status import LastError
from grader.server.live import view
from grader.server.live.charts import draw_charts
from grader.server.live.intervals import Interval, Latency
from grader.server.live.worker_history import WorkerHistory
from grader.server.samples import SampleKind, SampleStore
from tests.factories import make_lane, make_queue, make_report, make_worker
from tests.unit.server.test_intervals import make_interval, make_state
from tests.unit.server.test_samples import make_sample

HOSTILE = "\n\nevent: interval\ndata: {}\r\n\x1b[2J\u202e\ud800<script>"
INERT = re.compile(r"[^\x00-\x1f\x7f\u202e\ud800]*")


def data_of(event: bytes) -> Any:
    """Return the data of an event, after checking its form: two lines and an empty one."""
    first, second, *rest = event.decode().split("\n")
    assert first.startswith("event: ")
    assert second.startswith("data: ")
    assert rest == ["", ""]
    return json.loads(second.removeprefix("data: "))


def all_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for each in item for text in all_texts(each)]
    if isinstance(value, list):
        return [text for item in value for text in all_texts(item)]
    return [value] if isinstance(value, str) else []


def test_hostile_sample_neither_breaks_out_of_its_event_nor_acts() -> None:
    store = SampleStore(KeepSettings())
    report = make_report(Verdict.FAILED, feedback=HOSTILE * 50, suspicion=(Suspicion.NETWORK,))
    kept = store.add(make_sample(report, id=HOSTILE, problem_id=HOSTILE, endpoint=HOSTILE))
    assert kept is not None
    told = data_of(view.event("interval", {"samples": [view.sample_fields(kept)]}))
    texts = all_texts(told)
    assert all(INERT.fullmatch(text) for text in texts)
    assert max(map(len, texts)) <= 160
    assert told["samples"][0]["signs"] == ["network"]


def test_hostile_worker_and_error_are_inert_too() -> None:
    worker = make_worker(HOSTILE, host=HOSTILE, images=HOSTILE, sandbox=HOSTILE, state=HOSTILE)
    error = LastError(at=datetime.now(UTC), text=HOSTILE)
    lane = make_lane(HOSTILE, service_class=HOSTILE, image=HOSTILE)
    state = make_state(has_queue=True, queue=make_queue(worker, lanes=(lane,), errors=(error,)))
    told = data_of(view.event("interval", {"state": view.state_fields(state, WorkerHistory())}))
    assert all(INERT.fullmatch(text) for text in all_texts(told))


def test_sample_without_an_id_has_a_name_of_its_own() -> None:
    store = SampleStore(KeepSettings())
    for sample_id, problem_id in (("", None), ("", "p"), ("s", None)):
        store.add(make_sample(id=sample_id, problem_id=problem_id))
    names = [view.sample_fields(kept)["name"] for kept in store.newest(SampleKind, 10)]
    assert names == ["s", "p", "sample 1"]


# ---------------------------------------------------------------- charts


def titles(html: str) -> list[str]:
    return re.findall(r"<figcaption><b>([^<]*)", html)


def told(html: str, title: str) -> str:
    match = re.search(rf"<b>{title}</b><span>([^<]*)", html)
    assert match is not None
    return match[1]


def intervals(count: int, **overrides: Any) -> list[Interval]:
    return [make_interval(at=float(number), **overrides) for number in range(count)]


def test_charts_of_a_service_without_a_queue() -> None:
    html = draw_charts(intervals(10, verdicts={"passed": 3, "failed": 1}, waiting=7), 150, 300)
    assert titles(html) == [
        "Graded per second",
        "Mean reward",
        "95 % took at most, seconds",
        "Waiting",
        "Longest wait, seconds",
        "Slots",
        "Of 100 graded",
    ]
    assert told(html, "Graded per second") == "now 2, at most 2"
    assert told(html, "Waiting") == "now 7, at most 7"
    assert "Wrong answer" in html
    assert "Memory limit" not in html


def test_queue_and_programs_have_charts_of_their_own() -> None:
    html = draw_charts(intervals(3, workers=2, cache={"hit": 1, "miss": 3}, programs=4), 150, 300)
    assert titles(html)[7:] == [
        "Workers",
        "Cache, per second",
        "Programs of /run_code, per second",
    ]
    assert told(html, "Workers") == "now 2, at most 2"
    assert told(html, "Cache, per second") == "now 2, at most 2"


def test_mean_reward_is_that_of_graded_submissions_and_unknown_without_any() -> None:
    lost = intervals(2, verdicts={"passed": 1, "failed": 3, "internal_error": 4}, rewards=-2.0)
    won = intervals(6, verdicts={"passed": 2}, rewards=2.0)
    idle = intervals(8, verdicts={"internal_error": 1})
    html = draw_charts([*lost, *won, *idle], 16, 300)
    assert told(html, "Mean reward") == "now 1, at most 1, at least -0.5"
    assert told(draw_charts(idle, 8, 300), "Mean reward") == "nothing yet"


def test_latency_is_that_of_the_slowest_of_the_last_points() -> None:
    latency = {"total": Latency(p50_s=0.1, p95_s=2.0), "run": Latency(p50_s=0.1, p95_s=1.5)}
    html = draw_charts([*intervals(20), *intervals(1, latency=latency), *intervals(2)], 150, 300)
    assert told(html, "95 % took at most, seconds") == "now 2 s, at most 2 s"


@pytest.mark.parametrize(
    ("span_s", "labels"),
    [
        pytest.param(300, ["5 min", "4 min", "3 min", "2 min", "1 min", "now"], id="minutes"),
        pytest.param(10800, ["3 h", "2 h", "1 h", "now"], id="hours"),
    ],
)
def test_time_axis_has_round_labels(span_s: float, labels: list[str]) -> None:
    html = draw_charts([], 150, span_s)
    first = html.partition("</svg>")[0]
    assert re.findall(r">(\d+ (?:min|h)|now)<", first) == labels


def test_charts_are_no_larger_for_many_intervals_than_for_a_few() -> None:
    assert len(draw_charts(intervals(180), 180, 10800)) < 2 * len(
        draw_charts(intervals(60), 180, 10800)
    )
