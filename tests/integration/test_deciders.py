"""Checkers and interactors in other languages than Python, in a native jail."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from grader import languages
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, GradingRules, Submission
from grader.model.verdict import Integrity, Verdict
from grader.running import deciders
from grader.suites import parse_label
from tests.conftest import missing

FACTORS = {
    "cpp": """
#include <fstream>
int main(int, char **paths) {
    long number, a, b;
    std::ifstream input(paths[1]), output(paths[2]);
    input >> number;
    if (!(output >> a >> b)) return 2;
    return a > 1 && b > 1 && a * b == number ? 0 : 1;
}
""",
    "javascript": """
const fs = require("fs");
const [, , input, output] = process.argv;
const [a, b] = fs.readFileSync(output, "utf8").trim().split(/\\s+/).map(BigInt);
process.exit(a > 1n && b > 1n && a * b === BigInt(fs.readFileSync(input, "utf8")) ? 0 : 1);
""",
    "bash": """
read -r number < "$1"; read -r a b < "$2"
[[ $a =~ ^[0-9]{1,9}$ && $b =~ ^[0-9]{1,9}$ ]] || exit 2
(( a > 1 && b > 1 && a * b == number )) || exit 1
""",
}
"""Checkers in testlib's way that ask for two factors of a number."""

TALK = """
#include <fstream>
#include <iostream>
int main(int, char **paths) {
    long secret, guess;
    std::ifstream(paths[1]) >> secret;
    for (int left = 10; left > 0 && std::cin >> guess; left--) {
        if (guess == secret) { std::cout << "found" << std::endl; return 0; }
        std::cout << (guess < secret ? "higher" : "lower") << std::endl;
    }
    return 1;
}
"""
GUESSES = """
low, high = 0, 1000
while (said := print(guess := (low + high) // 2, flush=True) or input()) != "found":
    low, high = (guess + 1, high) if said == "higher" else (low, guess - 1)
"""


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def require(name: str) -> None:
    found = languages.find(name)
    if found is not None and (lacking := languages.missing([found])):
        missing(found.title, f"there is no {', '.join(lacking)}")


def check(
    grader: Grader, checker: object, code: str, *, answer: str = "3 4", language: str = "python"
) -> GradeReport:
    label = {"inputs": ["12\n"], "outputs": [answer], "checker": checker, "language": language}
    submission = Submission(id="0", completion=code, suite=parse_label(label))
    return grader.grade(submission)


@pytest.mark.parametrize("language", FACTORS)
def test_checker_in_any_language_decides(grader: Grader, language: str) -> None:
    require(language)
    checker = {"source": FACTORS[language], "language": language}
    said = {
        printed: check(grader, checker, f"print({printed!r})").verdict
        for printed in ("2 6", "4 3", "1 12", "3", "two factors", "")
    }
    assert [each for each, verdict in said.items() if verdict is Verdict.PASSED] == ["2 6", "4 3"]
    assert set(said.values()) == {Verdict.PASSED, Verdict.FAILED}


def test_submission_and_checker_have_a_language_each(grader: Grader) -> None:
    require("cpp")
    report = check(grader, FACTORS["cpp"], 'echo "6 2"', language="bash")
    assert (report.verdict, report.integrity) == (Verdict.PASSED, Integrity.ISOLATED)
    assert report.conditions is not None
    assert report.conditions.image == "bash+cpp"


def test_checker_is_compiled_once(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    require("cpp")
    compiled: list[str] = []
    compile_now = deciders._compile

    def count(role: str, *arguments: Any) -> bytes:
        compiled.append(role)
        return compile_now(role, *arguments)

    monkeypatch.setattr(deciders, "_compile", count)
    source = f"// of {uuid4()}\n{FACTORS['cpp']}"
    verdicts = {check(grader, source, "print(2, 6)").verdict for _ in range(3)}
    assert (compiled, verdicts) == (["checker"], {Verdict.PASSED})


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("#include <x>\nint main() {}", "does not compile", id="does not compile"),
        pytest.param("#include <cstdlib>\nint main() { abort(); }", "signal", id="aborts"),
        pytest.param("#include <x.h>\nint main() { return 9; }", "compile", id="lacks a file"),
        pytest.param("#include <ios>\nint main() { return 9; }", "exit code 9", id="odd status"),
        pytest.param("#include <ios>\nint main() { return 3; }", "exit code 3", id="declares it"),
    ],
)
def test_checker_that_fails_on_right_outputs_is_the_suites_fault(
    grader: Grader, source: str, words: str
) -> None:
    require("cpp")
    report = check(grader, source, "print('3 4')")
    assert (report.verdict, report.graded) == (Verdict.INTERNAL_ERROR, False)
    assert "the suite's checker" in report.feedback
    assert words in report.feedback


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("for (;;) {}", id="loops", marks=pytest.mark.slow),
        pytest.param("for (;;) fork();", id="forks", marks=pytest.mark.slow),
        pytest.param("std::string all; for (;;) all += std::string(1 << 20, 'x');", id="grows"),
        pytest.param("abort();", id="aborts"),
        pytest.param("throw 1;", id="throws"),
        pytest.param("_exit(77);", id="has another status"),
    ],
)
def test_output_that_breaks_a_checker_fails(grader: Grader, line: str) -> None:
    require("cpp")
    source = f"""
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
int main(int, char **paths) {{
    std::string said;
    std::ifstream(paths[2]) >> said;
    if (said == "break") {{ {line} }}
    return said == "3" ? 0 : 1;
}}
"""
    assert check(grader, source, "print('break')").verdict is Verdict.FAILED
    assert check(grader, source, "print('3 4')").verdict is Verdict.PASSED


def test_uncaught_exception_is_no_refusal(grader: Grader) -> None:
    """Node ends with exit code 1 then, as a checker that refuses does."""
    require("javascript")
    report = check(grader, {"source": "check();", "language": "js"}, "print('3 4')")
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "check is not defined" in report.feedback


def test_words_of_a_crash_in_a_refusal_stay_a_refusal(grader: Grader) -> None:
    require("javascript")
    source = """
const said = require("fs").readFileSync(process.argv[3], "utf8");
if (said.trim() !== "3 4") { console.error(said); process.exit(1); }
"""
    checker = {"source": source, "language": "javascript"}
    spoof = "print('ReferenceError: check is not defined\\n    at x:1')"
    for answer in ("3 4", ""):
        assert check(grader, checker, spoof, answer=answer).verdict is Verdict.FAILED


def test_checker_gets_output_byte_for_byte(grader: Grader) -> None:
    require("cpp")
    source = """
#include <fstream>
#include <iterator>
#include <string>
int main(int, char **paths) {
    std::ifstream file(paths[2], std::ios::binary);
    std::string said{std::istreambuf_iterator<char>(file), {}};
    return said == std::string("\\xff\\0\\r\\n", 4) ? 0 : 1;
}
"""
    code = r"import os; os.write(1, b'\xff\0\r\n')"
    assert check(grader, source, code).verdict is Verdict.PASSED


def test_files_of_a_checker_lie_beside_its_source(grader: Grader) -> None:
    require("cpp")
    source = '#include "rules/status.h"\nint main(int count, char **) { return STATUS + count; }'
    checker = {
        "source": source,
        "name": "check.cc",
        "files": {"rules/status.h": "#define STATUS -6\n"},
        "arguments": ["one", "two"],
    }
    assert check(grader, checker, "print(1)").verdict is Verdict.PASSED


ICPC = {
    "python": """
import sys
from pathlib import Path
given, answer, folder, *more = sys.argv[1:]
Path(folder, "judgemessage.txt").write_text("looked at it")
a, b = map(int, sys.stdin.read().split())
sys.exit(42 if a * b == int(Path(given).read_text()) and more == ["x"] else 43)
""",
    "cpp": """
#include <fstream>
#include <iostream>
#include <string>
int main(int, char **paths) {
    long number, a, b;
    std::ifstream(paths[1]) >> number;
    std::ofstream message(std::string(paths[3]) + "judgemessage.txt");
    if (!message || std::string(paths[4]) != "x") return 1;
    return std::cin >> a >> b && a * b == number ? 42 : 43;
}
""",
}


@pytest.mark.parametrize("language", ICPC)
def test_checker_in_the_icpcs_way_decides(grader: Grader, language: str) -> None:
    require(language)
    checker = {
        "source": ICPC[language],
        "kind": "icpc",
        "language": language,
        "arguments": ["x"],
    }
    assert check(grader, checker, "print(2, 6)").verdict is Verdict.PASSED
    assert check(grader, checker, "print(2, 7)").verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("ending", "verdict"),
    [
        ("pass", Verdict.PASSED),
        ("sys.exit()", Verdict.PASSED),
        ("sys.exit(1)", Verdict.FAILED),
        ("sys.exit('12 is not 13')", Verdict.FAILED),
        ("sys.exit('')", Verdict.FAILED),
        ("sys.exit([])", Verdict.FAILED),
        ("os._exit(0)", Verdict.INTERNAL_ERROR),
    ],
)
def test_checker_in_python_ends_as_under_python(
    grader: Grader, ending: str, verdict: Verdict
) -> None:
    checker = {"source": f"import os, sys\n{ending}\n", "kind": "testlib"}
    report = check(grader, checker, "print(1)")
    assert report.verdict is verdict
    assert ("12 is not 13" in report.feedback) is ("12" in ending)


def test_interactor_that_exits_has_returned_nothing(grader: Grader) -> None:
    source = "def interact(case, answer):\n    print(case)\n    raise SystemExit(0)\n"
    suite = parse_label({"interactor": source, "inputs": ["1"]})
    report = grader.grade(Submission(id="0", completion="input()", suite=suite))
    assert report.verdict is Verdict.INTERNAL_ERROR


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        pytest.param(GUESSES, Verdict.PASSED, id="right"),
        pytest.param("print(1)\nprint(input())", Verdict.FAILED, id="gives up"),
        pytest.param("print('x')\nprint(input())", Verdict.FAILED, id="says nonsense"),
        pytest.param("x = 1 / 0", Verdict.RUNTIME_ERROR, id="crashes"),
        pytest.param(GUESSES + "1 / 0", Verdict.RUNTIME_ERROR, id="crashes at the end"),
        pytest.param("input()", Verdict.TIME_LIMIT, id="waits for each other"),
    ],
)
@pytest.mark.parametrize(("kind", "statuses"), [("testlib", (0, 1)), ("icpc", (42, 43))])
def test_interactor_in_cpp_decides(
    grader: Grader, code: str, verdict: Verdict, kind: str, statuses: tuple[int, int]
) -> None:
    require("cpp")
    right, wrong = statuses
    source = TALK.replace("return 0", f"return {right}").replace("return 1", f"return {wrong}")
    label = {"interactor": {"source": source, "kind": kind}, "inputs": ["417", "0"]}
    suite = parse_label(label)
    report = grader.grade(Submission(id="0", completion=code, suite=suite))
    assert report.verdict is verdict, report.feedback


TESTLIB = """
#include "testlib.h"
int main(int argc, char **argv) {
    registerTestlibCmd(argc, argv);
    int number = inf.readInt();
    long long a = ouf.readLong(2, number), b = ouf.readLong(2, number);
    if (a * b != number) quitf(_wa, "%lld * %lld is not %d", a, b, number);
    quitf(_ok, "right");
}
"""


@pytest.mark.parametrize(
    ("code", "verdict", "words"),
    [
        pytest.param("print(6, 2)", Verdict.PASSED, "", id="right"),
        pytest.param("print(2, 5)", Verdict.FAILED, "2 * 5 is not 12", id="wrong"),
        pytest.param("print(2)", Verdict.FAILED, "Unexpected end of file", id="too little"),
        pytest.param("print(6, 2, 1)", Verdict.FAILED, "Extra information", id="too much"),
        pytest.param("print('9' * 1_000_000)", Verdict.FAILED, "refused for its form", id="long"),
        pytest.param("print('\\0ok\\npoints 1')", Verdict.FAILED, "refused", id="words"),
    ],
)
def test_checker_for_testlib_decides(
    grader: Grader, code: str, verdict: Verdict, words: str
) -> None:
    require("cpp")
    report = check(grader, TESTLIB, code)
    assert report.verdict is verdict
    assert words in report.feedback


def test_header_may_be_included_like_those_of_the_system(grader: Grader) -> None:
    require("cpp")
    source = TESTLIB.replace('"testlib.h"', "<testlib.h>")
    assert check(grader, source, "print(6, 2)").verdict is Verdict.PASSED


def test_own_testlib_takes_the_place_of_the_projects(grader: Grader) -> None:
    require("cpp")
    own = "#define RIGHT 0\n"
    checker = {
        "source": '#include "testlib.h"\nint main() { return RIGHT; }',
        "files": {"testlib.h": own},
    }
    assert check(grader, checker, "print(1)").verdict is Verdict.PASSED


@pytest.mark.parametrize("stop_early", [True, False])
def test_checked_program_runs_no_more_once_a_run_has_failed(
    grader: Grader, stop_early: bool
) -> None:
    label = {
        "inputs": ["15", "0", "21"],
        "outputs": ["3 5", "", "3 7"],
        "checker": "def check(input, output, answer):\n    return output.split() == answer.split()",
    }
    code = "n = int(input())\nprint({15: '3 5', 21: '3 7'}[n])"
    rules = GradingRules(stop_early=stop_early)
    suite = parse_label(label)
    report = grader.grade(Submission(id="0", completion=code, suite=suite, rules=rules))
    last = "skipped" if stop_early else "passed"
    assert [case.verdict for case in report.cases] == ["passed", "runtime_error", last]
