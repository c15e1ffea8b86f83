"""Interleave contestants in rounds and take medians, so that a busy minute hits them all."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from benchmarks.contestants import Contestant
from benchmarks.workloads import Sample

TURN_S = 2.0
"""How long a contestant's turn lasts at least: its first half second, with all caches full of what
others did, is not what a training step with thousands of submissions sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A contestant, and every how many of the workload's samples it runs."""

    run: Contestant
    stride: int = 1
    """1: all of them; a slow contestant takes every n-th, its rate being per sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The rate of one contestant on one workload."""

    workload: str
    contestant: str
    per_second: float
    """Median over the rounds."""
    rates: tuple[float, ...]
    samples: int
    ratios: Mapping[str, float] = field(default_factory=dict)
    """How many times the rate of each contestant that it is held against."""


def throughput(
    workload: str, samples: Sequence[Sample], entries: Mapping[str, Entry], *, rounds: int
) -> list[Row]:
    """Run every contestant once per round, all in turn, after one round that does not count."""
    shares = {name: samples[:: entry.stride] for name, entry in entries.items()}
    rates: dict[str, list[float]] = {name: [] for name in entries}
    for name, entry in entries.items():
        _take_turn(entry, shares[name])
    for _ in range(rounds):
        for name, entry in entries.items():
            rates[name].append(_take_turn(entry, shares[name]))
            time.sleep(0.1)  # what a contestant left to be torn down is not the next one's cost
    medians = {name: statistics.median(found) for name, found in rates.items()}
    return [
        Row(
            workload=workload,
            contestant=name,
            per_second=medians[name],
            rates=tuple(rates[name]),
            samples=len(shares[name]),
            ratios={other: medians[name] / medians[other] for other in entries if other != name},
        )
        for name in entries
    ]


def _take_turn(entry: Entry, share: Sequence[Sample]) -> float:
    """Return the rate at which a contestant runs its share, as often as its turn has time for."""
    runs, elapsed_s = 0, 0.0
    while elapsed_s < TURN_S:
        elapsed_s += entry.run(share)
        runs += sum(sample.runs for sample in share)
    return runs / elapsed_s


def show(rows: Sequence[Row], against: Sequence[str]) -> None:
    """Print rates as a table with a column of ratios for each contestant in `against`."""
    table = Table(title=f"{rows[0].workload}: samples a second")
    table.add_column("contestant")
    table.add_column("per second", justify="right")
    table.add_column("range", justify="right")
    table.add_column("samples", justify="right")
    for other in against:
        table.add_column(f"x {other}", justify="right")
    for row in rows:
        ratios = [f"{row.ratios[other]:.2f}" if other in row.ratios else "" for other in against]
        spread = f"{min(row.rates):.1f}-{max(row.rates):.1f}"
        table.add_row(row.contestant, f"{row.per_second:.1f}", spread, str(row.samples), *ratios)
    Console().print(table)


def as_json(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return rows as plain data."""
    return [asdict(row) for row in rows]
