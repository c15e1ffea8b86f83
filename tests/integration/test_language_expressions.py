"""Answers to problems with tests in their own language, graded in a native jail."""

from collections.abc import Iterator

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission, Verdict
from grader.model.verdict import Integrity
from grader.suites import parse_label
from tests.compilers import need
from tests.language_rows import ROWS


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(grader: Grader, language: str, code: str) -> GradeReport:
    need(language)
    rows = ROWS[language]
    completion = f"Here it is:\n\n```{rows.language}\n{code}\n```\n"
    suite = parse_label(rows.label)
    return grader.grade(Submission(id="answer", completion=completion, suite=suite))


@pytest.mark.parametrize("language", ROWS)
def test_right_answer_passes_with_what_it_brings_along(grader: Grader, language: str) -> None:
    report = grade(grader, language, ROWS[language].right)
    assert (report.verdict, report.passed, report.total) == (Verdict.PASSED, 2, 2), report.feedback
    assert report.integrity is Integrity.ISOLATED


CONTINUED = {
    "cpp": "    for (long &n : numbers) n *= 2;\n    return numbers;",
    "csharp": "        return numbers.ConvertAll(n => 2 * n);",
    "java": "        numbers.replaceAll(n -> 2 * n);\n        return numbers;",
    "rust": "    numbers.iter().map(|n| n * 2).collect()",
    "bash": '    for n in $1; do printf "%s " $((2 * n)); done | sed "s/ $//"',
    "javascript": "  if (!numbers.length) return [];\n"
    "  return [2 * numbers[0], ...double_all(numbers.slice(1))];\n}\n\nconsole.log('}');",
}
"""Answers that go on with the prompt: up to a stop token, or with a call of the function."""


@pytest.mark.parametrize("language", CONTINUED)
def test_answer_that_only_continues_the_prompt_passes(grader: Grader, language: str) -> None:
    need(language)
    suite = parse_label(ROWS[language].label)
    report = grader.grade(Submission(id="0", completion=CONTINUED[language], suite=suite))
    assert report.verdict is Verdict.PASSED, report.feedback


def test_answer_in_lua_may_be_a_module(grader: Grader) -> None:
    report = grade(grader, "lua", f"{ROWS['lua'].right}\n\nreturn double_all\n")
    assert report.verdict is Verdict.PASSED, report.feedback


def test_function_in_java_may_be_in_any_class_and_throw(grader: Grader) -> None:
    code = (
        "public class Main {\n    ArrayList<Long> doubleAll(ArrayList<Long> numbers)"
        " throws java.io.IOException {\n        numbers.replaceAll(n -> 2 * n);\n"
        "        return numbers;\n    }\n    public static void main(String[] args) {}\n}"
    )
    assert grade(grader, "java", code).verdict is Verdict.PASSED


def test_expected_values_in_rust_have_the_type_of_the_call(grader: Grader) -> None:
    need("rust")
    begun = "fn found(n: isize) -> Option<HashMap<String, isize>> {\n"
    tests = (
        "}\n\nfn main() {\n    let candidate = found;\n    assert_eq!(candidate(0), None);\n"
        '    assert_eq!(candidate(9), Some(HashMap::from([(String::from("n"), 8999999999)])));\n}\n'
    )
    label = {"name": "found", "language": "rs", "prompt": begun, "tests": tests, "stop_tokens": []}
    code = (
        f"use std::collections::HashMap;\n{begun}    if n == 0 {{ return None; }}\n"
        '    Some(HashMap::from([(String::from("n"), 9000000000 - 1)]))\n}\n'
    )
    completion = f"```rust\n{code}```"
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_label(label)))
    assert (report.verdict, report.passed) == (Verdict.PASSED, 2), report.feedback


def test_truth_in_cpp_equals_the_number_that_it_is(grader: Grader) -> None:
    need("cpp")
    tests = "}\nint main() {\n    auto candidate = is_odd;\n"
    tests += "".join(
        f"    assert(candidate(({n})) == ({'true' if n else 'false'}));\n" for n in (0, 1)
    )
    label = {
        "name": "is_odd",
        "language": "cpp",
        "prompt": "#include <bits/stdc++.h>\nbool is_odd(long n) {\n",
        "tests": f"{tests}}}\n",
        "stop_tokens": [],
    }
    completion = "```cpp\nint is_odd(long n) { return n % 2; }\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_label(label)))
    assert (report.verdict, report.passed) == (Verdict.PASSED, 2), report.feedback


def test_function_in_cpp_may_be_called_as_one_of_the_library(grader: Grader) -> None:
    need("cpp")
    label = {
        "name": "search",
        "language": "cpp",
        "prompt": "#include <bits/stdc++.h>\nlong search(long n) {\n",
        "tests": "}\nint main() {\n    auto candidate = search;\n"
        "    assert(candidate((2)) == (4));\n}\n",
        "stop_tokens": [],
    }
    code = "#include <algorithm>\nusing namespace std;\nlong search(long n) { return 2 * n; }"
    completion = f"```cpp\n{code}\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_label(label)))
    assert report.verdict is Verdict.PASSED, report.feedback


UNION = """\
#include <bits/stdc++.h>
union Union_std_string_long{
    std::string f0;
    long f1;    Union_std_string_long(std::string _f0) : f0(_f0) {}
    Union_std_string_long(long _f1) : f1(_f1) {}
    ~Union_std_string_long() {}
    bool operator==(std::string f) {
        return f0 == f ;
    }    bool operator==(long f) {
        return f1 == f ;
    }
};
Union_std_string_long digit(long n) {
"""


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        pytest.param('if (n > 9) return -1; return std::string(n, "x"[0]);', 2, id="right"),
        pytest.param('return std::string(n, "x"[0]);', 1, id="text for a number"),
        pytest.param("return -1;", 1, id="number for a text"),
    ],
)
@pytest.mark.parametrize("continued", [False, True])
def test_result_in_cpp_may_be_a_union_that_multipl_e_made(
    grader: Grader, body: str, passed: int, continued: bool
) -> None:
    need("cpp")
    label = {
        "name": "digit",
        "language": "cpp",
        "prompt": UNION,
        "tests": "}\nint main() {\n    auto candidate = digit;\n"
        '    assert(candidate((2)) == "xx");\n    assert(candidate((10)) == -1);\n}\n',
        "stop_tokens": [],
    }
    completion = f"    {body}\n}}" if continued else f"```cpp\n{UNION}{body}\n}}\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_label(label)))
    assert (report.passed, report.total) == (passed, 2), report.feedback


ZEROS = {
    "lua": (
        ("{}", "{0.0}"),
        "local function double_all(numbers)\n    local all = {}\n"
        "    for i, n in ipairs(numbers) do all[i] = n == 0 and -0.0 or 2 * n end\n"
        "    return all\nend",
    ),
    "php": (
        ("array()", "array(0.0)"),
        "function double_all($numbers) {\n"
        "    return array_map(fn($n) => $n == 0 ? -0.0 : 2 * $n, $numbers);\n}",
    ),
    "r": (
        ("c(0)", "c(0.0)"),
        "double_all <- function(numbers) ifelse(numbers == 0, -0.0, 2 * numbers)",
    ),
}
"""What makes the second case about zero, and an answer that returns the negative one."""


@pytest.mark.parametrize("language", ZEROS)
def test_the_two_zeros_are_equal(grader: Grader, language: str) -> None:
    need(language)
    about_zero, code = ZEROS[language]
    label = ROWS[language].label
    label["tests"] = label["tests"].replace(*about_zero)
    completion = f"```{language}\n{code}\n```"
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_label(label)))
    assert (report.verdict, report.passed) == (Verdict.PASSED, 2), report.feedback


@pytest.mark.parametrize("value", ["NA_real_", "numeric(0)"])
def test_odd_numbers_in_r_are_values(grader: Grader, value: str) -> None:
    code = f"double_all <- function(numbers) if (numbers[1] == 0) {value} else 2 * numbers"
    report = grade(grader, "r", code)
    assert (report.verdict, report.passed) == (Verdict.FAILED, 1), report.feedback


@pytest.mark.parametrize("language", ROWS)
def test_wrong_answer_fails_with_both_values(grader: Grader, language: str) -> None:
    report = grade(grader, language, ROWS[language].wrong)
    assert (report.verdict, report.passed) == (Verdict.FAILED, 1), report.feedback
    assert "expected" in report.feedback
    assert "evaluated:" in report.feedback


@pytest.mark.parametrize("language", ROWS)
def test_answer_that_ends_with_exit_code_0_is_not_paid(grader: Grader, language: str) -> None:
    report = grade(grader, language, ROWS[language].leaves)
    assert (report.verdict, report.passed) == (Verdict.RUNTIME_ERROR, 0), report.feedback
    assert "ended before this expression had a value" in report.feedback


@pytest.mark.parametrize("language", ROWS)
def test_answer_that_crashes_is_told_in_its_runtimes_words(grader: Grader, language: str) -> None:
    report = grade(grader, language, ROWS[language].crashes)
    assert (report.verdict, report.passed) == (Verdict.RUNTIME_ERROR, 0), report.feedback
    assert "on purpose" in report.feedback


def test_value_that_equals_everything_is_not_paid(grader: Grader) -> None:
    code = (
        "struct Any { template <class T> bool operator==(const T &) const { return true; } };\n"
        "#include <vector>\nAny double_all(std::vector<long>) { return {}; }"
    )
    report = grade(grader, "cpp", code)
    assert report.verdict is Verdict.COMPILE_ERROR


def test_assertions_that_the_answer_takes_away_are_none_of_ours(grader: Grader) -> None:
    code = "#define assert(x)\n#define NDEBUG\n" + ROWS["cpp"].wrong
    assert grade(grader, "cpp", code).verdict is Verdict.FAILED


def test_error_names_the_line_of_the_answer(grader: Grader) -> None:
    report = grade(grader, "cpp", ROWS["cpp"].wrong.replace("return numbers", "return missing"))
    assert report.verdict is Verdict.COMPILE_ERROR
    assert "on line 3: " in report.feedback


@pytest.mark.parametrize("name", ["right", "wrong", "uncompilable"])
def test_suite_may_have_a_single_case(grader: Grader, name: str) -> None:
    label = ROWS["bash"].label
    label["tests"] = label["tests"].replace('    [[ $(candidate "") = "" ]]\n', "")
    code = {"right": ROWS["bash"].right, "wrong": ROWS["bash"].wrong, "uncompilable": "double_all("}
    submission = Submission(id="x", completion=code[name], suite=parse_label(label))
    verdict = {"right": "passed", "wrong": "failed", "uncompilable": "compile_error"}[name]
    assert grader.grade(submission).verdict == verdict


def test_expectation_that_has_no_value_is_a_fault_of_the_suite(grader: Grader) -> None:
    label = ROWS["javascript"].label
    label["tests"] = label["tests"].replace("[2, 4]", "missing")
    suite = parse_label(label)
    submission = Submission(id="x", completion=ROWS["javascript"].right, suite=suite)
    report = grader.grade(submission)
    assert not report.graded
    assert "what the suite expects cannot be evaluated: ReferenceError" in report.feedback
