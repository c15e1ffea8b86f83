"""Answers to exercises of Exercism's tracks in other languages than Python, in a native jail."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Integrity
from grader.suites import parse_label
from tests.compilers import need
from tests.exercises import CASES, ENDINGS, RIGHT, SOURCES, exercise


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(grader: Grader, language: str, code: str, **files: str) -> GradeReport:
    need(language)
    completion = f"Here it is:\n\n```{language}\n{code}\n```\n"
    suite = parse_label(exercise(language, **files))
    if files:  # the usual reference may be of other tests
        suite = replace(suite, reference=None)
    return grader.grade(Submission(id="answer", completion=completion, suite=suite))


def assert_unpaid(report: GradeReport, *, most: int, compiles: bool = False) -> None:
    """Assert that an answer passes few cases and shows nothing that they expect."""
    assert report.verdict in ("failed", "runtime_error", "compile_error"), report.feedback
    assert not compiles or report.verdict != "compile_error", report.feedback
    assert report.passed <= most
    said = " ".join(case.evidence.got or "" for case in report.cases if case.evidence)
    assert "42" not in said


@pytest.mark.parametrize("language", RIGHT)
def test_right_answer_passes_and_a_wrong_one_fails(grader: Grader, language: str) -> None:
    right = grade(grader, language, RIGHT[language])
    assert (right.verdict, right.passed) == ("passed", CASES[language]), right.feedback
    assert right.integrity is Integrity.ISOLATED
    code = RIGHT[language].replace("at all", "here").replace("a + b", "a * b")
    code = code.replace("total + each", "total * each").replace("$a + $b", "$a - $b")
    wrong = grade(grader, language, code.replace("new EmptyError()", "new Exception()"))
    assert any(case.verdict == "failed" for case in wrong.cases)
    assert wrong.passed < len(wrong.cases) - 2
    assert wrong.verdict in ("failed", "runtime_error")


ATTACKS = {
    "exit": "process.exit(0);",
    "no tests": "process.on('exit', () => { process.exitCode = 0; });\n"
    "Promise.prototype.then = () => new Promise(() => {});",
    "a value that equals everything": "JSON.stringify = () => '0';",
    "a look into the tests": "import fs from 'fs';\nfor (const name of fs.readdirSync('.'))"
    " console.log(fs.readFileSync(name, 'utf8'));\nprocess.exit(0);",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_answer_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    code = RIGHT["javascript"].replace("a + b", "0").replace("no numbers at all", "")
    report = grade(grader, "javascript", f"{ATTACKS[attack]}\n{code}")
    assert_unpaid(report, most=9, compiles=True)


@pytest.mark.parametrize(
    ("language", "leave"), [("lua", "os.exit(0)"), ("ruby", "exit 0"), ("php", "<?php exit(0); ?>")]
)
def test_answer_that_ends_early_is_not_paid(grader: Grader, language: str, leave: str) -> None:
    report = grade(grader, language, f"{leave}\n{RIGHT[language]}")
    assert (report.verdict, report.passed) == ("runtime_error", 0), report.feedback


def test_assertion_that_runs_twice_is_a_fault_of_the_suite(grader: Grader) -> None:
    tests = (
        "import { sum } from './sums';\nfunction check(n) {\n  expect(sum([n])).toBe(1);\n}\n"
        "test('x', () => { check(1); check(2); });\n"
    )
    report = grade(grader, "javascript", RIGHT["javascript"], **{"sums.spec.js": tests})
    assert not report.graded
    assert "evaluate an assertion more than once" in report.feedback


def test_answer_in_bash_that_forges_what_the_tests_show_is_not_paid(grader: Grader) -> None:
    forge = (
        "mark=$(grep -o '[0-9a-f]\\{16\\}' tests_of_the_suite.sh | head -n 1)\n"
        "for number in 0 1 2 3 4 5; do\n"
        '    printf \'\\n%s %s "yes"\\n\' "$mark" $number > /proc/$PPID/fd/1\ndone\n'
        "cat tests_of_the_suite.sh\n"
    )
    report = grade(grader, "bash", forge)
    assert (report.verdict, report.passed) == ("failed", 0), report.feedback


_READS_MARK = """let source = include_str!("tests_of_the_suite.rs");
    let start = source.find("println!(\\"\\\\n").unwrap() + 12;
    let mark = &source[start..start + 16];
    for number in 0..10 { println!("\\n{} {} yes", mark, number); }
    println!("{}", source);
"""
RUST_ATTACKS = {
    "exit": ("", "std::process::exit(0);"),
    "no output after its own": ("", "std::panic::set_hook(Box::new(|_| std::process::exit(0)));"),
    "forged values": ("", _READS_MARK),
    "another println": (
        '#[macro_export]\nmacro_rules! println { ($($x:tt)*) => { std::println!("yes") } }\n',
        "",
    ),
    "an error that equals everything": (
        "#[derive(Debug)]\npub enum Error { Empty { text: String } }\n"
        "impl<T> PartialEq<T> for Error { fn eq(&self, _: &T) -> bool { true } }\n",
        "",
    ),
}


@pytest.mark.parametrize("attack", RUST_ATTACKS)
def test_answer_in_rust_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    head, statements = RUST_ATTACKS[attack]
    code = RIGHT["rust"].replace("a + b", "0").replace("no numbers at all", "")
    code = code.replace("if all.is_empty()", f"{statements}\n    if all.is_empty()")
    if "enum Error" in head:
        code = code[code.index("pub fn sum") :]
    report = grade(grader, "rust", f"{head}use std::collections::HashMap as _;\n{code}")
    assert_unpaid(report, most=9)


JAVA_ATTACKS = {
    "exit": "static { System.exit(0); }",
    "halt": "static { Runtime.getRuntime().halt(0); }",
    "no error counts": "static { System.setErr(null); Thread.currentThread().interrupt(); }",
    "other output": "static { var real = System.out; System.setOut(new java.io.PrintStream(real) {"
    ' public void println(String text) { real.println(text.replaceAll(" [^ ]*$", " yes")); } }); }',
    "a look into the tests": """static { try (var all = java.nio.file.Files.walk(
        java.nio.file.Path.of("."))) {
            all.filter(java.nio.file.Files::isRegularFile).forEach(each -> {
                try { System.out.println(new String(java.nio.file.Files.readAllBytes(each))); }
                catch (Exception error) {}
            });
        } catch (Exception error) {}
    }""",
}


@pytest.mark.parametrize("attack", JAVA_ATTACKS)
def test_answer_in_java_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    code = RIGHT["java"].replace("a + b", "0").replace("no numbers at all", "")
    code = code.replace("public enum", f"{JAVA_ATTACKS[attack]}\n    public enum")
    report = grade(grader, "java", code)
    assert_unpaid(report, most=11, compiles=True)


def test_value_in_java_equals_none_of_another_kind(grader: Grader) -> None:
    tests = (
        "import static org.assertj.core.api.Assertions.assertThat;\nimport java.util.*;\n"
        "class SumsTest {\n    @Test\n    void x() {\n"
        "        assertThat(F.f(0)).isEqualTo(Arrays.asList(1, '2', \"3\"));\n"
        "        assertThat(F.f(1)).isEqualTo(new HashSet<>(Arrays.asList(1, 2)));\n"
        "        assertThat(F.f(2)).isEqualTo(new int[] {1});\n"
        "        assertThat(F.f(3)).isEqualTo('a');\n    }\n}\n"
    )
    form = (
        "import java.util.*;\nclass F {{ static Object f(int n) {{ return List.of({}).get(n); }} }}"
    )
    right = "Arrays.asList(1, '2', \"3\"), new TreeSet<>(Arrays.asList(2, 1)), new int[] {1}, 'a'"
    files = {"sums.spec.java": tests, ".meta/proof.ci.java": form.format(right)}
    report = grade(grader, "java", form.format(right), **files)
    assert report.passed == 4, report.feedback
    for values in (
        'Arrays.asList(1, 2, 3), List.of(1, 2), List.of(1), "a"',
        "Arrays.asList(1L, '2', \"3\"), Set.of(1L, 2), new long[] {1}, (int) 'a'",
        "new Object[] {1, '2', \"3\"}, Set.of('1', 2), new Integer[] {1}, List.of('a')",
    ):
        report = grade(grader, "java", form.format(values), **files)
        assert (report.passed, len(report.cases)) == (0, 4), values


CPP_ATTACKS = {
    "exit": "#include <cstdlib>\nstatic int early = (std::_Exit(0), 0);",
    "exit in order": "#include <cstdlib>\nstatic int early = (std::exit(0), 0);",
    "another assertion": "#define REQUIRE(...)\n#define CHECK(...)\n#define bool(...) true",
    "a value that equals everything": "struct All { template <class T> bool operator==(const T&)"
    " const { return true; } template <class T> operator T() const { return T(); } };\n"
    "#define sum(...) sum2(__VA_ARGS__); inline All sum(...)",
    "own values are shown": "#include <iostream>\nnamespace shown_for_tests {\n"
    "void line(const char *start, const int &) { std::cout << start << 1 << std::endl; }\n}",
    "a look into the tests": "#include <fstream>\n#include <iostream>\n"
    'static bool shown = bool(std::cout << std::ifstream("tests_of_the_suite.cpp").rdbuf());',
}


@pytest.mark.parametrize("attack", CPP_ATTACKS)
def test_answer_in_cpp_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    code = RIGHT["cpp"].replace("a + b", "1").replace("std::invalid_argument", "std::range_error")
    code = code.replace("#pragma once", f"#pragma once\n{CPP_ATTACKS[attack]}")
    report = grade(grader, "cpp", code)
    assert_unpaid(report, most=9)


@pytest.mark.parametrize(
    ("language", "use"),
    [
        ("rust", 'fn main() {\n    println!("{:?}", sum(&[1, 2]));\n}\n'),
        ("java", "class Main {\n  public static void main(String[] a) { Sums.sum(1, 2); }\n}\n"),
    ],
)
def test_program_that_shows_how_an_answer_is_used_is_not_graded(
    grader: Grader, language: str, use: str
) -> None:
    need(language)
    completion = f"```{language}\n{RIGHT[language]}```\n\nUse:\n\n```{language}\n{use}```\n"
    suite = parse_label(exercise(language))
    report = grader.grade(Submission(id="answer", completion=completion, suite=suite))
    assert report.verdict == "passed", report.feedback


_ZERO_TESTS = {
    "rust": "use sums::*;\n\n#[test]\nfn x() {\n    assert_eq!(zero(), (0.0, vec![0.0]));\n"
    '    assert_eq!(text(), "-0.0, a");\n}\n',
    "cpp": '#include "sums.h"\n#include <catch2/catch.hpp>\n\nTEST_CASE("x") {\n'
    "    REQUIRE(sums::zero() == 0.0);\n"
    '    REQUIRE(sums::text() == "-0.0, a");\n}\n',
}
_ZEROS = {
    "rust": "pub fn zero() -> (f64, Vec<f64>) { ({}, vec![{}]) }\n"
    'pub fn text() -> String { "-0.0, a".to_string() }\n',
    "cpp": "#include <string>\nnamespace sums { inline double zero() { return {}; }\n"
    'inline std::string text() { return "-0.0, a"; } }\n',
}


@pytest.mark.parametrize("language", _ZEROS)
def test_negative_zero_equals_zero(grader: Grader, language: str) -> None:
    ending = ENDINGS[language]
    example = ".meta/example.h" if language in SOURCES else f".meta/proof.ci{ending}"
    solutions = [f"sums{ending}"] + [f"sums{each}" for each in [SOURCES.get(language)] if each]
    config = {"solution": solutions, "test": ["tests"], "example": [example]}
    files = {
        ".meta/config.json": json.dumps({"files": config}),
        "tests": _ZERO_TESTS[language],
        example: _ZEROS[language].replace("{}", "0.0"),
    }
    report = grade(grader, language, _ZEROS[language].replace("{}", "-0.0"), **files)
    assert (report.verdict, report.passed) == ("passed", 2), report.feedback


C_ATTACKS = {
    "exit": "__attribute__((constructor)) static void early(void) { _Exit(0); }",
    "another assertion": "#define shown_for_tests(start, value)",
    "no lines": "__attribute__((constructor)) static void early(void) { fclose(stdout); }",
    "a look into the tests": "__attribute__((constructor)) static void early(void) {"
    ' system("cat * 2>/dev/null"); }',
}


@pytest.mark.parametrize("attack", C_ATTACKS)
def test_answer_in_c_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    code = RIGHT["c"].replace("a + b", "1").replace("? 0 : -1", "? 0 : 1")
    head = f"#include <stdio.h>\n#include <stdlib.h>\n{C_ATTACKS[attack]}\n"
    report = grade(
        grader, "c", code.replace("#include <stddef.h>\n", f"#include <stddef.h>\n{head}")
    )
    assert_unpaid(report, most=8)


def test_crash_in_c_takes_no_value_back(grader: Grader) -> None:
    code = RIGHT["c"].replace("if (!*start)\n", "if (!*start) abort();\n   if (!*start)\n")
    report = grade(grader, "c", code)
    assert (report.verdict, report.passed) == ("runtime_error", 2), report.feedback


def test_file_that_an_exercise_gives_is_beside_the_answer(grader: Grader) -> None:
    kind = "    public enum Kind { SMALL, LARGE }\n\n"
    config = {
        "solution": ["src/Sums.java"],
        "test": ["sums.spec.java"],
        "example": [".meta/proof.ci.java"],
        "editor": ["src/Kind.java", "notes.txt"],
    }
    tests = exercise("java")["files"]["sums.spec.java"].replace("Sums.Kind", "Kind")
    files = {
        ".meta/config.json": json.dumps({"files": config}),
        ".meta/proof.ci.java": RIGHT["java"].replace(kind, ""),
        "src/Kind.java": "public enum Kind { SMALL, LARGE }\n",
        "sums.spec.java": tests,
    }
    own = RIGHT["java"].replace(kind, "")
    both = f"// file: Sums.java\n{own}// file: Kind.java\n{files['src/Kind.java']}"
    for code in (own, both):
        report = grade(grader, "java", code, **files)
        assert report.verdict == "passed", report.feedback


_FURTHER = {
    "go": ("func Sum", "var _ = one()\n\nfunc Sum", "package sums\nfunc one() int { return 1 }\n"),
    "java": (
        "public enum",
        "static { Helper.one(); }\n    public enum",
        "class Helper { static void one() {} }\n",
    ),
    "javascript": (
        "",
        "import { one } from './more/helper.js';\none();\n",
        "export const one = () => 1;\n",
    ),
    "perl": ("\n1;", "\nrequire Helper;\nHelper::one();\n1;", "package Helper;\nsub one {}\n1;\n"),
    "rust": (
        "use ",
        "mod helper;\npub const ONE: u8 = helper::ONE;\nuse ",
        "pub const ONE: u8 = 1;\n",
    ),
    "cpp": ('#include "sums.h"\n', '#include "sums.h"\n#include "helper.h"\n', "#pragma once\n"),
}
"""In each language, what uses another file takes the place of something, and the file."""


@pytest.mark.parametrize("language", _FURTHER)
def test_answer_may_have_further_files(grader: Grader, language: str) -> None:
    old, new, helper = _FURTHER[language]
    ending = ENDINGS[language]
    first = "" if language == "cpp" else f"// file: answer/sums{ending}\n"
    folder = "" if language == "cpp" else "answer/more/" if language == "javascript" else "answer/"
    name = "Helper" if language in ("java", "perl") else "helper"
    code = f"{first}{RIGHT[language].replace(old, new, 1)}// file: {folder}{name}{ending}\n{helper}"
    report = grade(grader, language, code)
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    "path", ["tests_of_the_suite.go", "solution.go", "sums.go/a.go", "package.json", "a/sums.go"]
)
def test_file_of_an_answer_that_is_in_the_way_is_left_out(grader: Grader, path: str) -> None:
    code = f"// file: sums.go\n{RIGHT['go']}// file: {path}\npackage sums\n"
    report = grade(grader, "go", code)
    assert report.verdict in ("passed", "compile_error", "no_code"), report.feedback
    assert report.graded


_USAGE = {
    "go": "package main\n\nfunc main() {\n    println(Sum([]int{1}))\n}",
    "javascript": "console.log(sum([1]));",
    "typescript": "console.log(sum([1]));",
    "lua": "print(require('sums').sum({1}))",
    "perl": "use sums;\nprint sums::sum([1]);",
    "php": "<?php\nrequire 'sums.php';\necho sum([1]);",
    "ruby": "puts Sums.sum([1])",
}


@pytest.mark.parametrize("language", _USAGE)
def test_block_that_shows_how_an_answer_is_used_is_not_taken_for_it(
    grader: Grader, language: str
) -> None:
    need(language)
    blocks = [f"```{language}\n{code}\n```" for code in (RIGHT[language], _USAGE[language])]
    suite = parse_label(exercise(language))
    completion = "\n\nUse it like this:\n\n".join(blocks)
    report = grader.grade(Submission(id="answer", completion=completion, suite=suite))
    assert report.verdict == "passed", report.feedback


def test_answer_in_cpp_may_be_two_blocks_or_one_of_the_files(grader: Grader) -> None:
    need("cpp")
    _, source, header = re.split(r"// file: .*\n", RIGHT["cpp"])
    _, all_of_it = source.split('#include "sums.h"')
    alone = header + all_of_it
    named = f"sums.h\n```cpp\n{header}```\n\nsums.cpp\n```cpp\n{source}```\n"
    begun = {"sums.h": header}
    for completion, files in (
        (named.replace("sums.h\n`", "### sums.h\n`").replace("sums.cpp\n", "### sums.cpp\n"), {}),
        (f"```cpp\n{alone}```\n", {}),
        (f"The header:\n```cpp\n{header}```\n\nThe source:\n```cpp\n{source}```\n", {}),
        (f"```cpp\n{source}```\n", begun),
    ):
        suite = parse_label(exercise("cpp", **files))
        report = grader.grade(Submission(id="answer", completion=completion, suite=suite))
        assert report.verdict == "passed", (report.feedback, completion)


@pytest.mark.parametrize("language", ["c", "cpp", "go", "java", "rust"])
def test_main_that_the_answer_brings_along_is_not_run(grader: Grader, language: str) -> None:
    main = {
        "c": "int main(void) { return sum(0, 0) + 1; }\n",
        "cpp": 'auto no_end = R"("\')"; int main() { return sums::sum({}); }\n',
        "go": "func main() { panic(1) }\n",
        "java": "class Main { public static void main(String[] all) { System.exit(1); } }\n",
        "rust": "fn main() { panic!() }\n",
    }[language]
    source, header, end = RIGHT[language].partition("// file: sums.h\n")
    report = grade(grader, language, f"{source}{main}{header}{end}")
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    "end",
    [
        "module.exports = { Counter, EmptyError, sum };",
        "exports.sum = sum;\nmodule.exports.Counter = Counter;\nexports.EmptyError = EmptyError;",
        "module.exports = { sum(...all) { return sum(...all); }, EmptyError, ...{ Counter } };",
        "Object.assign(exports, { Counter, EmptyError, sum });",
    ],
)
def test_answer_in_javascript_may_be_a_script_with_exports(grader: Grader, end: str) -> None:
    report = grade(grader, "javascript", RIGHT["javascript"].replace("export ", "") + end)
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_tests_import_names_in_every_way(grader: Grader, language: str) -> None:
    tests = (
        "import usual, { two as deux, type Kind, default as again } from './sums';\n"
        "import * as every from './sums';\n"
        "test('x', () => {\n  expect(usual()).toBe(1);\n  expect(deux).toBe(2);\n"
        "  expect(again()).toBe(1);\n  expect(every.two).toBe(2);\n});\n"
    )
    if language == "javascript":
        tests = tests.replace(" type Kind,", "")
    name = f"sums.spec{ENDINGS[language]}"
    for code in (
        "export default () => 1;\nexport const two = 2;",
        "module.exports = { default: () => 1, two: 2 };",
    ):
        report = grade(grader, language, code, **{name: tests})
        assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("matcher", "value", "verdict"),
    [
        ("toEqual", "{ b: [{ a: 1, c: undefined }] }", "passed"),
        ("toEqual", "{ b: [{ a: 1 }, undefined] }", "failed"),
        ("toEqual", "{ b: [{ a: 1, c: null }] }", "failed"),
        ("toStrictEqual", "{ b: [{ a: 1, c: undefined }] }", "failed"),
    ],
)
def test_property_of_javascript_without_a_value_matters_to_strict_equality_only(
    grader: Grader, matcher: str, value: str, verdict: str
) -> None:
    tests = (
        "import { f } from './sums';\n"
        f"test('x', () => {{ expect(f()).{matcher}({{ b: [{{ a: 1 }}], d: undefined }}); }});\n"
    )
    if matcher == "toStrictEqual":
        tests = tests.replace(", d: undefined", "")
    code = f"export const f = () => ({value});"
    report = grade(grader, "javascript", code, **{"sums.spec.js": tests})
    assert report.verdict == verdict, report.feedback


def test_timer_in_javascript_that_goes_on_does_not_matter(grader: Grader) -> None:
    report = grade(grader, "javascript", f"setInterval(() => {{}}, 1000);\n{RIGHT['javascript']}")
    assert report.verdict == "passed", report.feedback


def test_thread_in_java_that_goes_on_does_not_matter(grader: Grader) -> None:
    waits = "static { new Thread(() -> { while (true) Thread.onSpinWait(); }).start(); }"
    code = RIGHT["java"].replace("public enum", f"{waits}\n    public enum")
    report = grade(grader, "java", code)
    assert report.verdict == "passed", report.feedback


def test_value_in_cpp_may_be_a_byte_or_a_view_of_a_text(grader: Grader) -> None:
    tests = (
        '#include "sums.h"\n#include <catch2/catch.hpp>\n\nTEST_CASE("x") {\n'
        "    REQUIRE('a' == sums::letter());\n    REQUIRE(sums::number() == 3);\n"
        '    REQUIRE("a\\n" == sums::text());\n}\n'
    )
    form = (
        "#include <cstdint>\n#include <string>\n#include <string_view>\nnamespace sums {{\n"
        "inline {} letter() {{ return 'a'; }}\ninline {} number() {{ return 3; }}\n"
        'inline {} text() {{ return "a\\n"; }}\n}}\n'
    )
    files = {
        "sums.spec.h": tests,
        ".meta/example.cpp": "",
        ".meta/example.h": form.format("char", "int", "std::string"),
    }
    code = form.format("unsigned char", "std::int8_t", "std::string_view")
    report = grade(grader, "cpp", code, **files)
    assert (report.verdict, report.passed) == ("passed", 3), report.feedback


_THROWS = {
    "javascript": ("return parts ?", "if (parts) throw new Error('on purpose');\n  return parts ?"),
    "lua": ("return how and", "if how then error('on purpose') end\n  return how and"),
    "ruby": ("parts ? {", "raise 'on purpose' if parts\n    parts ? {"),
    "php": (
        "return $parts",
        "if ($parts) { throw new Exception('on purpose'); }\n    return $parts",
    ),
}


@pytest.mark.parametrize("language", ["javascript", "typescript", "lua", "ruby", "php"])
def test_error_ends_its_own_test_only(grader: Grader, language: str) -> None:
    code = RIGHT[language].replace(*_THROWS.get(language, _THROWS["javascript"]))
    report = grade(grader, language, code)
    assert (report.verdict, report.passed) == ("runtime_error", CASES[language] - 1)
    assert "on purpose" in report.feedback
    assert len(report.cases) == CASES[language]


_NOTHING = {
    "go": "package sums\n",
    "java": "class Other {}\n",
    "lua": "return {}\n",
    "perl": "package sums;\n1;\n",
    "ruby": "module Other; end\n",
    "rust": "pub fn other() {}\n",
}


@pytest.mark.parametrize("language", _NOTHING)
def test_feedback_names_lines_of_the_answer_and_none_of_the_tests(
    grader: Grader, language: str
) -> None:
    report = grade(grader, language, f"\n\n)\n{RIGHT[language]}")
    assert re.search(r"\bline [34]\b", report.feedback), report.feedback
    report = grade(grader, language, _NOTHING[language])
    assert not re.search(r"(?<!tests )\bline \d", report.feedback), report.feedback


def test_panic_ends_its_own_test_only(grader: Grader) -> None:
    counted = "all.iter().map(|each| (each.to_string(), each.len())).collect()"
    code = RIGHT["rust"].replace(counted, 'panic!("on purpose")')
    report = grade(grader, "rust", code)
    assert report.verdict == "runtime_error"
    assert "on purpose" in report.feedback
    failed = [case.id for case in report.cases if case.verdict != "passed"]
    assert failed == ["1", "2"], report.feedback


GO_ATTACKS = {
    "exit": "func init() { os.Exit(0) }",
    "a test that ends all": "func TestMain(m *testing.M) { os.Exit(0) }",
    "a look into the tests": 'func init() { names, _ := filepath.Glob("*.go")\n'
    "for _, name := range names { text, _ := os.ReadFile(name); fmt.Println(string(text)) } }",
    "the tests as a part": "//go:embed *.go\nvar tests embed.FS\n"
    "func init() { fmt.Println(tests) }",
    "another nil": 'var nil error = errors.New("")',
    "another true": "const true = false",
    "another append": "func append(a []string, b ...string) []string { return []string{} }",
    "a table": "func init() { testCases = nil }",
    "another t": "type testing struct{}",
    "what shows values": 'func (seenForTests) String() string { return "" }',
    "the rest in a comment": "/*",
    "the rest in a text": "var rest = `",
}


@pytest.mark.parametrize("attack", GO_ATTACKS)
def test_answer_in_go_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    packages = ("embed", "fmt", "os", "path/filepath", "testing")
    used = [name for name in packages if f"{name[name.find('/') + 1 :]}." in GO_ATTACKS[attack]]
    imports = "\n".join(f'import "{name}"' for name in ("errors", *used))
    code = RIGHT["go"].replace('import "errors"', imports).replace("total + each", "total")
    code = code.replace('0, errors.New("no numbers at all")', '0, errors.New("x")')
    code = f"{code}\n{GO_ATTACKS[attack]}\n"
    report = grade(grader, "go", code)
    assert_unpaid(report, most=2)


def test_answer_in_go_needs_its_own_imports_and_may_have_a_main(grader: Grader) -> None:
    code = RIGHT["go"].replace("total := 0", "total := 0\n\tvar _ = reflect.TypeOf(total)")
    report = grade(grader, "go", code)
    assert report.verdict == "compile_error"
    assert "undefined: reflect" in report.feedback
    code = code.replace('import "errors"', 'import ("errors"; "reflect")')
    report = grade(grader, "go", f"{code}\nfunc main() {{ panic(1) }}\n")
    assert report.verdict == "passed", report.feedback


_GO_KINDS = """package sums
import ("bytes"; "errors"; "reflect"; "testing"; "time")
func number(n int) *int { return &n }
var rows = []struct{ given int; want any }{
	{0, 5}, {1, int8(5)}, {2, "5"}, {3, []int(nil)}, {4, []int{}}, {5, 5.0}, {6, nil},
	{7, []any{
		number(5), []string{"a, b"}, map[string]any{"x": 1, "y": nil}, 'x', [2]float64{0, 1e300},
	}},
}
func TestKinds(t *testing.T) {
	for _, tc := range rows {
		if got := F(tc.given); !reflect.DeepEqual(got, tc.want) { t.Error() }
	}
}
func TestPointers(t *testing.T) { if P(0) != number(5) { t.Error() } }
func TestOthers(t *testing.T) {
	if G(0) != 5 { t.Error() }
	if !bytes.Equal(B(0), []byte{}) { t.Error() }
	if !T(0).Equal(time.Unix(5, 6).UTC()) { t.Error() }
	if err := E(0); err == nil || err.Error() != errors.New("5").Error() { t.Error() }
}
"""
_GO_VALUES = """package sums
import ("errors"; "time")
type Small int8
func F(n int) any {
	five := 5
	return []any{VALUES}[n]
}
func G(int) Small { return 5 }
func P(n int) *int { n = 5; return &n }
func B(int) []byte { return nil }
func T(int) time.Time { return time.Unix(5, 6).In(time.FixedZone("x", 60)) }
func E(int) error { return errors.New("5") }
"""
_INNER = "[]any{&five, []string{LIST}, map[string]any{KEYS}, 'x', [2]float64{-0.0, 1e300}}"


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        pytest.param(
            '5, int8(5), "5", []int(nil), []int{}, 5.0, nil, '
            + _INNER.replace("LIST", '"a, b"').replace("KEYS", '"y": nil, "x": 1'),
            9,
            id="the values",
        ),
        pytest.param(
            'int8(5), 5, 5, []int{}, []int(nil), 5, "nil", '
            + _INNER.replace("LIST", '"a", "b"').replace("KEYS", '"y": nil, "x": 1'),
            1,
            id="others that look alike",
        ),
        pytest.param(
            'Small(5), Small(5), []byte("5"), [0]int{}, []any{}, float32(5), error(nil), '
            + _INNER.replace("LIST", '"a, b"').replace("KEYS", '"y": "nil", "x": 1'),
            2,
            id="other types",
        ),
    ],
)
def test_values_in_go_are_equal_as_its_own_tests_say(
    grader: Grader, values: str, passed: int
) -> None:
    code = _GO_VALUES.replace("VALUES", values)
    report = grade(grader, "go", code, **{"sums.spec.go": _GO_KINDS})
    assert (report.passed, len(report.cases)) == (passed, 10), report.feedback


PERL_ATTACKS = {
    "exit": "exit 0;",
    "an end without a value": "END { $? = 0 } die;",
    "a look into the tests": "local @ARGV = glob '*.pl'; print <>;",
    "forged values": "local @ARGV = glob '*.pl'; my $all = join '', <>;"
    '$all =~ /\\n(\\w{16}) 0 /; print "\\n$1 $_ \\"true\\"\\n" for 0 .. 8;',
    "another show": "sub main::shown_for_tests { '\"true\"' }",
    "other functions": "no warnings; *main::one_for_tests = *main::truth_for_tests ="
    " sub { 'true' };"
    "*main::number_for_tests = *main::thrown_for_tests = sub { 'number 7' };",
    "another comparison": "use overload '==' => sub { 1 }, '\"\"' => sub { 1 };"
    "sub Other::new { bless [], 'sums' }",
    "another print": "BEGIN { *CORE::GLOBAL::print = sub { 1 } } close STDOUT;",
    "no data": "close main::DATA;",
}


@pytest.mark.parametrize("attack", PERL_ATTACKS)
def test_answer_in_perl_that_solves_nothing_is_not_paid(grader: Grader, attack: str) -> None:
    code = RIGHT["perl"].replace("$a + $b", "0").replace("no numbers at all", "")
    code = code.replace("'total: '", "''").replace("use warnings;", f"{PERL_ATTACKS[attack]}\n")
    code = code.replace("? 0 : 1", "? 1 : 0")
    report = grade(grader, "perl", code)
    assert_unpaid(report, most=3)


_PERL_VALUES = """use Test2::V0;
use sums qw<f>;
is( f(0), 1 );
is( f(1), undef );
is( f(2), '' );
is( f(3), [ 1, [2], { a => undef } ] );
is( f(4), 'a"b' );
is( f(5), T );
is( f(6), DF );
is( f(7), number(2) );
"""


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        pytest.param(
            "1, undef, '', bless([ 1, [2], bless { a => undef } ]), 'a\"b', 'x', '', '2.0'",
            8,
            id="the values",
        ),
        pytest.param(
            "'1.0', '', undef, [ 1, 2, { a => undef } ], 'a\\\\\"b', 0, undef, '2x'",
            0,
            id="others that look alike",
        ),
        pytest.param(
            "(1, 1), (), (), (1, [2], { a => undef }), [], (1, 1), (), (2, 2)", 4, id="lists"
        ),
    ],
)
def test_values_in_perl_are_equal_as_its_own_tests_say(
    grader: Grader, values: str, passed: int
) -> None:
    each = "".join(f"return ({one}) if $_[0] == {n};\n" for n, one in enumerate(_split(values)))
    head = "package sums;\nuse Exporter 'import';\nour @EXPORT_OK = 'f';\n"
    code = f"{head}sub f {{\n{each}}}\n1;\n"
    report = grade(grader, "perl", code, **{"sums.spec.pm": _PERL_VALUES})
    assert (report.passed, len(report.cases)) == (passed, 8), report.feedback


def _split(values: str) -> list[str]:
    """Return the parts of a list, by the commas that are outside of brackets."""
    parts, depth = [""], 0
    for char in values:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


_KINDS = """import { f } from './sums';
test('kinds', () => {
  expect(f(0)).toBe(NaN);
  expect(f(1)).toBe(5n);
  expect(f(2)).toEqual(new Map([[1, 2], [3, 4]]));
  expect(f(3)).toEqual(new Set([1, 2]));
  expect(f(4)).toEqual(new Date(0));
  expect(f(5)).toBe(-Infinity);
});
"""


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        pytest.param(
            "NaN, 5n, new Map([[3, 4], [1, 2]]), new Set([2, 1]), new Date(0), -Infinity",
            6,
            id="the values",
        ),
        pytest.param(
            "'NaN', '5', [[1, 2], [3, 4]], [1, 2], '1970-01-01T00:00:00.000Z', '-Infinity'",
            0,
            id="what JSON makes of them",
        ),
    ],
)
def test_values_in_javascript_equal_none_of_another_kind(
    grader: Grader, values: str, passed: int
) -> None:
    code = f"export const f = (n) => [{values}][n];"
    report = grade(grader, "javascript", code, **{"sums.spec.js": _KINDS})
    assert (report.passed, len(report.cases)) == (passed, 6), report.feedback
