import datetime
import gzip
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.errors import InputError
from grader.offline import source
from grader.offline.source import STDIN, open_rows
from grader.suites.problems import parse_object


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
        pytest.param('{"a": 1}'.encode("utf-16"), "UTF-16 .* -f utf-16", id="utf-16"),
        pytest.param('{"a": 1}'.encode("utf-32"), "UTF-32 .* -f utf-32", id="utf-32"),
    ],
)
@pytest.mark.parametrize("name", ["rows", "rows.csv", "rows.gz"])
def test_file_of_another_kind_is_refused_with_advice(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InputError, match=problem):
        list(open_rows(path))


def test_standard_input_of_another_kind_is_refused_with_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = io.BufferedReader(io.BytesIO('{"a": 1}'.encode("utf-16")))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    with pytest.raises(InputError, match="standard input is UTF-16"):
        list(open_rows(STDIN))


def test_one_json_document_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{\n  "rows": []\n}\n')
    with pytest.raises(InputError, match=r"one JSON document.*jq -c"):
        list(open_rows(path))


OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(
    rows=st.lists(OBJECTS, max_size=5),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    chunk=st.sampled_from([1, 7, 1 << 20]),
    compressed=st.booleans(),
)
def test_array_has_the_rows_that_its_elements_are(
    rows: list[dict[str, Any]], indent: int | None, ascii_only: bool, chunk: int, compressed: bool
) -> None:
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "rows")
        path.write_bytes(gzip.compress(text) if compressed else text)
        patch.setattr(source, "_CHUNK", chunk)
        read = list(open_rows(path))
    assert [row.fields() for row in read] == json.loads(text)
    assert [row.number for row in read] == list(range(1, len(rows) + 1))
    assert not any(b"\n" in row.text for row in read)


def test_array_keeps_the_digits_of_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[\n {"a": 1.50e3,\n  "b": [1]}\n]')
    assert numbers_and_texts(path) == [(1, b'{"a": 1.50e3,   "b": [1]}')]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b'[{"a": 1}, {"a"', "after row 1: .*not JSON", id="cut off"),
        pytest.param(b'[{"a": 1}, {"a": "', "after row 1: .*not JSON", id="cut off in a text"),
        pytest.param(b'[{"a": 1}', "after row 1: .*expected an element or ]", id="open"),
        pytest.param(b'[{"a": 1}] {}', "after row 1: found text after the end", id="more"),
        pytest.param(b'[{"a": "\xff"}]', "cannot be read: 'utf-8' codec", id="bytes"),
        pytest.param(b'[{"a":' * 50_000, "cannot be read: .* nested too deeply", id="deep"),
    ],
)
def test_damaged_array_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=problem):
        list(open_rows(path))


def test_line_that_is_too_long_is_one_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 1 << 20)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": "%s"}\n{"a": 2}\n' % (b"x" * (3 << 20)))
    long, short = open_rows(path)
    with pytest.raises(InputError, match="the line is longer than 1 MiB"):
        long.fields()
    assert len(long.text) < 10_000
    assert (short.number, short.fields()) == (2, {"a": 2})


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV.gz"])
def test_csv_has_text_and_nulls(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = b'\xef\xbb\xbfid,label,n\r\na,"[""x\ny""]",1\r\n\r\nb,,\r\n'
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    read = list(open_rows(path))
    assert [row.fields() for row in read] == [
        {"id": "a", "label": '["x\ny"]', "n": "1"},
        {"id": "b", "label": None, "n": None},
    ]
    assert [row.number for row in read] == [1, 2]
    assert read[-1].progress == 1.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"a,b\n1,2\n1,2,3\n", "row 1: line 3 .* 3 cells; expected 2", id="cells"),
        pytest.param(b'a,b\n1,"2\n', "cannot be read: line 2", id="quote"),
        pytest.param(b"a,b\n1,\xff\n", "line 2 is not UTF-8: byte 0xff", id="bytes"),
        pytest.param(b"a,b,b\n1,2,3\n", "two columns are called 'b'", id="one column twice"),
    ],
)
def test_damaged_csv_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=problem):
        list(open_rows(path))


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_rows_of_arrow_files(tmp_path: Path, kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows"
    table = pyarrow.Table.from_pylist([{"a": number} for number in range(150)])
    make = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
    with make(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    assert [row.fields()["a"] for row in open_rows(path)] == list(range(150))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    read_until_damage(iter(open_rows(path)))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_table_with_two_columns_of_one_name_is_refused(tmp_path: Path, kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows"
    columns = [pyarrow.array(["a"]), pyarrow.array(["b"])]
    table = pyarrow.Table.from_arrays(columns, ["text", "text"])
    make = parquet.ParquetWriter if kind == "parquet" else pyarrow.ipc.new_stream
    with make(path, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="two columns are called 'text'"):
        list(open_rows(path))


def test_folder_of_one_data_set_is_read_whole(tmp_path: Path) -> None:
    for index in range(2):
        rows = "".join(json.dumps({"a": 2 * index + each}) + "\n" for each in range(2))
        (tmp_path / f"train-0000{index}-of-00002.jsonl").write_text(rows)
    (tmp_path / "cache-1.arrow").write_text("left by an earlier call")
    (tmp_path / "state.json").write_text("{}")
    read = list(open_rows(tmp_path))
    assert [(row.number, row.fields()["a"]) for row in read] == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert [row.progress for row in read] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        pytest.param([], "a folder without a file of rows", id="none"),
        pytest.param(["a.jsonl", "b.jsonl"], "several data sets; name one of .*b", id="two"),
        pytest.param(["a/0.csv", "b/0.csv"], "several data sets; name one of .*b", id="splits"),
    ],
)
def test_folder_of_several_data_sets_is_refused(
    tmp_path: Path, names: list[str], problem: str
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=problem):
        open_rows(tmp_path)


def test_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        open_rows(tmp_path / "absent")


def read_until_damage(rows: Iterator[object]) -> int:
    read: list[object] = []
    with pytest.raises(InputError, match=r"(is damaged|cannot be read)"):
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
        pytest.param(b'{"a": 1,}', "not JSON: .* at column [89]", id="comma"),
        pytest.param(b'{"a": 1\n', "not JSON: .* at column 8;", id="ends early"),
        pytest.param(b'{"a": 1} {"a": 2}', "not JSON: Extra data at column 10", id="two"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8: byte 0xff at offset 7", id="bytes"),
        pytest.param(b"[1]", "JSON, but an array; expected an object", id="array"),
        pytest.param(b"null", "JSON, but null", id="null"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"a": %s}' % (b"9" * 5000), "more than 4300 digits", id="long number"),
    ],
)
def test_text_that_is_no_object_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_object(text)
