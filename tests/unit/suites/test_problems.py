import gzip
import json
import threading
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.model import StdinTests
from grader.model.errors import InputError, LabelError
from grader.offline.problems import load_problems
from grader.suites import ProblemIndex, parse_label
from grader.suites import problems as problems_module


def row(problem_id: str, answer: str = "4") -> dict[str, object]:
    return {"id": problem_id, "inputs": ["2"], "outputs": [answer]}


def write(path: Path, rows: list[Mapping[str, object]]) -> Path:
    text = "".join(json.dumps(item) + "\n" for item in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_problem_is_found_by_its_id(tmp_path: Path, name: str) -> None:
    with ProblemIndex.load(write(tmp_path / name, [row("é", "1"), row("b", "2")])) as problems:
        assert list(problems) == ["é", "b"]
        suite = problems.get("b")
        assert suite is not None
        assert isinstance(suite.tests, StdinTests)
        assert (suite.problem_id, suite.tests.cases[0].expected) == ("b", "2")
        assert problems.get("c") is None
        assert ("b" in problems, "c" in problems, len(problems)) == (True, False, 2)


def test_gzipped_file_is_recognised_by_its_first_bytes(tmp_path: Path) -> None:
    packed = write(tmp_path / "p.jsonl.gz", [row("a")]).rename(tmp_path / "packed")
    plain = write(tmp_path / "p.jsonl", [row("a")]).rename(tmp_path / "plain.gz")
    for path in (packed, plain):
        with ProblemIndex.load(path) as problems:
            assert list(problems) == ["a"]


def test_array_of_problems_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([row("a")], indent=1))
    with load_problems(path) as problems:
        assert list(problems) == ["a"]


def test_short_label_finds_its_problem_in_the_file(tmp_path: Path) -> None:
    with ProblemIndex.load(write(tmp_path / "p.jsonl", [row("a")])) as problems:
        assert parse_label('{"problem": "a"}', problems=problems) == problems.get("a")


def test_rows_from_elsewhere_are_indexed() -> None:
    with ProblemIndex.from_rows(iter([row("a"), row("b")])) as problems:
        assert list(problems) == ["a", "b"]
        assert problems.row("b") == row("b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"id": 1}\n{"id"', "line 2: not JSON", id="cut off"),
        pytest.param("[1]", "line 1: JSON, but an array", id="list"),
        pytest.param("[" * 100_000, "line 1: JSON nested too deeply", id="deep"),
    ],
)
def test_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=f"p.jsonl.*{message}"):
        ProblemIndex.load(path)


def test_rows_with_the_same_id_are_named_by_their_lines(tmp_path: Path) -> None:
    rows: list[Mapping[str, object]] = [row("a", "1"), row("b"), row("a", "2"), row("b")]
    rows.append({"inputs": [], "outputs": []})
    with load_problems(write(tmp_path / "p.jsonl", rows)) as problems:
        assert list(problems) == ["a (line 1)", "b", "a (line 3)", "line 5"]
        assert problems.get("b") is not None
        assert problems.row("a (line 3)") == row("a", "2")
        with pytest.raises(LabelError, match="'a' stands for different problems, in lines 1 and 3"):
            problems.get("a")


def test_problems_without_ids_are_refused_if_they_are_looked_up_by_id(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", [{"pid": "a", "inputs": ["1"], "outputs": ["1"]}])
    with pytest.raises(InputError, match=r"no row has an id .*found the fields pid, inputs"):
        load_problems(path)
    with load_problems(path, by_id=False) as problems:
        assert list(problems) == ["line 1"]


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl"):
        ProblemIndex.load(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no gzip", id="none"),
        # Without the time in its header, so that the test's name is the same each time.
        pytest.param(gzip.compress(b'{"id": 1}\n' * 9, mtime=0)[:-9], id="cut off"),
    ],
)
def test_damaged_gzip_is_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"p\.jsonl\.gz"):
        ProblemIndex.load(path)


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_line_that_is_too_long_is_refused_before_it_is_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems_module, "MAX_LINE_BYTES", 1000)
    path = write(tmp_path / name, [row("a"), row("b", "4" * 1000)])
    with pytest.raises(InputError, match="line 2: longer than 1000 bytes"):
        ProblemIndex.load(path)


def test_bad_row_is_refused_only_when_it_is_needed(tmp_path: Path) -> None:
    with ProblemIndex.load(write(tmp_path / "p.jsonl", [{"id": "bad"}, row("good")])) as problems:
        assert problems.get("good") is not None
        with pytest.raises(LabelError, match="no known format"):
            problems.get("bad")


def test_row_of_shared_files_is_not_indexed(tmp_path: Path) -> None:
    rows: list[Mapping[str, object]] = [row("a"), {"name": "_support", "files": {}}]
    with ProblemIndex.load(write(tmp_path / "p.jsonl", rows)) as problems:
        assert list(problems) == ["a"]


def test_same_suite_is_parsed_once(tmp_path: Path) -> None:
    with ProblemIndex.load(write(tmp_path / "p.jsonl", [row("a")])) as problems:
        assert problems.get("a") is problems.get("a")


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    rows: list[Mapping[str, object]] = [
        {**row(str(number)), "padding": "x" * 30_000} for number in range(400)
    ]
    path = write(tmp_path / "p.jsonl", rows)
    del rows
    tracemalloc.start()
    try:
        with ProblemIndex.load(path) as problems:
            assert all(problems.get(problem_id) for problem_id in problems)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def test_index_serves_many_threads(tmp_path: Path) -> None:
    ids = [str(number) for number in range(200)]
    found: list[str | None] = []
    with ProblemIndex.load(write(tmp_path / "p.jsonl", [row(name) for name in ids])) as problems:

        def look_up() -> None:
            found.extend(suite.problem_id for name in ids if (suite := problems.get(name)))

        threads = [threading.Thread(target=look_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(str, found)) == sorted(ids * 4)
