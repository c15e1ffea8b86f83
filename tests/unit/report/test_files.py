"""The lines of graded files while they grow, whatever the parts in which they are written."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.report.files import LineFile

OBJECTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3)
LINES = st.lists(OBJECTS.map(json.dumps) | st.just(""), max_size=5)


@given(lines=LINES, ends_with_newline=st.booleans(), cuts=st.lists(st.integers(0, 60), max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
def test_growing_file_gives_each_line_once_with_its_number(
    tmp_path: Path, lines: list[str], ends_with_newline: bool, cuts: list[int], is_packed: bool
) -> None:
    whole = "\n".join(lines).encode() + b"\n" * ends_with_newline
    written = gzip.compress(whole) if is_packed else whole
    path = tmp_path / "rows.jsonl"
    path.write_bytes(written[:2])
    file = LineFile(path)
    found = []
    for end in [*sorted(cuts), len(written)]:
        path.write_bytes(written[: max(end, 2)])
        found += list(file.new_lines())
    wanted = [(number, line) for number, line in enumerate(lines, start=1) if line]
    assert [(line.number, line.text.decode().rstrip("\n")) for line in found] == wanted
    assert [file.read(line.offset, len(line.text)) for line in found] == [
        line.text for line in found
    ]


@pytest.mark.parametrize("last", ['{"a": 1', '{"a": "}', '{"a": {}', '"{}"', "{}{", "1"], ids=repr)
def test_last_line_that_is_not_whole_is_left_out(tmp_path: Path, last: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"b": 2}}\n{last}')
    assert [line.text for line in LineFile(path).new_lines()] == [b'{"b": 2}\n']
