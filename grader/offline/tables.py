"""Tables as files of rows: Parquet, Arrow, CSV. Only a batch of a table is in memory."""

import csv
import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grader.model.errors import ConfigurationError
from grader.suites.problems import unpacked

TableRow = tuple[dict[str, Any], float]
"""The fields of a row as JSON values, and the share of the file up to this row, in [0, 1]."""

TableReader = Callable[[Path], Iterator[TableRow]]
"""Raises OSError, ValueError, EOFError or zlib.error if the file is damaged."""

_PARQUET = b"PAR1"
_ARROW_FILE = b"ARROW1"
_ARROW_STREAM = b"\xff\xff\xff\xff"
"""How the files of `Dataset.save_to_disk` begin."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""By the end of the file's name, since no first bytes tell CSV from other text."""
_BATCH = 64


def reader_for(path: Path, magic: bytes) -> TableReader | None:
    """Return what reads the rows of a table; None if the file is not a table.

    Args:
        path: The file.
        magic: Its first bytes.

    Raises:
        ConfigurationError: Its format needs pyarrow, which is not installed.
    """
    if magic.startswith(_PARQUET):
        return partial(_parquet, _pyarrow("parquet", path, "a Parquet file"))
    if magic.startswith((_ARROW_FILE, _ARROW_STREAM)):
        return partial(_arrow, _pyarrow("ipc", path, "an Arrow file"))
    delimiter = _DELIMITERS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    return None if delimiter is None else partial(_csv, delimiter)


def _pyarrow(module: str, path: Path, what: str) -> Any:
    try:
        # Imported only here, because it takes 60 MB and 200 ms.
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError as error:
        message = f"{path} is {what}; reading one needs: pip install 'grader-rl[parquet]'"
        raise ConfigurationError(message) from error


def _parquet(parquet: Any, path: Path) -> Iterator[TableRow]:
    with parquet.ParquetFile(path) as table:
        _refuse_repeated(table.schema_arrow.names)
        batches = table.iter_batches(batch_size=_BATCH)
        for number, fields in enumerate(_rows(batches), start=1):
            yield fields, number / table.metadata.num_rows


def _arrow(ipc: Any, path: Path) -> Iterator[TableRow]:
    with path.open("rb") as file:
        is_file = file.peek(len(_ARROW_FILE)).startswith(_ARROW_FILE)
        size = path.stat().st_size
        with (ipc.open_file if is_file else ipc.open_stream)(file) as table:
            _refuse_repeated(table.schema.names)
            indexes = range(table.num_record_batches) if is_file else None
            batches = table if indexes is None else map(table.get_batch, indexes)
            for fields in _rows(_small(batches)):
                yield fields, min(1.0, file.tell() / size)


def _refuse_repeated(names: Sequence[str]) -> None:
    """Refuse columns of one name, of which a row could keep only one.

    Raises:
        ValueError: Two columns have one name.
    """
    if twice := next((name for name, times in Counter(names).items() if times > 1), None):
        message = f"two columns are called {twice!r}; expected one name for each"
        raise ValueError(message)


def _small(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH):
            yield batch.slice(start, _BATCH)


def _rows(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for fields in batch.to_pylist():
            yield _plain(fields)


def _plain(value: Any) -> Any:
    """Return the value of a cell as a JSON value."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)  # Dates, times, decimals.


def _csv(delimiter: str, path: Path) -> Iterator[TableRow]:
    """Read CSV whose first line names the columns. Cells are text; an empty cell is null."""
    # A cell may hold a whole suite; Python's own limit is 128 KiB.
    csv.field_size_limit(1 << 30)
    size = path.stat().st_size
    with path.open("rb") as file:
        table = csv.reader(_decoded(unpacked(file)), delimiter=delimiter, strict=True)
        try:
            names = next(table, [])
            _refuse_repeated(names)
            for cells in table:
                if not cells:
                    continue
                if len(cells) != len(names):
                    message = (
                        f"line {table.line_num} ends a row of {len(cells)} cells; "
                        f"expected {len(names)}, as in the first line"
                    )
                    raise ValueError(message)
                fields = {name: cell or None for name, cell in zip(names, cells, strict=True)}
                yield fields, min(1.0, file.tell() / size)
        except csv.Error as error:
            message = f"line {table.line_num}: {error}"
            raise ValueError(message) from error


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    encoding = "utf-8-sig"
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"line {number} is not UTF-8: byte 0x{line[error.start]:02x}"
            raise ValueError(message) from error
        encoding = "utf-8"
