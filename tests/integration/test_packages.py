"""`grader check` of problem packages, in both formats, in a native jail."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from grader import languages
from grader.model.errors import InputError
from grader.offline.packages import is_package, read_package
from tests.commands import Run
from tests.conftest import missing

CASES = {
    "data/sample/1.in": "2 3\n",
    "data/sample/1.ans": "Sum 5\n",
    "data/secret/a/1.in": "20 22\n",
    "data/secret/a/1.ans": "Sum 42\n",
}
ADDS = "a, b = map(int, input().split())\n"
ICPC = {
    "problem.yaml": "name: 'Sum' # of two\nlimits:\n  memory: 256\n  time_limit: 1\n",
    **CASES,
    "submissions/accepted/adds.py": ADDS + "print('sum', a + b)",
    "submissions/accepted/adds.sh": "read -r a b; echo Sum $((a + b))",
    "submissions/accepted/mistaken.py": ADDS + "print('Sum', 5)",
    "submissions/wrong_answer/subtracts.py": ADDS + "print('Sum', a - b)",
    "submissions/run_time_error/divides.py": ADDS + "print(1 // 0)",
    "submissions/time_limit_exceeded/loops.py": "while True: pass",
    "submissions/mixed/named.py": "# @EXPECTED_RESULTS@: WRONG-ANSWER, RUN-ERROR\nprint(1)",
    "submissions/partially_accepted/half.py": ADDS + "print('Sum', 5)",
    "submissions/accepted/two/main.py": "import other",
    "submissions/accepted/two/other.py": "print(1)",
    "submissions/accepted/adds.xyz": "?",
}
ICPC_VERDICTS = {
    "submissions/accepted/adds.py": ("passed", True),
    "submissions/accepted/adds.sh": ("passed", True),
    "submissions/accepted/mistaken.py": ("failed", False),
    "submissions/wrong_answer/subtracts.py": ("failed", True),
    "submissions/run_time_error/divides.py": ("runtime_error", True),
    "submissions/time_limit_exceeded/loops.py": ("time_limit", True),
    "submissions/mixed/named.py": ("failed", True),
    "submissions/partially_accepted/half.py": ("failed", None),
    "submissions/accepted/two": (None, None),
    "submissions/accepted/adds.xyz": (None, None),
}

POLYGON_XML = """<?xml version="1.0" encoding="utf-8"?>
<problem short-name="factors">
  <judging input-file="" output-file="">
    <testset name="tests">
      <time-limit>1000</time-limit><memory-limit>268435456</memory-limit>
      <input-path-pattern>tests/%02d</input-path-pattern>
      <answer-path-pattern>tests/%02d.a</answer-path-pattern>
      <tests><test method="manual" sample="true"/><test method="generated" cmd="gen 1"/></tests>
    </testset>
  </judging>
  <assets>
    <checker type="testlib"><source path="files/check.cpp" type="cpp.g++17"/></checker>
    <solutions>
      <solution tag="main"><source path="solutions/main.py" type="python.3"/></solution>
      <solution tag="wrong-answer"><source path="solutions/one.py" type="python.3"/></solution>
      <solution tag="rejected"><source path="solutions/none.py" type="python.3"/></solution>
    </solutions>
  </assets>
</problem>
"""
POLYGON = {
    "problem.xml": POLYGON_XML,
    "files/check.cpp": """
#include "testlib.h"
int main(int argc, char **argv) {
    registerTestlibCmd(argc, argv);
    int number = inf.readInt(), a = ouf.readInt(2, number), b = ouf.readInt(2, number);
    quitf(a * b == number ? _ok : _wa, "%d", a * b);
}
""",
    "tests/01": "12\n",
    "tests/01.a": "3 4\n",
    "tests/02": "35\n",
    "tests/02.a": "5 7\n",
    "solutions/main.py": "n = int(input())\n"
    "d = next(d for d in range(2, n) if n % d == 0)\nprint(d, n // d)",
    "solutions/one.py": "print(1, input())",
    "solutions/none.py": "print()",
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def pack(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"inside/{name}", text)
    return path


def test_verdicts_are_compared_with_the_folders(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "sum", ICPC)
    done = run("check", "sum", "--sandbox", "native", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["package"] == "Sum"
    found = {each["path"]: (each["verdict"], each["agrees"]) for each in said["submissions"]}
    assert found == ICPC_VERDICTS


def test_polygon_package_uses_its_checker(tmp_path: Path, run: Run) -> None:
    cpp = languages.find("cpp")
    assert cpp is not None
    if lacking := languages.missing([cpp]):
        missing("C++", f"there is no {', '.join(lacking)}")
    pack(tmp_path / "factors.zip", POLYGON)
    done = run("check", "factors.zip", "--sandbox", "native")
    assert done.returncode == 0, done.stderr
    assert "factors: 3 of 3 submissions agree" in done.stdout
    assert "DIFFERS" not in done.stdout


def test_options_for_files_of_problems_are_refused(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "sum", ICPC)
    done = run("check", "sum", "-o", "out.jsonl")
    assert done.returncode == 2
    assert "is a problem package" in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"data/sample/1.ans": None}, "no file data/sample/1.ans", id="answer"),
        pytest.param({"problem.yaml": "type: multi-pass"}, "several passes", id="passes"),
        pytest.param({"problem.yaml": "type: interactive"}, "no output validator", id="validator"),
        pytest.param({"problem.yaml": "limits:\n  memory: much"}, "no number", id="limit"),
        pytest.param(
            {"output_validators/a.py": "", "output_validators/b.py": ""}, "one source", id="two"
        ),
        pytest.param(dict.fromkeys(CASES), "no case", id="no case"),
        pytest.param({"problem.yaml": None}, "neither problem.yaml nor", id="no description"),
    ],
)
@pytest.mark.parametrize("make", [write, pack])
def test_wrong_icpc_package_is_refused(
    tmp_path: Path,
    make: Callable[[Path, Mapping[str, str]], Path],
    changes: Mapping[str, str | None],
    message: str,
) -> None:
    files = {name: text for name, text in {**ICPC, **changes}.items() if text is not None}
    with pytest.raises(InputError, match=message):
        read_package(make(tmp_path / "sum.zip" if make is pack else tmp_path / "sum", files))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("<?xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><?xml", "entities", id="entities"),
        pytest.param("</problem>", "", "does not parse", id="cut off"),
        pytest.param('input-file=""', 'input-file="a.in"', "only standard input", id="files"),
        pytest.param("1000<", "x<", "no whole number", id="limit"),
        pytest.param("%02d<", "%02d%s<", "pattern of paths", id="pattern"),
        pytest.param("</tests>", "<test/></tests>", "no file tests/03", id="cases"),
        pytest.param("files/check.cpp", "../check.cpp", "no file ../check.cpp", id="path"),
        pytest.param("solutions/one.py", "solutions/two.py", "no solution", id="solution"),
    ],
)
def test_wrong_polygon_package_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    files = {**POLYGON, "problem.xml": POLYGON_XML.replace(old, new, 1)}
    with pytest.raises(InputError, match=message):
        read_package(write(tmp_path / "factors", files))


def test_package_reads_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "sum", ICPC)
    (tmp_path / "secret").write_text("secret")
    (folder / "data/sample/1.ans").unlink()
    (folder / "data/sample/1.ans").symlink_to(tmp_path / "secret")
    assert is_package(folder)
    with pytest.raises(InputError, match="link out of the folder"):
        read_package(folder)


def test_damaged_zip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK no archive")
    with pytest.raises(InputError, match="cannot be read"):
        read_package(path)


@pytest.mark.parametrize(
    ("flags", "output", "answer", "is_right"),
    [
        ("", "SUM  5\n\n", "sum 5", True),
        ("", "sum 5.0", "sum 5", False),
        ("case_sensitive", "SUM 5", "sum 5", False),
        ("space_change_sensitive", "sum  5\n", "sum 5\n", False),
        ("space_change_sensitive", "SUM 5\n", "sum 5\n", True),
        ("float_tolerance 1e-2", "x 1.009", "x 1", True),
        ("float_tolerance 1e-2", "x 1.011", "x 1", False),
        ("float_relative_tolerance 1e-2", "0.001", "0", False),
        ("float_absolute_tolerance 1e-2", "0.001", "0", True),
        ("float_tolerance 1e-2", "nan", "1", False),
    ],
)
def test_usual_comparison_is_that_of_the_format(
    tmp_path: Path, flags: str, output: str, answer: str, is_right: bool
) -> None:
    yaml = f"name: Sum\nvalidator_flags: {flags}\n"
    tests = read_package(write(tmp_path / "sum", {**ICPC, "problem.yaml": yaml})).suite.tests
    checker = languages.decider(tests)
    assert checker is not None
    names: dict[str, Callable[[str, str, str], bool]] = {}
    exec(checker.source, names)  # noqa: S102 - the grader's own text
    assert names["check"]("", output, answer) is is_right
