"""Which limits a run has exceeded, and which of them counts."""

from pathlib import Path

import pytest

from sandbox_images.harness.kernel.cgroup import CgroupReader
from sandbox_images.harness.slot.limit_hit import OomKills, is_late, limit_of
from sandbox_images.harness.slot.zygotes import SlotBroken


@pytest.mark.parametrize(
    ("stopped_by", "dropped_bytes", "memory_bytes", "cpu_time_s", "limit"),
    [
        pytest.param(None, 0, 8, 1.0, None, id="none"),
        pytest.param(None, 0, 8, 3.0, "cpu_time", id="CPU time between two looks"),
        pytest.param(None, 0, 9, 1.0, "memory", id="memory between two looks"),
        pytest.param("wall_time", 0, 9, 3.0, "wall_time", id="what ended it"),
        pytest.param("wall_time", 1, 8, 1.0, "output", id="output before the clock"),
        pytest.param("cpu_time", 1, 8, 3.0, "output", id="output before CPU time"),
        pytest.param("memory", 1, 8, 3.0, "memory", id="memory before output"),
    ],
)
def test_limit_that_counts(
    stopped_by: str | None,
    dropped_bytes: int,
    memory_bytes: int,
    cpu_time_s: float,
    limit: str | None,
) -> None:
    found = limit_of(
        stopped_by,
        dropped_bytes=dropped_bytes,
        memory_bytes=memory_bytes,
        cpu_time_s=cpu_time_s,
        limits={"cpu_time_s": 2.0, "memory_bytes": 8},
    )
    assert found == limit


@pytest.mark.parametrize(
    ("age_s", "waited_s", "late"),
    [
        pytest.param(4.0, 0.0, False, id="in time"),
        pytest.param(4.1, 0.0, True, id="late"),
        pytest.param(9.0, 6.0, False, id="waited for a CPU"),
        pytest.param(9.0, 4.0, True, id="late in spite of that"),
        pytest.param(40.0, 39.0, False, id="waited as long as a run may"),
        pytest.param(40.1, 39.0, True, id="waited longer"),
    ],
)
def test_run_is_late(age_s: float, waited_s: float, late: bool) -> None:
    assert is_late(age_s, waited_s=waited_s, limits={"wall_time_s": 4.0}) == late


def events(group: Path, *, full: int, kills: int) -> CgroupReader:
    (group / "memory.events").write_text(f"oom {full}\noom_kill {kills}\n")
    return CgroupReader(version=2, memory=str(group), cpu=str(group))


def test_kill_in_a_full_slot_is_the_submissions_and_another_is_not(tmp_path: Path) -> None:
    killed = OomKills(events(tmp_path, full=0, kills=0))
    happened = killed.alarm()
    assert not happened()
    events(tmp_path, full=1, kills=1)
    assert happened()
    killed.require_none_between_runs()
    happened = killed.alarm()
    assert not happened()
    events(tmp_path, full=1, kills=2)
    with pytest.raises(SlotBroken, match="the slot has not"):
        happened()


def test_kill_between_two_runs_breaks_the_slot_before_the_next(tmp_path: Path) -> None:
    killed = OomKills(events(tmp_path, full=0, kills=0))
    killed.require_none_between_runs()
    assert not killed.alarm()()
    events(tmp_path, full=0, kills=1)
    with pytest.raises(SlotBroken, match="between two runs"):
        killed.require_none_between_runs()
