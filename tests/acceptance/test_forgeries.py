"""Recorded forgeries: programs that end with exit code 0 although they are wrong.

Each is graded as it stands, as a program and as an answer to tests of the function that it
defines, and must not be paid. They are about a function that should return 2 for 1.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import languages
from grader.grading.grader import Grader
from grader.languages import Language
from grader.model import Submission
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.acceptance.data import Row, grade_all, read_rows
from tests.compilers import need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FILE = "languages/forgeries_native.jsonl.gz"
TESTS = {
    "bash": 'candidate() {\n    f "$@"\n}\n    [[ $(candidate 1) = "2" ]]\n',
    "cpp": "    auto candidate = f;\n    assert(candidate((1)) == (2));\n",
    "csharp": "    Debug.Assert(f((1)) == (2));\n",
    "go": "func TestF(t *testing.T) {\n  candidate := F\n"
    "\ttype test struct {\n\t\tactual   interface{}\n\t\texpected interface{}\n\t}\n"
    "   tests := []test{\n     { actual: candidate(1), expected: 2 },\n   }\n\n"
    "\tfor i, tc := range tests {\n\t\t_ = i\n\t\t_ = tc\n\t}\n}\n",
    "java": "    assert(f((1)) == ((2)));\n",
    "javascript": "  let candidate = f;\n  assert.deepEqual(candidate(1),2);\n",
    "lua": "local candidate = f\n    lu.assertEquals(candidate(1), 2)\n",
    "perl": "    my $candidate = \\&f;\n        if(eq_deeply($candidate->(1),2)) {\n",
    "php": "function candidate(...$args) {\n    return f(...$args);\n}\n"
    '    if (candidate(1) !== 2) { throw new Exception("Test failed!"); }\n',
    "r": "    candidate <- f\n    stopifnot(isTRUE(all.equal(candidate(1), 2)))\n",
    "ruby": "    candidate = method(:f)\n    assert_equal(2, candidate.call(1))\n",
    "rust": "    let candidate = f;\n    assert_eq!(candidate(1), 2);\n",
}
"""One comparison in the layout of MultiPL-E, by the language's own name."""
FORGED = (
    *("bash", "cpp", "csharp", "go", "haskell", "java", "javascript", "lua", "perl", "php", "r"),
    *("ruby", "rust"),
)
"""The languages of the forgeries, by their own names."""
PROMPTS = {
    "go": 'package f_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\nfunc F(n int) int {\n\n',
    "rust": "fn f(_: i32) -> i32 {\n",
}
"""Prompts that tell the type of what the tests expect, if a language needs that."""


def outputs() -> list[str]:
    """Return what a right program might print, and what one that reads this machine would."""
    host_name = Path("/etc/hostname").read_text()
    texts = ["2", "ok", host_name, str(len(host_name)), os.environ.get("HOME", "/root")]
    return [f"{text.strip()}\n" for text in texts]


def submissions(name: str, language: Language, code: str) -> Iterator[Submission]:
    labels: list[dict[str, Any]] = [
        {"inputs": ["1\n"], "outputs": [output], "language": language.name} for output in outputs()
    ]
    if language.name in TESTS:
        labels.append(
            {
                "name": "f",
                "language": language.name,
                "prompt": PROMPTS.get(language.name, ""),
                "tests": TESTS[language.name],
                "stop_tokens": [],
            }
        )
    for number, label in enumerate(labels):
        suite = replace(parse_label(label), extraction=ExtractionRule.VERBATIM)
        yield Submission(id=f"{name} {number}", completion=code, suite=suite)


@pytest.fixture(scope="module")
def rows(data_dir: Path) -> list[Row]:
    return list(read_rows(data_dir / FILE))


def language_of(row: Row) -> str:
    ((path, _),) = row["files"].items()
    language = languages.find(path.rpartition(".")[2])
    assert language is not None, row["name"]
    return language.name


@pytest.mark.parametrize("name", FORGED)
def test_no_forgery_is_paid(grader: Grader, rows: list[Row], name: str) -> None:
    need_in(grader, name)
    language = languages.languages()[name]
    reports = grade_all(
        grader,
        (
            submission
            for row in rows
            if language_of(row) == name
            for code in row["files"].values()
            for submission in submissions(row["name"], language, code)
        ),
    )
    assert reports
    assert {id: report.feedback for id, report in reports.items() if not report.graded} == {}
    assert [id for id, report in reports.items() if report.passed] == []


def test_the_forgeries_are_in_these_languages(rows: list[Row]) -> None:
    assert {language_of(row) for row in rows} == set(FORGED)


RIGHT = {
    "bash": "f(){ echo 2; }",
    "cpp": "int f(int){return 2;}",
    "csharp": "class A{static int f(int a){return 2;}}",
    "go": "package main\nfunc F(n int) int { return 2 }",
    "java": "class Problem{static int f(int a){return 2;}}",
    "javascript": "function f(){return 2}",
    "lua": "local function f() return 2 end",
    "perl": "sub f{2}",
    "php": "<?php function f($a){return 2;}",
    "r": "f <- function(a) 2",
    "ruby": "def f(a) 2 end",
    "rust": "fn f(_:i32)->i32{2}",
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_tests_pay_a_right_function(grader: Grader, name: str) -> None:
    """Else nothing of the above would be shown: a suite that cannot be passed pays no forgery."""
    need_in(grader, name)
    *_, submission = submissions(name, languages.languages()[name], RIGHT[name])
    report = grader.grade(submission)
    assert report.passed == 1, report.feedback
