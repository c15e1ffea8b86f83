"""Answers to rows of McEval and HumanEval-X, graded in a native jail."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Integrity
from grader.suites import parse_label
from tests.appended_rows import APPENDED, JAVA
from tests.compilers import need

LABELS: dict[str, dict[str, Any]] = {
    **{language: row.label for language, row in APPENDED.items()},
    "java of HumanEval-X": JAVA,
}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(grader: Grader, name: str, code: str) -> GradeReport:
    language = name.partition(" ")[0]
    need(language)
    completion = f"Here it is:\n\n```{language}\n{code}\n```\n"
    suite = parse_label(LABELS[name])
    return grader.grade(Submission(id="answer", completion=completion, suite=suite))


@pytest.mark.parametrize("language", LABELS)
def test_whole_answer_and_continuation_pass(grader: Grader, language: str) -> None:
    solution = LABELS[language]["canonical_solution"]
    whole = grade(grader, language, f"{parse_label(LABELS[language]).prompt}{solution}")
    assert whole.verdict == "passed", whole.feedback
    assert whole.integrity is Integrity.ISOLATED
    if language in {"lua", "ruby"}:
        assert grade(grader, language, solution).verdict == "passed"


@pytest.mark.parametrize("language", LABELS)
def test_wrong_answer_fails(grader: Grader, language: str) -> None:
    solution = LABELS[language]["canonical_solution"]
    wrong = solution.replace("2", "3").replace("n + n", "n + n + 1")
    report = grade(grader, language, f"{parse_label(LABELS[language]).prompt}{wrong}")
    assert report.verdict == "failed", report.feedback
    assert "expected" in report.feedback


def test_failure_where_the_reference_fails_too_is_not_the_models_fault(grader: Grader) -> None:
    label = {**LABELS["ruby"], "canonical_solution": "  misspelt(n)\nend\n"}
    suite = parse_label(label)
    wrong = Submission(id="wrong", completion=f"```ruby\n{suite.prompt}  1\nend\n```", suite=suite)
    report = grader.grade(wrong)
    assert (report.verdict, report.graded) == ("internal_error", False)
    assert "own reference solution does not pass it" in report.feedback


@pytest.mark.parametrize("language", APPENDED)
def test_answer_that_ends_with_exit_code_0_is_not_paid(grader: Grader, language: str) -> None:
    report = grade(grader, language, APPENDED[language].leaves)
    assert (report.verdict, report.passed) == ("runtime_error", 0), report.feedback
    assert "ended before this expression had a value" in report.feedback


@pytest.mark.parametrize(
    "start",
    [
        "-- | Doubles.\n{- It maps. -}\n{-# LANGUAGE LambdaCase #-}\n{-# OPTIONS_GHC -Wall #-}\n",
        "{-# LANGUAGE LambdaCase #-}\n{-# INLINE twice #-}\n",
    ],
)
def test_answer_in_haskell_may_begin_with_pragmas_and_comments(grader: Grader, start: str) -> None:
    code = "twice :: [Double] -> [Double]\ntwice = map (\\case { 0 -> 0; n -> 2 * n })\n"
    report = grade(grader, "haskell", f"{start}{code}")
    assert report.verdict == "passed", report.feedback


def test_maps_of_rust_are_compared_without_their_order(grader: Grader) -> None:
    pairs = ", ".join(f'("{letter}".to_string(), 2)' for letter in "abcdefgh")
    label = {
        **LABELS["rust"],
        "prompt": "use std::collections::HashMap;\nfn twice(n: &[&str]) -> HashMap<String, i32>\n",
        "test": "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn main() {\n"
        f"        let wanted: HashMap<String, i32> = HashMap::from([{pairs}]);\n"
        '        assert_eq!(twice(&["a", "b", "c", "d", "e", "f", "g", "h"]), wanted);\n    }\n}\n',
    }
    suite = replace(parse_label(label), reference=None)
    code = f"{suite.prompt}{{ n.iter().map(|each| (each.to_string(), 2)).collect() }}"
    right = grader.grade(Submission(id="right", completion=f"```rust\n{code}\n```", suite=suite))
    assert right.verdict == "passed", right.feedback
    code = code.replace("to_string(), 2)", "to_string(), 3)")
    wrong = grader.grade(Submission(id="wrong", completion=f"```rust\n{code}\n```", suite=suite))
    assert wrong.verdict == "failed", wrong.feedback


def test_answer_in_rust_may_repeat_imports_of_crates_that_the_row_has(grader: Grader) -> None:
    label = LABELS["rust"]
    code = f"use rand::Rng;\nuse regex::Regex;\n{label['prompt']}{label['canonical_solution']}"
    report = grade(grader, "rust", code)
    assert report.verdict == "passed", report.feedback


def test_test_in_go_may_log(grader: Grader) -> None:
    need("go")
    label = LABELS["go"]
    start = "(t *testing.T) {\n"
    assert start in label["test"]
    logs = f'{start}\tt.Helper()\n\tt.Logf("%d", 1)\n\tdefer t.Log("ended", t.Name())\n'
    suite = parse_label({**label, "test": label["test"].replace(start, logs)})
    report = grader.grade(Submission(id="0", completion=label["canonical_solution"], suite=suite))
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("type", "zero", "other"),
    [("float64", "0.0", "-n"), ("[]float64", "[]float64{0}", "[]float64{-n}")],
)
def test_the_two_zeros_of_go_are_equal(grader: Grader, type: str, zero: str, other: str) -> None:
    need("go")
    label = {
        **LABELS["go"],
        "prompt": 'package main\n\nimport (\n\t"testing"\n\n'
        '\t"github.com/stretchr/testify/assert"\n)\n'
        f"func opposite(n float64) {type} {{\n",
        "canonical_solution": f"\treturn {other}\n}}",
        "test": "func TestOpposite(t *testing.T) {\n\tassert := assert.New(t)\n"
        f"\tassert.Equal({zero}, opposite(0))\n}}\n",
        "entry_point": "opposite",
    }
    suite = parse_label(label)
    report = grader.grade(Submission(id="0", completion=label["canonical_solution"], suite=suite))
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        pytest.param("half(4) == 2", "passed", id="number of another kind"),
        pytest.param("half(4) === 2", "failed", id="strictly"),
        pytest.param("half(4) !== 2", "passed", id="strictly another"),
        pytest.param("half(4) != 2", "failed", id="another"),
        pytest.param("half(4) == 3", "failed", id="another number"),
    ],
)
def test_php_compares_numbers_as_loosely_as_its_tests(
    grader: Grader, test: str, verdict: str
) -> None:
    need("php")
    label = {
        **LABELS["php"],
        "prompt": "<?php\nfunction half($n)\n",
        "canonical_solution": "{\n    return round($n / 2);\n}",
        "test": f"function main() {{\n    assert({test});\n}}\nmain();\n?>",
        "entry_point": "half",
    }
    suite = replace(parse_label(label), reference=None)
    report = grader.grade(Submission(id="0", completion=label["canonical_solution"], suite=suite))
    assert report.verdict == verdict, report.feedback


WITHOUT_IMPORTS = {
    "cpp": (
        "#include <vector>\n#include <string>\nusing namespace std;\n"
        "vector<string> repeated(vector<string> all) {\n",
        "vector<string> repeated(vector<string> all) {\n"
        "    vector<string> twice = all;\n    for (string& each : all) twice.push_back(each);\n"
        "    return twice;\n}",
        'int main() {\n    assert(repeated({"a"}) == vector<string>({"a", "a"}));\n}\n',
    ),
    "c": (
        "#include <stdbool.h>\n#include <string.h>\nbool repeated(const char *all) {\n",
        "bool repeated(const char *all) {\n"
        "    size_t half = strlen(all) / 2;\n    return !strncmp(all, all + half, half);\n}",
        'int main() {\n    assert(repeated("abab") == true);\n}\n',
    ),
    "rust": (
        "use std::{cmp::max, collections::{HashMap, HashSet}};\nuse rand::Rng;\n"
        "fn repeated(all: Vec<i32>) -> HashMap<i32, i32> {\n",
        "use std::collections::HashSet;\n\nfn max(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n"
        "fn repeated(all: Vec<i32>) -> HashMap<i32, i32> {\n"
        "    let ones: HashSet<i32> = all.iter().copied().collect();\n"
        "    ones.into_iter().map(|one| (one, max(one, one))).collect()\n}",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn test_repeated() {\n"
        "        assert_eq!(repeated(vec![4]), HashMap::from([(4, 8)]));\n    }\n}\n",
    ),
}
"""The beginning of a function with what it imports, an answer without that, and a test."""


@pytest.mark.parametrize("language", WITHOUT_IMPORTS)
def test_answer_may_leave_out_what_the_problem_imports(grader: Grader, language: str) -> None:
    need(language)
    prompt, answer, test = WITHOUT_IMPORTS[language]
    label = {
        **LABELS[language],
        "prompt": prompt,
        "canonical_solution": answer,
        "test": test,
        "entry_point": "repeated",
    }
    suite = replace(parse_label(label), reference=None)
    completion = f"```{language}\n{answer}\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=suite))
    assert report.verdict == "passed", report.feedback


def test_answer_in_java_may_have_a_class_as_the_tests_have(grader: Grader) -> None:
    need("java")
    suite = parse_label(JAVA)
    own = "\n\nclass Main {\n    public static void main(String[] args) { new Main(); }\n}\n"
    code = f"{suite.prompt}{JAVA['canonical_solution']}{own}"
    completion = f"```java\n{code}\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=suite))
    assert report.verdict == "passed", report.feedback


RUN = [
    ("bash", 'if [[ "${BASH_SOURCE[0]}" == "${0}" ]]; then\n  exit 3\nfi'),
    ("bash", "if ! (return 0 2>/dev/null); then\n  exit 3\nfi"),
    ("bash", "(return 2> /dev/null) && loaded=1 || loaded=0\n[[ $loaded == 1 ]] || exit 3"),
    ("bash", '[ "$0" != "$BASH_SOURCE" ] || exit 3'),
    ("javascript", "if (require.main === module) {\n  process.exit(3);\n}"),
    ("javascript", "if (process.argv[1] === __filename) process.exit(3);"),
    ("javascript", "if (!module.parent) process.exit(3);"),
    (
        "javascript",
        "import { pathToFileURL } from 'node:url';\n"
        "if (import.meta.url === pathToFileURL(process.argv[1]).href) {\n  process.exit(3);\n}",
    ),
    (
        "javascript",
        "import * as url from 'url';\n"
        "if (process.argv[1] === url.fileURLToPath(import.meta.url)) process.exit(3);",
    ),
    ("javascript", "export { twice };\nif (import.meta.main) process.exit(3);"),
    (
        "javascript",
        "export { twice };\nif (import.meta.url === `file://${process.argv[1]}`) process.exit(3);",
    ),
    ("lua", "if not pcall(debug.getlocal, 4, 1) then\n  os.exit(3)\nend"),
    ("perl", "exit 3 unless caller;"),
    ("perl", "if (!caller(0)) {\n  exit 3;\n}"),
    ("perl", "unless (caller()) {\n  exit 3;\n}"),
    ("perl", "sub depth {\n  return !caller(1);\n}"),
    ("php", "if (basename(__FILE__) == basename($_SERVER['SCRIPT_FILENAME'])) {\n  exit(3);\n}"),
    ("php", "if (realpath($argv[0]) === __FILE__) {\n  exit(3);\n}"),
    ("php", "if (!debug_backtrace()) exit(3);"),
    ("r", "if (sys.nframe() == 0 && !interactive()) {\n  quit(status = 3)\n}"),
    ("ruby", "if __FILE__ == $0\n  exit 3\nend"),
    ("ruby", "exit 3 if (File.expand_path(__FILE__) == File.expand_path($PROGRAM_NAME))"),
]
"""What scripts do only if they are run and not loaded."""


@pytest.mark.parametrize(("language", "run"), RUN)
def test_main_program_of_a_script_is_not_run(grader: Grader, language: str, run: str) -> None:
    solution = LABELS[language]["canonical_solution"]
    code = f"{parse_label(LABELS[language]).prompt}{solution}\n\n{run}"
    report = grade(grader, language, code)
    assert report.verdict == "passed", report.feedback


BARE = {
    "csharp": "using System;\nusing System.Linq;\n\n"
    "static List<double> twice(List<double> n)\n{\n"
    "    return n.Select(each => each + each).ToList();\n}",
    "haskell": "twice n = zipWith (+) n n",
}
"""Functions outside of classes, or without their type."""


@pytest.mark.parametrize("language", BARE)
def test_function_may_be_bare(grader: Grader, language: str) -> None:
    report = grade(grader, language, BARE[language])
    assert report.verdict == "passed", report.feedback
