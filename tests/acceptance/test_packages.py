"""Recorded problem packages, and testlib's own checkers with the project's testlib.h.

Of the packages, these are the ones whose programs need few minutes and whose checkers need no image
of two languages. docs/known-disagreements.md has the reasons for what is named here; no other
program may differ from its folder.
"""

import subprocess
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.languages import languages
from grader.model import LimitOverrides
from grader.offline.package_check import check_submissions, with_time_limit
from grader.offline.packages import read_package
from tests.acceptance.data import Row, read_rows
from tests.compilers import need, need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DIFFERING = {
    ("kattis_problemtools_examples", "hello"): set[str](),
    ("kattis_problemtools_examples", "oddecho"): set[str](),
    ("icpc_wintercontest_packages", "basicbrewing"): set[str](),
    ("icpc_wintercontest_packages", "indexcase"): set[str](),
    ("domjudge_example_problems", "fltcmp"): {
        "submissions/accepted/fltcmp-test-write-files-between-testcases.R",
    },
}
"""Programs whose verdict is not that of their folder, by the file and the name of the package."""
BY_CHANCE = {"submissions/run_time_error/memory_limit.cc"}
"""Programs of these packages that get the verdict of their folder in some runs only."""


def write(files: dict[str, str], folder: Path) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


@pytest.mark.parametrize("package", DIFFERING, ids="-".join)
def test_programs_get_the_verdicts_of_their_folders(
    grader: Grader, data_dir: Path, tmp_path: Path, package: tuple[str, str]
) -> None:
    file, problem = package
    (row,) = (
        row
        for row in read_rows(data_dir / f"languages/{file}.jsonl.gz")
        if row["problem"] == problem
    )
    write(row["files"], tmp_path)
    read = read_package(tmp_path)
    for each in read.submissions:
        if each.language and each.language in languages():
            need_in(grader, each.language)
    read = with_time_limit(read, grader, LimitOverrides())
    found = check_submissions(read, grader, LimitOverrides())
    differing = {each.submission.path for each in found if each.agrees is False}
    assert differing - BY_CHANCE == DIFFERING[package]
    assert [each.feedback for each in found if each.report and not each.report.graded] == []
    assert any(each.agrees for each in found)


TESTLIB = "tests/test-002_run-fcmp-wcmp"
COMPARED = {
    "r1": ("wcmp", "answer.01"),
    "r2": ("wcmp", "output.01"),
    "r3": ("wcmp", "answer2.01"),
    "r4": ("fcmp", "answer.01"),
    "r5": ("fcmp", "output.01"),
    "r6": ("fcmp", "answer2.01"),
}
"""The checker and the answer of each recorded end."""


@pytest.fixture(scope="module")
def testlib(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Row]:
    """The files of testlib, with the project's header in place of its own."""
    need("cpp")
    (row,) = read_rows(data_dir / "languages/testlib.jsonl.gz")
    folder = tmp_path_factory.mktemp("testlib")
    write(row["files"], folder)
    (folder / "testlib.h").write_bytes(languages()["cpp"].libraries["testlib.h"])
    return folder, row["files"]


def compiled(source: Path, *options: str) -> Path:
    program = source.with_suffix("")
    command = ["g++", "-std=gnu++17", "-w", f"-I{source.parents[1]}", *options, str(source)]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def test_checkers_and_interactors_of_testlib_compile(testlib: tuple[Path, Row]) -> None:
    folder, files = testlib
    sources = [path for path in files if path.startswith(("checkers/", "interactors/"))]
    assert len(sources) == 22
    for path in sources:
        compiled(folder / path, "-fsyntax-only")


@pytest.mark.parametrize("output", ["output.01", "output.01.bom"])
def test_checkers_of_testlib_end_as_recorded(testlib: tuple[Path, Row], output: str) -> None:
    folder, files = testlib
    programs = {name: compiled(folder / f"checkers/{name}.cpp") for name in ("wcmp", "fcmp")}
    for end, (checker, answer) in COMPARED.items():
        paths = (f"files/{name}" for name in ("input.01", output, answer))
        done = subprocess.run(
            [str(programs[checker]), *paths],
            cwd=folder / TESTLIB,
            capture_output=True,
            text=True,
        )
        recorded = [
            files[f"{TESTLIB}/refs/{end}/{name}"].strip() for name in ("exit_code", "stderr")
        ]
        assert [str(done.returncode), done.stderr.strip()] == recorded, end
