"""How a worker's throughput is computed."""

from worker.throughput import Throughput


def test_total_counts_all_and_the_rate_those_of_the_last_minute() -> None:
    throughput = Throughput()
    assert (throughput.total, throughput.per_s) == (0, 0.0)
    for _ in range(12_000):
        throughput.count()
    assert throughput.total == 12_000
    assert 0 < throughput.per_s <= 12_000
