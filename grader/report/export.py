"""A run as a table for other tools: CSV, Parquet or JSONL, a row for each sample."""

import csv
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grader.model.errors import ConfigurationError
from grader.offline.output import replacing
from grader.report.index import GradedFile, IndexedRow

COLUMNS: Mapping[str, Callable[[IndexedRow], Any]] = MappingProxyType(
    {
        "line": lambda e: e.line,
        "name": lambda e: e.name,
        "problem": lambda e: e.problem,
        "dataset": lambda e: e.dataset,
        "step": lambda e: e.step,
        "at": lambda e: e.at,
        "verdict": lambda e: str(e.verdict),
        "graded": lambda e: e.graded,
        "reward": lambda e: e.reward if e.graded else None,
        "score": lambda e: e.score if e.graded else None,
        "passed": lambda e: e.passed,
        "total": lambda e: e.total,
        "cpu_time_s": lambda e: e.cpu_in_all_s,
        "queue_s": lambda e: e.queue_s,
        "peak_memory_bytes": lambda e: e.usage.peak_memory_bytes,
        "limit_hit": lambda e: None if e.limit_hit is None else str(e.limit_hit),
        "suspicion": lambda e: " ".join(e.suspicion),
        "family": lambda e: ", ".join(e.families),
        "hack": lambda e: e.is_hack,
        "completion_chars": lambda e: e.completion_chars,
        "policy": lambda e: e.policy,
        "integrity": lambda e: e.integrity or None,
        "feedback": lambda e: e.feedback,
    }
)
"""The columns of a sample, without its texts."""
TEXTS = ("completion", "code")
"""Further columns, if they are asked for."""

_BATCH = 1000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins like this for a formula."""


def export(file: GradedFile, out: Path, *, texts: bool) -> None:
    """Write a run as a table; the name of `out` gives the format.

    Args:
        file: The run.
        out: A path that ends with `.csv`, `.parquet` or `.jsonl`. It is replaced.
        texts: Whether completions and code are columns.

    Raises:
        ConfigurationError: The name has another ending, such a file cannot be made, or pyarrow is
            not installed.
        InputError: The run cannot be read.
        OutputError: `out` cannot be written, for example because the disk is full.
    """
    write = _WRITERS.get(out.suffix)
    if write is None:
        message = f"{out} ends with {out.suffix or 'nothing'}; expected {' or '.join(_WRITERS)}"
        raise ConfigurationError(message)
    names = [*COLUMNS, *(TEXTS if texts else ())]
    with replacing(out) as target:
        write(target, names, _rows(file, texts=texts))


def _rows(file: GradedFile, *, texts: bool) -> Iterator[dict[str, Any]]:
    for entry in file.entries:
        row = {name: value(entry) for name, value in COLUMNS.items()}
        if texts:
            graded = file.read(entry)
            row |= {"completion": graded.completion, "code": graded.report.code}
        yield row


def _write_csv(out: Path, names: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with out.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs: texts come from models and labels."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def _write_jsonl(out: Path, _: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _write_parquet(out: Path, names: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    try:
        # Imported only here, because it takes 60 MB and 200 ms.
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        message = "writing a Parquet file needs: pip install 'grader-rl[parquet]'"
        raise ConfigurationError(message) from error
    kinds = {
        "i": arrow.int64(),
        "f": arrow.float64(),
        "b": arrow.bool_(),
        "s": arrow.string(),
    }
    schema = arrow.schema([(name, kinds[_KINDS.get(name, "s")]) for name in names])
    with parquet.ParquetWriter(out, schema) as writer:
        for batch in _batches(rows):
            writer.write_table(arrow.Table.from_pylist(batch, schema))


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append({name: _unicode(value) for name, value in row.items()})
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _unicode(value: Any) -> Any:
    """Return a value without lone surrogates, which Parquet cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_KINDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("line", "step", "passed", "total", "peak_memory_bytes", "completion_chars"), "i"
        ),
        **dict.fromkeys(("at", "reward", "score", "cpu_time_s", "queue_s"), "f"),
        **dict.fromkeys(("graded", "hack"), "b"),
    }
)
"""The kinds of columns that are not text: integers, floats, booleans."""
_WRITERS = MappingProxyType(
    {".csv": _write_csv, ".parquet": _write_parquet, ".jsonl": _write_jsonl}
)
