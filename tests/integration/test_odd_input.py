"""What each command says about odd input, and its exit code."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run

pytestmark = pytest.mark.usefixtures("native_sandbox")

LABEL = ["assert add(1, 2) == 3"]
CODE = "def add(a, b): return a + b"
ROW = {"id": "a", "completion": CODE, "label": LABEL}
GRADED = {"verdict": "passed", "score": 1.0, "reward": 1.0, "graded": True, "passed": 1, "total": 1}


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def stdio(**fields: Any) -> dict[str, Any]:
    label = {"inputs": ["1\n"], "outputs": ["1\n"], **fields}
    return {"id": "a", "completion": "print(input())", "label": label}


FILES = {
    "good.jsonl": lines(ROW),
    "array.json": json.dumps([ROW], indent=2),
    "document.json": json.dumps({"rows": [ROW]}, indent=2),
    "rows.csv": f'id,completion,label\na,"{CODE}","[""assert add(1, 2) == 3""]"\n',
    "cut.csv": "id,completion\na\n",
    "twice.csv": f'id,completion,completion\na,"{CODE}",b\n',
    "csv.txt": "id,completion,label\na,b,c\n",
    "empty.jsonl": "",
    "other.jsonl": lines(*[{"id": i, "output": CODE, "label": LABEL} for i in range(20)]),
    "untested.jsonl": lines(*[{"id": i, "completion": CODE, "checks": LABEL} for i in range(20)]),
    "ids.jsonl": lines({"task_id": "sum/12", "completion": CODE}),
    "problems.jsonl": lines(
        {"task_id": "sum/1", "test_list": LABEL}, {"task_id": "b", "tests": "x"}
    ),
    "clash.jsonl": lines({"id": "a", "test_list": LABEL}, {"id": "a", "test_list": []}),
    "unnamed.jsonl": lines({"pid": "a", "test_list": LABEL}),
    "unit.jsonl": lines(stdio(time_limit="2 sec", memory_limit="256 MiB")),
    "bytes.jsonl": lines(stdio(suite={"limits": {"memory_bytes": 256}})),
    "unclear.jsonl": lines(stdio(time_limit=200)),
    "fortnight.jsonl": lines(stdio(time_limit="2 fortnights")),
    "kib.jsonl": lines(stdio(memory_limit=262144)),
    "checker.jsonl": lines(stdio(checker="#include <testlib.h>")),
    "suffix.jsonl": lines(stdio(suffix="    return 1")),
    "fortran.jsonl": lines(stdio(language="fortran")),
    "kotlin.jsonl": lines({**ROW, "completion": "```kotlin\nval x = 1\n```", "language": "Kotlin"}),
    "java.jsonl": lines({**ROW, "language": "java"}),
    "english.jsonl": lines({**ROW, "language": "en"}, {**ROW, "language": "English"}),
    "graded.jsonl": lines({**ROW, "report": GRADED}),
    "set/train/data-00000-of-00001.jsonl": lines(ROW),
    "set/test/data-00000-of-00001.jsonl": lines(ROW),
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADER_SANDBOX", "native")
    monkeypatch.setenv("GRADER_SLOTS", "1")
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    for name in ("good.jsonl", "graded.jsonl"):
        Path(f"{name}.gz").write_bytes(gzip.compress(FILES[name].encode()))
    Path("cut.jsonl.gz").write_bytes(Path("good.jsonl.gz").read_bytes()[:40])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param("array.json", 0, "pass rate: 100.0 %", id="array"),
        pytest.param("rows.csv", 0, "pass rate: 100.0 %", id="csv"),
        pytest.param("set/train", 0, "pass rate: 100.0 %", id="folder"),
        pytest.param("good.jsonl.gz", 0, "pass rate: 100.0 %", id="gzip"),
        pytest.param("unit.jsonl", 0, "pass rate: 100.0 %", id="units"),
        pytest.param("document.json", 2, "if a field ROWS holds the array: jq -c", id="document"),
        pytest.param("set", 2, "several data sets; name one of set/test, set/train", id="splits"),
        pytest.param("cut.csv", 2, "1 cells; expected 2, as in the first line", id="cut csv"),
        pytest.param("twice.csv", 2, "two columns are called 'completion'", id="column twice"),
        pytest.param("csv.txt", 2, "row 1: not JSON: Expecting value", id="unknown text"),
        pytest.param("empty.jsonl", 3, "empty.jsonl has no rows: nothing was graded", id="empty"),
        pytest.param(
            "other.jsonl",
            2,
            "found the fields id, output, label; expected completion or response or solution or "
            "query; name the field by --completion-key, as in --completion-key output; none of "
            "the first 10 rows can be graded",
            id="completion",
        ),
        pytest.param(
            "good.jsonl --completion-key text",
            2,
            "expected text, which --completion-key names",
            id="wrong key",
        ),
        pytest.param(
            "good.jsonl --label-key tests",
            2,
            "expected tests, which --label-key names",
            id="wrong label",
        ),
        pytest.param("cut.jsonl.gz", 2, "cut.jsonl.gz is damaged: ", id="cut gzip"),
        pytest.param(
            "good.jsonl --problems empty.jsonl",
            2,
            "empty.jsonl has no rows; expected problems",
            id="no problems",
        ),
        pytest.param("untested.jsonl", 2, "name the field of the tests by --label-key", id="tests"),
        pytest.param(
            "other.jsonl --completion-key output", 0, "pass rate: 100.0 %", id="right key"
        ),
        pytest.param(
            "ids.jsonl --problems problems.jsonl",
            3,
            "lacks 'sum/12' (it has, for example, sum/1)",
            id="nearest id",
        ),
        pytest.param(
            "good.jsonl --problems clash.jsonl",
            3,
            "'a' stands for different problems, in lines 1 and 2",
            id="one id twice",
        ),
        pytest.param(
            "good.jsonl --problems unnamed.jsonl", 2, "found the fields pid, test_list", id="no id"
        ),
        pytest.param(
            "good.jsonl --set memory_bytes=256", 2, "expected at least 1048576", id="bytes"
        ),
        pytest.param("bytes.jsonl", 3, "memory_bytes is 256; expected at least 1048576", id="MB"),
        pytest.param(
            "unclear.jsonl", 3, "time_limit must be a number with a known unit", id="no unit"
        ),
        pytest.param("fortnight.jsonl", 3, "but is '2 fortnights'", id="unit"),
        pytest.param("kib.jsonl", 3, "memory_limit must be a number with", id="kib"),
        pytest.param("checker.jsonl", 3, "the suite's checker failed: the code", id="checker"),
        pytest.param("suffix.jsonl", 3, "suffix: code ", id="suffix"),
        pytest.param("fortran.jsonl", 3, "the language 'fortran' is not graded", id="language"),
        pytest.param("kotlin.jsonl", 3, "the language 'Kotlin' is not graded", id="beside label"),
        pytest.param("java.jsonl", 3, "only Python is graded", id="wrong tests for Java"),
        pytest.param("english.jsonl", 0, "pass rate: 100.0 %", id="language of the prompt"),
    ],
)
def test_grade_says_what_it_makes_of_its_rows(
    arguments: str, code: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["grade", *arguments.split(), "-o", "out.jsonl"]) == code
    shown = capfd.readouterr()
    assert message in shown.out + shown.err
    out = Path("out.jsonl")
    assert out.exists() is (code == 0 or "not graded: " in shown.err)
    if out.exists():
        reports = [json.loads(line)["report"] for line in out.read_text().splitlines()]
        assert {report["graded"] for report in reports} == {code == 0}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param("check empty.jsonl", 3, "the file is empty", id="check nothing"),
        pytest.param("check -", 2, "standard input does not allow", id="check standard input"),
        pytest.param("explain empty.jsonl a", 2, "empty.jsonl has no rows", id="explain nothing"),
        pytest.param(
            "explain graded.jsonl @9", 2, "no row on line 9; its last row is @1", id="line"
        ),
        pytest.param("explain graded.jsonl b", 2, "there are, for example: a", id="id"),
        pytest.param("images build --with=--pre", 2, "file; found '--pre'", id="no package"),
        pytest.param("images build cpp --with bs4", 2, "not for 'cpp'", id="packages for C++"),
        pytest.param("report graded.jsonl -o -", 0, "</html>", id="page to standard output"),
        pytest.param("report graded.jsonl.gz -o -", 0, "</html>", id="page of a gzipped file"),
        pytest.param("report graded.jsonl -o /dev/full", 2, "/dev/full exists", id="there"),
        pytest.param("report graded.jsonl -o /dev/full --force", 3, "No space left", id="full"),
        pytest.param("export graded.jsonl -o no/run.csv", 2, "No such file", id="no such folder"),
        pytest.param("report graded.jsonl -o no/page.html", 2, "No such file", id="no folder"),
        pytest.param("explain good.jsonl a", 2, "no field 'report'", id="ungraded"),
    ],
)
def test_other_commands_say_what_they_found(
    arguments: str, code: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments.split()) == code
    shown = capfd.readouterr()
    assert message in shown.out + shown.err
