import datetime
import gzip
import io
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.model.errors import InputError
from grader.offline.source import STDIN, open_rows, parse_object


def numbers_and_texts(path: Path) -> list[tuple[int, bytes]]:
    return [(row.number, row.text) for row in open_rows(path)]


@pytest.mark.parametrize(
    "compressed", [pytest.param(False, id="plain"), pytest.param(True, id="gzip")]
)
def test_lines_are_numbered_as_an_editor_numbers_them(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "rows"  # Its first bytes say what it is, not its name.
    text = b'\xef\xbb\xbf{"a": 1}\r\n\n  {"a": 2} \n{"a": 3}'
    path.write_bytes(gzip.compress(text) if compressed else text)
    assert numbers_and_texts(path) == [(1, b'{"a": 1}'), (3, b'{"a": 2}'), (4, b'{"a": 3}')]


def test_rows_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n')
    rows = open_rows(path)
    assert list(rows) == list(rows)


@pytest.mark.parametrize(
    "compressed", [pytest.param(False, id="plain"), pytest.param(True, id="gzip")]
)
def test_progress_ends_at_the_whole_file(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "rows"
    text = b'{"a": 1}\n' * 1000
    path.write_bytes(gzip.compress(text) if compressed else text)
    behind = [row.progress or 0.0 for row in open_rows(path)]
    assert behind == sorted(behind)
    assert behind[-1] == 1.0


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(gzip.compress(b'{"a": 1}\n'))))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert [(row.text, row.progress) for row in open_rows(STDIN)] == [(b'{"a": 1}', None)]


def test_rows_of_a_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows"
    rows = [
        {
            "id": number,
            "label": {"inputs": ["1"], "outputs": None},
            "tags": [1.5, 2.0],
            "raw": b"x\xff",
            "price": Decimal("1.20"),
            "day": datetime.date(2026, 1, 2),
        }
        for number in range(150)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=100)
    read = list(open_rows(path))
    assert [row.number for row in read] == list(range(1, 151))
    assert read[-1].progress == 1.0
    assert json.loads(read[7].text) == {
        "id": 7,
        "label": {"inputs": ["1"], "outputs": None},
        "tags": [1.5, 2.0],
        "raw": "x\N{REPLACEMENT CHARACTER}",
        "price": "1.20",
        "day": "2026-01-02",
    }


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"\x28\xb5\x2f\xfdrest", "zstd -d", id="zstd"),
        pytest.param(b"PK\x03\x04rest", "zip archive", id="zip"),
        pytest.param('{"a": 1}'.encode("utf-16"), "UTF-16", id="utf-16"),
    ],
)
def test_file_of_another_kind_is_refused_with_advice(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        open_rows(path)


@pytest.mark.parametrize("text", ['[\n{"a": 1}\n]\n', '[{"a": 1}, {"a": 2}]', '{\n  "a": 1\n}\n'])
def test_one_json_document_is_refused_with_advice(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"one JSON document.*jq -c"):
        list(open_rows(path))


def test_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        open_rows(tmp_path / "absent")


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        open_rows(tmp_path)


def read_until_damage(rows: Iterator[object]) -> int:
    read: list[object] = []
    with pytest.raises(InputError, match="is damaged after"):
        read.extend(rows)
    return len(read)


def test_cut_off_gzip_yields_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    lines = b"".join(b'{"a": "%d"}\n' % (number * number) for number in range(20_000))
    whole = gzip.compress(lines)
    path.write_bytes(whole[: len(whole) // 2])
    assert 1000 < read_until_damage(iter(open_rows(path))) < 20_000


def test_damaged_table_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\x00" * 100)
    assert read_until_damage(iter(open_rows(path))) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b'{"a": 1,}', "not JSON: .* at column 9", id="comma"),
        pytest.param(b'{"a": 1} {"a": 2}', "not JSON: Extra data at column 10", id="two"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8: byte 0xff at offset 7", id="bytes"),
        pytest.param(b"[1]", "JSON, but an array; expected an object", id="array"),
        pytest.param(b"null", "JSON, but null", id="null"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"a": %s}' % (b"9" * 5000), "JSON that cannot be read", id="long number"),
    ],
)
def test_text_that_is_no_object_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_object(text)
