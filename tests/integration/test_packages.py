"""`grader check` of problem packages, in both formats, in a native jail."""

import contextlib
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import languages
from grader.model import InteractiveTests, StdinTests
from grader.model.errors import InputError, LabelError
from grader.offline.package_parts import ProblemPackage
from grader.offline.package_rows import row_of
from grader.offline.packages import is_package, read_package
from grader.suites import parse_label
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
    "submissions/check_manually/half.py": ADDS + "print('Sum', 5)",
    "submissions/accepted/two/main.py": ADDS + "import other\nother.show(a + b)",
    "submissions/accepted/two/other.py": "def show(n): print('Sum', n)",
    "submissions/accepted/two/notes.txt": "It has two files.",
    "submissions/accepted/mixed/main.py": "print(1)",
    "submissions/accepted/mixed/main.sh": "echo 1",
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
    "submissions/check_manually/half.py": ("failed", None),
    "submissions/accepted/two": ("passed", True),
    "submissions/accepted/mixed": (None, None),
    "submissions/accepted/adds.xyz": (None, None),
}

SCORED = {
    "problem.yaml": "name:\n  en: Sum\ntype: scoring\n",
    **CASES,
    "data/secret/a/2.in": "1 1\n",
    "data/secret/a/2.ans": "Sum 2\n",
    "data/secret/a/testdata.yaml": "accept_score: 60\ngrader_flags: min\n",
    "data/secret/b/test_group.yaml": "max_score: 30\n",
    "data/secret/b/1.in": "-1 1\n",
    "data/secret/b/1.ans": "Sum 0\n",
    "data/secret/c.in": "7 0\n",
    "data/secret/c.ans": "Sum 7\n",
    "data/secret/testdata.yaml": "accept_score: 10\n",
    "submissions/accepted/adds.py": ADDS + "print('Sum', a + b)",
    "submissions/partially_accepted/not_negative.py": ADDS + "print('Sum', abs(a) + b)",
    "submissions/partially_accepted/large.py": ADDS + "print('Sum', a + b if a > 1 else 0)",
}
SCORES = {
    "submissions/accepted/adds.py": (1.0, True),
    "submissions/partially_accepted/not_negative.py": (0.7, True),
    "submissions/partially_accepted/large.py": (0.4, True),
}
TALKS = {
    "problem.yaml": "name: Talk\ntype: interactive\nvalidator_flags: 'a  b'\n",
    "data/secret/1.in": "1\n",
    "output_validators/talk/talk.cpp": '#include "talk.h"\nint main() { return 43; }\n',
    "output_validators/talk/talk.h": "// é\n",
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


_PIECES = st.sampled_from(
    ["%", "d", ": ", "#", " " * 20_000, "\n", "9" * 400, "1e400", "nan", "-", "\x00", "\ud7ff", "<"]
)
_TEXTS = st.lists(_PIECES, max_size=4).map("".join) | st.text(max_size=5)


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


WAITS = "import time\nwhile time.process_time() < {}: pass\n"


@pytest.mark.parametrize(
    "description",
    [
        pytest.param("limits:\n  time_multiplier: 2\n", id="legacy"),
        pytest.param(
            "problem_format_version: 2023-07\n"
            "limits:\n  time_multipliers:\n    ac_to_time_limit: 1.5\n",
            id="2023-07",
        ),
        pytest.param("problem_format_version: 2023-07\nname: Sum\n", id="default of 2023-07"),
    ],
)
def test_slowest_accepted_submission_decides_the_time_limit(
    tmp_path: Path, run: Run, description: str
) -> None:
    sums = ADDS + "print('Sum', a + b)"
    files = {
        "problem.yaml": description,
        **CASES,
        "submissions/accepted/adds.py": sums,
        "submissions/accepted/waits.py": WAITS.format(0.6) + sums,
        "submissions/time_limit_exceeded/waits.py": WAITS.format(3) + sums,
    }
    write(tmp_path / "sum", files)
    done = run("check", "sum", "--sandbox", "native", "--json", "--keep", "kept.jsonl")
    assert done.returncode == 0, done.stderr
    found = [each["verdict"] for each in json.loads(done.stdout)["submissions"]]
    assert found == ["passed", "passed", "time_limit"]
    assert json.loads((tmp_path / "kept.jsonl").read_text())["time_limit_s"] <= 2


def test_time_limit_is_a_multiple_of_the_resolution(tmp_path: Path, run: Run) -> None:
    files = {
        "problem.yaml": "problem_format_version: 2023-07\nlimits:\n  time_resolution: 0.3\n",
        **CASES,
        "submissions/accepted/adds.py": WAITS.format(0.2) + ADDS + "print('Sum', a + b)",
    }
    write(tmp_path / "sum", files)
    done = run("check", "sum", "--sandbox", "native", "--keep", "kept.jsonl")
    assert done.returncode == 0, done.stderr
    limit_s = json.loads((tmp_path / "kept.jsonl").read_text())["time_limit_s"]
    assert limit_s / 0.3 == pytest.approx(round(limit_s / 0.3))


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


@pytest.mark.parametrize(
    "files", [ICPC, SCORED, POLYGON, TALKS], ids=["icpc", "scored", "polygon", "talks"]
)
def test_row_of_a_package_has_its_tests(tmp_path: Path, files: Mapping[str, str]) -> None:
    suite = read_package(write(tmp_path / "sum", files)).suite
    row = json.loads(json.dumps(row_of(ProblemPackage(name="sum", suite=suite, submissions=()))))
    again = parse_label(row)
    assert (again.language, again.limits) == ("any", suite.limits)
    assert isinstance(suite.tests, StdinTests | InteractiveTests)
    renamed = tuple(replace(case, id=str(number)) for number, case in enumerate(suite.tests.cases))
    assert isinstance(again.tests, StdinTests | InteractiveTests)
    assert again.tests.cases == renamed
    assert languages.decider(again.tests) == languages.decider(suite.tests)


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
        pytest.param({"problem.yaml": "limits:\n  memory: much"}, "not a number", id="limit"),
        pytest.param(
            {"output_validators/a.py": "", "output_validators/b.py": ""}, "one source", id="two"
        ),
        pytest.param(dict.fromkeys(CASES), "no case", id="no case"),
        pytest.param({"problem.yaml": "limits:\n  memory: inf"}, "memory limit is inf", id="inf"),
        pytest.param({"problem.yaml": "limits:\n  time_limit: 0"}, "time limit is 0", id="zero"),
        pytest.param({"problem.yaml": "limits: {memory: 512}"}, "lines of `key", id="flow"),
        pytest.param(
            {"problem.yaml": "limits:\n  time_multipliers: {ac_to_time_limit: 2}"},
            "lines of `key",
            id="flow of multipliers",
        ),
        pytest.param(
            {"problem.yaml": "limits:\n  time_multiplier: a few"}, "not a number", id="multiplier"
        ),
        pytest.param(
            {"problem.yaml": "limits:\n  time_multiplier: 0.5"}, "from 1 to 100", id="too tight"
        ),
        pytest.param(
            {"problem.yaml": "limits:\n  time_resolution: 0"}, "from 0.001 to 100", id="resolution"
        ),
        pytest.param({"problem.yaml": "type:\n- interactive"}, "no output validator", id="list"),
        pytest.param({"problem.yaml": "'type' : multi-pass"}, "several passes", id="quoted key"),
        pytest.param({"problem.yaml": "{{"}, "expected `key: value`", id="no YAML"),
        pytest.param({"problem.yaml": "validation: custom score"}, "scores that", id="score"),
        pytest.param({"problem.yaml": "validator_flags: exact"}, "flags are 'exact'", id="flag"),
        pytest.param(
            {"problem.yaml": "validator_flags: float_tolerance x"}, "float_tolerance x", id="number"
        ),
        pytest.param(
            {"data/secret/a/testdata.yaml": "output_validator_flags: case_sensitive"},
            "some of the cases only",
            id="flags of a group",
        ),
        pytest.param({"problem.yaml": None}, "neither problem.yaml nor", id="no description"),
        pytest.param({"problem.yaml": "type: submit-answer"}, "are answers", id="answers"),
        pytest.param(
            {"problem.yaml": "validation: custom", "output_validators/a.kt": ""},
            "no output validator in a language",
            id="validator in an unknown language",
        ),
        pytest.param({"include/default/lib.py": ""}, "nothing here besides", id="include"),
        pytest.param({"data/secret/a/1.args": "5"}, "nothing here besides", id="arguments"),
        pytest.param({"data/secret/a/1.files/b": "5"}, "nothing here besides", id="files"),
        pytest.param({"data/secret/test_group.yaml": "args: [5]"}, "args for", id="args of all"),
        pytest.param(
            {"data/secret/a/1.yaml": "output_validator_args: [case_sensitive]"},
            "some of the cases only",
            id="flags of a case",
        ),
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
        pytest.param("1000<", "x<", "not a whole number", id="limit"),
        pytest.param("%02d<", "%02d%s<", "pattern of paths", id="pattern"),
        pytest.param("%02d<", "%0999999999d<", "pattern of paths", id="wide pattern"),
        pytest.param("1000<", "-1<", "expected more than 0", id="negative limit"),
        pytest.param("1000<", f"{'9' * 4000}<", "at most", id="huge limit"),
        pytest.param("</tests>", "<test/></tests>", "no file tests/03", id="cases"),
        pytest.param("files/check.cpp", "../check.cpp", "no file ../check.cpp", id="path"),
        pytest.param("solutions/one.py", "solutions/two.py", "no solution", id="solution"),
        pytest.param('sample="true"', 'points="a"', "not a number", id="points"),
        pytest.param('sample="true"', 'points="-1"', "expected 0 to", id="negative points"),
        pytest.param('sample="true"', 'points="nan"', "expected 0 to", id="points that are none"),
    ],
)
def test_wrong_polygon_package_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    files = {**POLYGON, "problem.xml": POLYGON_XML.replace(old, new, 1)}
    with pytest.raises(InputError, match=message):
        read_package(write(tmp_path / "factors", files))


@pytest.mark.parametrize(
    ("policy", "points", "group"),
    [
        pytest.param("complete-group", [25.0, 75.0], "1", id="group"),
        pytest.param("each-test", [25.0, 75.0], None, id="each test"),
        pytest.param(None, [1.0, 1.0], None, id="none"),
    ],
)
def test_tests_of_polygon_earn_their_points(
    tmp_path: Path, policy: str | None, points: list[float], group: str | None
) -> None:
    text = POLYGON_XML
    if policy is not None:
        text = text.replace('sample="true"', 'points="25.0" group="1"')
        text = text.replace('cmd="gen 1"', 'points="75" group="1"')
        groups = f'<groups><group name="1" points-policy="{policy}"/></groups>'
        text = text.replace("</tests>", f"</tests>{groups}")
    package = read_package(write(tmp_path / "factors", {**POLYGON, "problem.xml": text}))
    assert isinstance(package.suite.tests, StdinTests)
    cases = package.suite.tests.cases
    assert [case.points for case in cases] == points
    assert [case.group for case in cases] == [group, group]


def test_package_reads_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "sum", ICPC)
    (tmp_path / "secret").write_text("secret")
    (folder / "data/sample/1.ans").unlink()
    (folder / "data/sample/1.ans").symlink_to(tmp_path / "secret")
    assert is_package(folder)
    with pytest.raises(InputError, match="link out of the folder"):
        read_package(folder)


def test_cpp_is_the_dialect_of_the_format(tmp_path: Path) -> None:
    added = {"submissions/accepted/adds.cc": "", "submissions/accepted/adds.c": ""}
    icpc = read_package(write(tmp_path / "talks", {**TALKS, **added}))
    named = {each.path: each.language for each in icpc.submissions}
    assert (named["submissions/accepted/adds.cc"], named["submissions/accepted/adds.c"]) == (
        "cpp20",
        "c",
    )
    interactor = languages.decider(icpc.suite.tests)
    checker = languages.decider(read_package(write(tmp_path / "polygon", POLYGON)).suite.tests)
    assert interactor is not None
    assert checker is not None
    assert (interactor.language, checker.language) == ("cpp20", "cpp")


def test_flags_of_all_data_are_those_of_the_problem(tmp_path: Path) -> None:
    named = {"data/testdata.yaml": "output_validator_flags: float_tolerance 1e-3 # each"}
    checker = languages.decider(read_package(write(tmp_path / "sum", ICPC | named)).suite.tests)
    assert checker is not None
    assert "['float_tolerance', '1e-3']" in checker.source


def test_groups_of_a_scoring_package_earn_their_points_together(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "sum", SCORED)
    done = run("check", "sum", "--sandbox", "native", "--json")
    said = json.loads(done.stdout)
    assert said["package"] == "Sum"
    found = {each["path"]: (each["score"], each["agrees"]) for each in said["submissions"]}
    assert found == SCORES


def _link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr = 3, 0o120777 << 16
    return entry


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("../data/secret/2.in", "1", "leads out", id="above"),
        pytest.param("data/../../2.in", "1", "leads out", id="above a folder"),
        pytest.param("data\\..\\..\\2.in", "1", "leads out", id="backslashes"),
        pytest.param("/data/secret/2.in", "1", "leads out", id="absolute"),
        pytest.param("data\\sample\\1.in", "1", "two files", id="twice"),
        pytest.param(_link("data/secret/2.in"), "../../../secret", "no file", id="link out"),
        pytest.param(_link("data/secret/2.in"), "/etc/passwd", "no file", id="absolute link"),
        pytest.param(_link("data/secret/2.in"), "2.in", "no file", id="link to itself"),
    ],
)
def test_hostile_entry_of_a_zip_file_is_refused(
    tmp_path: Path, name: str | zipfile.ZipInfo, content: str, message: str
) -> None:
    path = pack(tmp_path / "sum.zip", {})
    with zipfile.ZipFile(path, "a") as archive:
        for each, text in ICPC.items():
            archive.writestr(each, text)
        archive.writestr(name, content)
    with pytest.raises(InputError, match=message):
        read_package(path)


def test_links_inside_a_zip_file_are_followed(tmp_path: Path) -> None:
    path = pack(tmp_path / "sum.zip", ICPC)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(_link("inside/data/secret/2.in"), "../sample/1.in")
        archive.writestr(_link("inside/data/secret/2.ans"), "a/../../sample/1.ans")
    tests = read_package(path).suite.tests
    assert isinstance(tests, StdinTests)
    by_id = {case.id: case.stdin for case in tests.cases}
    assert by_id["secret/2"] == CASES["data/sample/1.in"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_file_that_lies_about_a_size_takes_no_memory(tmp_path: Path, method: int) -> None:
    path = tmp_path / "sum.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("problem.yaml", ICPC["problem.yaml"])
        archive.writestr("big", b"\0" * (16 << 20))
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="cannot be read"):
            read_package(path)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 << 20


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_package_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is wrong with a package, it is said, and at once."""
    icpc, polygon = {**SCORED, "data/testdata.yaml": "output_validator_flags: x"}, POLYGON
    files = dict(data.draw(st.sampled_from([ICPC, icpc, polygon])))
    name = data.draw(st.sampled_from([each for each in files if "submissions" not in each]))
    text = files[name]
    at = data.draw(st.integers(0, len(text)))
    files[name] = text[:at] + data.draw(_TEXTS) + text[at + data.draw(st.integers(0, 9)) :]
    path = pack(tmp_path_factory.mktemp("zip") / "sum.zip", files)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 2))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(InputError, LabelError):
        read_package(path)


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
