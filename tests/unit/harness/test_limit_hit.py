"""Which limit counts if a run has exceeded several."""

import pytest

from sandbox_images.harness.slot.limit_hit import limit_of


@pytest.mark.parametrize(
    ("stopped_by", "dropped_bytes", "cpu_time_s", "limit"),
    [
        pytest.param(None, 0, 1.0, None, id="none"),
        pytest.param(None, 0, 3.0, "cpu_time", id="between two looks"),
        pytest.param("wall_time", 0, 3.0, "wall_time", id="what ended it"),
        pytest.param("wall_time", 1, 1.0, "output", id="output before the clock"),
        pytest.param("cpu_time", 1, 3.0, "output", id="output before CPU time"),
        pytest.param("memory", 1, 3.0, "memory", id="memory before output"),
    ],
)
def test_limit_that_counts(
    stopped_by: str | None, dropped_bytes: int, cpu_time_s: float, limit: str | None
) -> None:
    found = limit_of(
        stopped_by, dropped_bytes=dropped_bytes, cpu_time_s=cpu_time_s, limits={"cpu_time_s": 2.0}
    )
    assert found == limit
