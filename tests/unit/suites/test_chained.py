"""Tests of Exercism's tracks that hold a value against another in a chain."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import languages
from grader.model import ExpressionTests
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from grader.suites.chained import read_exercise
from tests.exercises import CASES, ENDINGS, RIGHT, exercise

HEAD = "import { f, Thing } from './sums';\n"


def read(source: str, language: str = "javascript") -> ExpressionTests:
    how = languages.languages()[language].exercises
    assert how is not None
    path = f"sums{ENDINGS[language]}"
    if callable(how):
        return how(source, path)
    return read_exercise(source, how, path, RIGHT[language])[0]


@pytest.mark.parametrize("language", RIGHT)
def test_row_is_read_in_the_language_of_its_solution(language: str) -> None:
    suite = parse_label(exercise(language))
    assert (suite.language, suite.format, suite.problem_id) == (language, "exercism", "sums")
    assert suite.reference == RIGHT[language]
    assert isinstance(suite.tests, ExpressionTests)
    assert suite.tests.solution_path == f"sums{ENDINGS[language]}"
    assert len(suite.tests.cases) == CASES[language]


@pytest.mark.parametrize("language", RIGHT)
def test_submission_sees_nothing_of_what_is_expected(language: str) -> None:
    tests = parse_label(exercise(language)).tests
    assert isinstance(tests, ExpressionTests)
    text = "\n".join([*tests.around, *(case.actual for case in tests.cases)])
    for secret in (
        "42",
        "wanted",
        "total: 'ab",
        "total = 'ab",
        "'total' =>",
        "total: ab",
        "at all",
        "'numbers'",
        "7",
        "3.5",
        "no sum",
    ):
        assert secret not in text, secret
    assert "42" in tests.cases[0].expected


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("expect(f(2)).toBe(4)", "f(2)", "4", id="value"),
        pytest.param("expect(f(2)).toEqual([4])", None, "definedForTests([4])", id="equal"),
        pytest.param(
            "expect(f(')', /* 3 */ 1,),).toStrictEqual([4,\n],)", None, "[4,\n]", id="commas"
        ),
        pytest.param("const a = f(1)\nexpect(a.b[0]).toBe(4)", "a.b[0]", "4", id="part"),
        pytest.param(
            "const t = new Thing(1);\nexpect(t.add(2).all()).toBe(4)", None, "4", id="object"
        ),
        pytest.param("expect(f(2))\n  .toBe('a\\'b;')", "f(2)", "'a\\'b;'", id="line break"),
        pytest.param("expect(f(2)).toHaveLength(3)", "(f(2)).length", "3", id="length"),
        pytest.param("const w = 4;\nexpect(f(2)).toBe('w' + w)", None, "'w' + (4)", id="in a text"),
        pytest.param(
            "const w = a\n  ? 1\n  : 2\nexpect(f(2)).toBe(w)", None, "(a\n  ? 1\n  : 2)", id="lines"
        ),
        pytest.param("expect(f(2)).toBeNull()", "f(2)", "null", id="null"),
        pytest.param("const w = 1;\nexpect(f(w, 2)).toBe(4)", "f(w, 2)", "4", id="an argument"),
    ],
)
def test_assertion_is_taken_apart(assertion: str, actual: str | None, expected: str) -> None:
    (case,) = read(f"{HEAD}test('x', () => {{\n{assertion};\n}});\n").cases
    assert case.expected == expected
    assert actual is None or case.actual == actual


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("assert.are.same({ 1, 2 }, f.g(')'))", "f.g(')')", "{ 1, 2 }", id="same"),
        pytest.param("assert.equals('a', f.g(1), 'why 9')", "f.g(1)", "'a'", id="message"),
        pytest.param(
            "local w = { w = 1 }\nassert.same(w, f:g())", "f:g()", "({ w = 1 })", id="key"
        ),
        pytest.param("assert.is_truthy(f(1))", "not not (f(1))", "true", id="truth"),
        pytest.param(
            "assert.has_error(function() f() end)",
            "thrownForTests(function() f() end) ~= nil",
            "true",
            id="error",
        ),
    ],
)
def test_assertion_in_lua_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    source = f"local f = require 'sums'\nit('x', function()\n{assertion}\nend)\n"
    (case,) = read(source, "lua").cases
    assert (case.actual, case.expected) == (actual, expected)


@pytest.mark.parametrize(
    "assertion",
    [
        "assert.has_no_error(f)",
        "assert.same(f(1), 4)",
        "assert.is_true(f(1) == 4)",
        "assert.same(4)",
    ],
)
def test_assertion_in_lua_that_cannot_be_taken_apart_is_refused(assertion: str) -> None:
    with pytest.raises(SuiteError, match=r"unknown kind|about more than|submission computes"):
        read(f"local f = require('sums')\n{assertion}\n", "lua")


def test_name_is_kept_where_it_is_no_expected_value() -> None:
    tests = read(
        f"{HEAD}test('x', () => {{\n  const a = 'one';\n  const b = 'two';\n"
        "  expect(f(a)).toBe(b);\n});\n"
        "test('y', () => {\n  const a = 'three';\n  const b = 'four';\n"
        "  expect(f(b)).toBe(a);\n});\n"
    )
    assert [case.expected for case in tests.cases] == ["('two')", "('three')"]
    kept = "".join(tests.around)
    assert "'one'" in kept
    assert "'four'" in kept
    assert "'two'" not in kept
    assert "'three'" not in kept


@pytest.mark.parametrize("piece", ["expect(f(1)).toBe(a);\n", "a = [\n", "a = b\n", "({[", "'"])
def test_long_tests_are_read_or_refused_in_little_time(piece: str) -> None:
    began = time.process_time()
    with contextlib.suppress(SuiteError):
        read(HEAD + piece * (60_000 // len(piece)))
    assert time.process_time() - began < 20.0


def test_expected_name_has_the_value_that_was_given_last() -> None:
    tests = "".join(
        f"test('x', () => {{ const want = [\n{n},\n];\nexpect(f({n})).toBe(want); }});\n"
        for n in (1, 2)
    )
    assert [case.expected for case in read(HEAD + tests).cases] == ["([\n1,\n])", "([\n2,\n])"]


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("expect(f(2)).not.toThrow(4)", "of an unknown kind", id="negation"),
        pytest.param("expect(f(2)).toMatch(/4/)", "of an unknown kind", id="pattern"),
        pytest.param("expect(f(2)).resolves.toBe(4)", "of an unknown kind", id="promise"),
        pytest.param("for (const a of b) { expect(f(a)).toBe(4) }", "in a loop", id="loop"),
        pytest.param("b.forEach((a) => { expect(f(a)).toBe(4) })", "in a loop", id="each"),
        pytest.param("expect(sorted(f(2))).toBe(4)", "about more than", id="helper"),
        pytest.param("expect(f(2).every(Boolean)).toBe(true)", "about more than", id="judging"),
        pytest.param("expect(f(2) === 4).toBe(true)", "about more than", id="comparison"),
        pytest.param("expect(4).toBe(4)", "about more than", id="no call"),
        pytest.param("expect(f(2)).toBe(f(1))", "what the submission computes", id="a call"),
        pytest.param("const a = f(1);\nexpect(f(2)).toBe(a)", "submission computes", id="a name"),
        pytest.param("const w = 4;\nf(w);\nexpect(f(2)).toBe(w)", "also used elsewhere", id="use"),
        pytest.param("let w; { w = 4; }\nexpect(f(2)).toBe(w)", "also used elsewhere", id="late"),
        pytest.param("const [w] = [4];\nexpect(f(2)).toBe(w)", "also used", id="unpacked"),
        pytest.param(
            "const w = 1;\n{ const w = 2; }\nexpect(f(2)).toBe(w)",
            "another value",
            id="inner block",
        ),
        pytest.param(
            "let w = 1;\nif (c) {\n  w = 2;\n}\nexpect(f(2)).toBe(w)", "another value", id="maybe"
        ),
        pytest.param(
            "});\nlet w = 1;\ntest('y', () => {\n  expect(f(2)).toBe(w);\n});\n"
            "beforeEach(() => {\n  w = 2;",
            "another value",
            id="hook below",
        ),
        pytest.param(
            "const w = 1;\nexpect(f(1)).toBe(w);\n});\ntest('y', () => {\nexpect(f(2)).toBe(w)",
            "another value",
            id="another test",
        ),
        pytest.param("expect(f(2)", "has no end", id="end"),
        pytest.param("f(2)", "no assertion", id="none"),
    ],
)
def test_assertion_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(f"{HEAD}test('x', () => {{\n{assertion};\n}});\n")


def test_tests_that_take_nothing_from_the_submission_are_refused() -> None:
    with pytest.raises(SuiteError, match=r"take nothing from sums\.js"):
        read("import { f } from './other';\nexpect(f(1)).toBe(1);\n")


def test_exercise_of_several_solutions_or_a_path_that_leads_out_is_refused() -> None:
    config = '{"files": {"solution": ["a.js", "b.js"], "test": ["a.spec.js"]}}'
    with pytest.raises(LabelError, match="must have one solution file, but its config names 2"):
        parse_label(exercise("javascript", **{".meta/config.json": config}))
    config = '{"files": {"solution": ["../sums.js"], "test": ["sums.spec.js"]}}'
    tests = "import { f } from '../sums.js';\nexpect(f(1)).toBe(1);"
    with pytest.raises(LabelError, match="must be relative and stay inside its folder"):
        parse_label(exercise("javascript", **{".meta/config.json": config, "sums.spec.js": tests}))


PIECES = [
    "expect(",
    ").toBe(",
    ")",
    "f(1)",
    "const a = ",
    "\n",
    ";",
    "{",
    "}",
    "'",
    "`",
    "// x",
    "[",
    "test('x', () => ",
    ".toThrow(",
    "new Error(",
    "a",
    "=",
    ".b",
    "let ",
    "import { g } from './sums'",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_any_tests_are_read_or_refused(parts: list[str]) -> None:
    try:
        tests = read(HEAD + "".join(parts))
    except SuiteError:
        return
    assert len(tests.around) == len(tests.cases) + 1


@pytest.mark.parametrize(
    ("language", "assertion", "relation"),
    [
        pytest.param("javascript", "expect(f(2)).not.toBe(4)", "!=", id="JavaScript"),
        pytest.param("java", "assertThat(Sums.sum(1)).isNotEqualTo(4);", "!=", id="Java"),
        pytest.param("ruby", "refute_equal 4, F.g(1)", "!=", id="Ruby"),
        pytest.param("php", "$this->assertNotSame(4, f(2));", "!=", id="PHP"),
        pytest.param("rust", "assert_ne!(sum(2), 4);", "!=", id="Rust"),
    ],
)
def test_negated_equality_is_a_relation(language: str, assertion: str, relation: str) -> None:
    around = {"java": _in_java, "ruby": _in_ruby, "php": _in_php, "rust": _in_rust}
    source = around[language](assertion) if language in around else f"{HEAD}{assertion}\n"
    (case,) = read(source, language).cases
    assert case.relation == relation
    assert "4" in case.expected


@pytest.mark.parametrize(
    ("language", "assertion"),
    [
        pytest.param("ruby", "d = 0.01\nassert_in_delta 4, F.g(1), d", id="Ruby"),
        pytest.param("php", "$this->assertEqualsWithDelta(4, f(2), 1e-2);", id="PHP"),
    ],
)
def test_third_argument_is_the_tolerance(language: str, assertion: str) -> None:
    source = _in_ruby(assertion) if language == "ruby" else _in_php(assertion)
    (case,) = read(source, language).cases
    assert (case.expected, case.within) == ("4", 0.01)


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param("(F.new(1) + F.new(2)).to_s", id="operator"),
        pytest.param("(F.new(1) + 3).to_s", id="number"),
        pytest.param("F.new(1) * F.new(2)", id="no brackets"),
    ],
)
def test_operators_on_objects_of_the_submission_make_its_values(actual: str) -> None:
    (case,) = read(_in_ruby(f"assert_equal 4, {actual}"), "ruby").cases
    assert (case.actual, case.expected) == (actual, "4")


def test_operators_with_other_values_are_refused() -> None:
    for other in ("g", "'4'", "F.new(1) == F.new(1)"):
        with pytest.raises(SuiteError, match="more than a value of the submission"):
            read(_in_ruby(f"assert F.new(1) + {other}"), "ruby")


def _in_ruby(body: str) -> str:
    return f"class T < Minitest::Test\ndef test_x\n{body}\nend\nend\n"


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("assert_equal [1], F.g(:x) # 2", "F.g(:x)", "[1]", id="no brackets"),
        pytest.param("assert_equal [\n1\n], F.g.h!(2),\n'why'", "F.g.h!(2)", "[\n1\n]", id="lines"),
        pytest.param("f = F.new(a: 1)\nrefute f.ready?", "!!(f.ready?)", "false", id="question"),
        pytest.param(
            "assert_raises(F::Bad) { F.g(1) }",
            "kind_for_tests(thrown_for_tests(-> { F.g(1) }), F::Bad)",
            '"F::Bad"',
            id="error",
        ),
    ],
)
def test_assertion_in_ruby_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_ruby(assertion), "ruby").cases
    assert (case.actual, case.expected) == (actual, expected)


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("$this->assertSame([1], f(')')); # 2", "f(')')", "[1]", id="same"),
        pytest.param(
            "$a = new F(1);\nself::assertEquals('1', $a->g()->h, 'why 2');",
            "looseForTests($a->g()->h)",
            "looseForTests('1')",
            id="part of an object",
        ),
        pytest.param("$this->assertTrue(F::g(1));", "F::g(1)", "true", id="of a class"),
        pytest.param(
            "$this->a = new F(1);\n$this->assertCount(2, $this->a->g());",
            "count($this->a->g())",
            "2",
            id="count of a property",
        ),
        pytest.param(
            "$this->expectException(Bad::class);\nf(1);",
            "kindForTests($thrownForTests, Bad::class)",
            "Bad::class",
            id="exception",
        ),
        pytest.param(
            "$this->assertSame(str_repeat('a', 3), f(3));", "f(3)", "str_repeat('a', 3)", id="known"
        ),
    ],
)
def test_assertion_in_php_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_php(assertion), "php").cases
    assert (case.actual, case.expected) == (actual, expected)


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("$this->assertNotContains(1, f(2));", "unknown kind", id="negation"),
        pytest.param(
            "$this->assertEqualsWithDelta(1, f(2), d());", "a tolerance is", id="tolerance"
        ),
        pytest.param("foreach ($a as $b) { $this->assertSame(1, f($b)); }", "a loop", id="loop"),
        pytest.param("$this->assertTrue(f(2) === 1);", "about more than", id="comparison"),
        pytest.param("$this->assertSame(strlen(f(2)), 1);", "submission computes", id="order"),
        pytest.param(
            "$this->expectException(A::class);\nf(1);\n$this->assertSame(1, f(2));",
            "follows what must be thrown",
            id="not reached",
        ),
        pytest.param("$this->expectExceptionCode(3);\nf(1);", "an unknown way", id="code"),
        pytest.param("$this->assertSame(g(1), f(2));", "submission computes", id="a call"),
    ],
)
def test_assertion_in_php_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(_in_php(assertion), "php")


def test_tests_in_php_that_get_arguments_are_refused() -> None:
    source = _in_php("$this->assertSame(1, f($n));").replace("testX()", "testX(int $n)")
    with pytest.raises(SuiteError, match="get their arguments from elsewhere"):
        read(source, "php")


def _in_php(body: str) -> str:
    start = "<?php\nuse PHPUnit\\Framework\\TestCase;\n\nclass FTest extends TestCase\n{\n"
    return f"{start}    public function testX(): void\n    {{\n{body}\n    }}\n}}\n"


@pytest.mark.parametrize(
    ("statements", "actual", "expected"),
    [
        pytest.param("assert_output 'a b'", "output_of", "'a b'", id="output"),
        pytest.param(
            "assert_success\nassert_output a  # 3", "in_success output_of", "a", id="success"
        ),
        pytest.param(
            "assert_failure\nassert_output", "in_failure any_output_of", "yes", id="some output"
        ),
        pytest.param("assert_failure 3", "status_of", "3", id="status"),
        pytest.param("assert_line -n 2 $'\\n'", "line_of 2", "$'\\n'", id="line"),
        pytest.param('assert_equal 3 "${#lines[@]}"', "count_of", "3", id="count"),
        pytest.param(
            'w=(1 2)\nv="${w[*]}"\nassert_output "$v"',
            "output_of",
            '"$(w=(1 2)\nv="${w[*]}"\nprintf %s "$v")"',
            id="names",
        ),
    ],
)
def test_assertion_in_bash_is_taken_apart(statements: str, actual: str, expected: str) -> None:
    (case,) = read(_in_bash(f'run bash sums.sh 1 "2"\n{statements}'), "bash").cases
    assert case.actual == f'"$({actual} sums.sh 1 "2")"'
    assert case.expected == expected


def test_status_alone_is_a_case_in_bash() -> None:
    (case,) = read(_in_bash("run bash sums.sh\nassert_success"), "bash").cases
    assert (case.actual, case.expected) == ('"$(in_success printf yes)"', "yes")


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param("run bash sums.sh\nassert_output --regexp '^1'", id="pattern"),
        pytest.param("run bash sums.sh\nrefute_output 1", id="negation"),
        pytest.param("run bash sums.sh $(date)\nassert_output 1", id="a command"),
        pytest.param('run bash sums.sh "$(date)"\nassert_output 1', id="in a text"),
        pytest.param("run bash sums.sh `date`\nassert_output 1", id="backquotes"),
        pytest.param("run bash sums.sh < x\nassert_output 1", id="redirected"),
        pytest.param('run bash sums.sh "$x"\nassert_output 1', id="unknown name"),
        pytest.param('run bash sums.sh\nx=$output\nassert_output "$x"', id="own output"),
        pytest.param("run bash other.sh\nassert_output 1", id="another program"),
        pytest.param("for x in 1 2; do\nrun bash sums.sh\nassert_output 1\ndone", id="loop"),
        pytest.param("assert_output 1", id="no run"),
        pytest.param("x=$(date)\nrun bash sums.sh\nassert_output $x", id="assigned command"),
        pytest.param("run bash sums.sh", id="no assertion"),
    ],
)
def test_tests_in_bash_that_cannot_be_taken_apart_are_refused(statements: str) -> None:
    with pytest.raises(SuiteError, match="cannot be split"):
        read(_in_bash(statements), "bash")


@pytest.mark.parametrize(
    "piece", ["x=$'a'$'b'", '"$x" ', "x=(1 ", "$(cat <<A\n", "run bash sums.sh 1\n", "a \\\n"]
)
def test_long_tests_in_bash_are_read_or_refused_in_little_time(piece: str) -> None:
    began = time.process_time()
    with contextlib.suppress(SuiteError):
        read(_in_bash(piece * (60_000 // len(piece))), "bash")
    assert time.process_time() - began < 20.0


def _in_bash(body: str) -> str:
    return f"#!/usr/bin/env bats\nload bats-extra\n\n@test 'x' {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("assert_eq!(sum(&[1]), Ok(2));", "sum(&[1])", "Ok(2)", id="expected second"),
        pytest.param("assert_eq!(sum::<u8>(&[]), Ok(2));", "sum::<u8>(&[])", "Ok(2)", id="generic"),
        pytest.param(
            "assert_eq!(Error::None, sum(&[]));", "sum(&[])", "Error::None", id="own type first"
        ),
        pytest.param("assert_eq!(Ok(2), sum(&[1]),);", "sum(&[1])", "Ok(2)", id="expected first"),
        pytest.param('assert!(sum(&[1]) == Ok(2), "why");', "sum(&[1])", "Ok(2)", id="equality"),
        pytest.param(
            "let w: Vec<u8> = vec![b',', b'\\''];\nassert_eq!(lengths(&[]), w);",
            "lengths(&[])",
            "{ let mut w: Vec<u8> = vec![b',', b'\\'']; ; w }",
            id="typed name",
        ),
        pytest.param(
            'assert_eq!(sum(&[1]), Err(Error::Empty { text: "a".into() }));',
            "sum(&[1])",
            'Err(Error::Empty { text: "a".into() })',
            id="the submission's type",
        ),
    ],
)
def test_assertion_in_rust_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_rust(assertion), "rust").cases
    assert (case.actual, case.expected) == (actual, f"as_for_tests!({actual}, {expected})")


@pytest.mark.parametrize(
    ("language", "assertion", "actual", "expected"),
    [
        pytest.param("rust", 'assert!(!lengths(&[]), "!");', "lengths(&[])", "false", id="rust"),
        pytest.param("rust", "assert!(!!lengths(&[]));", "lengths(&[])", "true", id="twice"),
        pytest.param("rust", "assert!(sum(&[]).is_err());", "sum(&[]).is_ok()", "false", id="err"),
        pytest.param(
            "rust", "assert!(!sum(&[]).is_err());", "sum(&[]).is_ok()", "true", id="no err"
        ),
        pytest.param(
            "rust", "assert!(lengths(&[]).is_none());", "lengths(&[]).is_some()", "false", id="none"
        ),
        pytest.param("cpp", "REQUIRE(!sums::odd(1));", "bool(sums::odd(1))", "false", id="cpp"),
        pytest.param(
            "cpp", "REQUIRE_FALSE(!sums::odd(1));", "bool(sums::odd(1))", "true", id="c++"
        ),
        pytest.param("c", "TEST_ASSERT(!sum(1));", "!!(sum(1))", "0", id="c"),
        pytest.param("c", "TEST_ASSERT_FALSE(! sum(1));", "!!(sum(1))", "1", id="c false"),
    ],
)
def test_negation_does_not_tell_what_is_expected(
    language: str, assertion: str, actual: str, expected: str
) -> None:
    source = {"rust": _in_rust, "cpp": _in_cpp, "c": _in_c}[language](assertion)
    (case,) = read(source, language).cases
    assert case.actual == actual
    assert case.expected.strip("({ })").endswith(expected)


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("assert!(!sum(&[1]) == Ok(2));", "about more than", id="negated side"),
        pytest.param("assert!(sum(&[1]) != Ok(3));", "about more than", id="inequality"),
        pytest.param("assert!(sum(&[1]) == Ok(2) || true);", "about more than", id="or"),
        pytest.param("assert!(wanted.eq(sum(&[1])));", "about more than", id="reversed"),
        pytest.param("assert!(numbers(1).contains(&2));", "about more than", id="judging"),
        pytest.param("assert_eq!(sum(&[1]), sum(&[2]));", "submission computes", id="two calls"),
        pytest.param("assert_eq!(sum(&[1]), Counter::new().total());", "computes", id="a call"),
        pytest.param("for n in 0..3 { assert_eq!(sum(&[n]), Ok(n)); }", "in a loop", id="loop"),
        pytest.param("if true { assert_eq!(sum(&[1]), Ok(2)); }", "directly in a test", id="if"),
        pytest.param("}\nfn check() {\nassert!(sum(&[1]).is_ok());", "directly in", id="helper"),
        pytest.param("assert_eq!(sum(&[time::now()]), Ok(2));", "must use one crate", id="crate"),
        pytest.param(
            '}\n\n#[cfg(feature = "x")]\n#[test]\nfn y() {\n', "another form", id="attribute"
        ),
        pytest.param("}\n\nmod a {\n    #[test]\n    fn y() {\n    }", "another form", id="module"),
    ],
)
def test_assertion_in_rust_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(_in_rust(assertion), "rust")


def test_tests_in_rust_need_an_example() -> None:
    with pytest.raises(SuiteError, match="has no example"):
        parse_label(exercise("rust", **{".meta/proof.ci.rs": ""}))


def _in_rust(body: str) -> str:
    return f"use sums::*;\n\n#[test]\nfn x() {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("assertThat(Sums.sum(1))\n.isEqualTo(2);", "Sums.sum(1)", "2", id="value"),
        pytest.param(
            "int[] w = {1, 2};\nassertThat(new Sums().all()).isEqualTo(w);",
            "new Sums().all()",
            "(new int[] {1, 2})",
            id="typed name",
        ),
        pytest.param(
            'String w = """\n  a; {"\n  """;\nassertThat(Sums.text()).isEqualTo(w);',
            "Sums.text()",
            '("""\n  a; {"\n  """)',
            id="text of several lines",
        ),
        pytest.param(
            "assertThat(Sums.texts()).containsExactly(')', 1);",
            "ShownForTests.items(Sums.texts())",
            "java.util.Arrays.<Object>asList(')', 1)",
            id="items",
        ),
        pytest.param(
            "assertThat(Sums.mean()).isCloseTo(2.5, within(0.1));", "Sums.mean()", "2.5", id="close"
        ),
        pytest.param(
            'assertThatThrownBy(() -> Sums.sum()).hasMessageContaining("no");',
            "ShownForTests.message(Throwable.class, () -> Sums.sum())",
            '"no"',
            id="message",
        ),
        pytest.param(
            "assertThatIllegalStateException().isThrownBy(() -> Sums.sum());",
            "ShownForTests.thrown(IllegalStateException.class, () -> Sums.sum())",
            '"IllegalStateException"',
            id="exception",
        ),
    ],
)
def test_assertion_in_java_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_java(assertion), "java").cases
    assert case.actual == actual
    assert expected in case.expected


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("assertThat(Sums.sum(1)).isNotSameAs(2);", "unknown kind", id="negation"),
        pytest.param("assertThat(Sums.sum(1)).isPositive().isLessThan(2);", "unknown", id="range"),
        pytest.param("assertThat(Sums.sum(1)).isEqualTo(2).isEqualTo(2);", "unknown", id="chain"),
        pytest.param("assertEquals(2, Sums.sum(1));", "unknown kind", id="another library"),
        pytest.param("Assertions.fail();", "unknown kind", id="failure"),
        pytest.param("assertThat(Sums.texts()).containsExactly(w);", "unknown", id="array"),
        pytest.param("assertThat(Sums.sum(1) == 2).isTrue();", "about more than", id="comparison"),
        pytest.param("assertThat(Sums.sum(1)).isEqualTo(Sums.sum(2));", "computes", id="a call"),
        pytest.param(
            "for (int n : w) { assertThat(Sums.sum(n)).isEqualTo(n); }", "loop", id="loop"
        ),
        pytest.param("if (w) assertThat(Sums.sum(1)).isEqualTo(2);", "directly", id="no braces"),
        pytest.param("if (w) { assertThat(Sums.sum(1)).isEqualTo(2); }", "directly in", id="if"),
        pytest.param("assertThat(Sums.sum(1)).isEqualTo(Sums.MOST);", "a constant", id="constant"),
        pytest.param("}\n@ParameterizedTest\nvoid y() {", "another form", id="arguments"),
        pytest.param("}\n@Test\nint y() {", "another form", id="result"),
    ],
)
def test_assertion_in_java_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(_in_java(assertion), "java")


def _in_java(body: str) -> str:
    return f"class SumsTest {{\n@Test\nvoid x() {{\n{body}\n}}\n}}\n"


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param("REQUIRE(2 == sums::sum({1}));", "sums::sum({1})", "2", id="expected first"),
        pytest.param("CHECK(sums::sum({1}) == 2);", "sums::sum({1})", "2", id="expected second"),
        pytest.param(
            "map<int, int> w{{1, 2}};\nw.insert({3, 4});\nREQUIRE(sums::all(1) == w);",
            "sums::all(1)",
            "[&]() { map<int, int> w = map<int, int>{{1, 2}}; w.insert({3, 4}); return w; }()",
            id="typed name",
        ),
        pytest.param(
            "REQUIRE(sums::all(1) == map<int, int>{{1, 2}});",
            "sums::all(1)",
            "map<int, int>{{1, 2}}",
            id="commas",
        ),
        pytest.param(
            'string w =\n"a"\n"b";\nREQUIRE(sums::f() == w);', "sums::f()", '("a"\n"b")', id="texts"
        ),
        pytest.param(
            "sums::counter<int> one(1);\nREQUIRE_FALSE(one.is_full());",
            "bool(one.is_full())",
            "false",
            id="object",
        ),
        pytest.param(
            "REQUIRE_THROWS_AS((sums::counter<int>{1}), domain_error);",
            "shown_for_tests::throws<domain_error>",
            "true",
            id="exception",
        ),
    ],
)
def test_assertion_in_cpp_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_cpp(assertion), "cpp").cases
    assert case.actual.startswith(actual)
    assert case.expected.endswith((f"({expected}))", f" {expected})"))


def test_sections_in_cpp_each_begin_anew() -> None:
    tests = read(
        _in_cpp(
            'sums::counter<int> one(1);\nSECTION("{ 1") { REQUIRE(one.total() == 1); }\n'
            'SECTION("b") { REQUIRE(one.total() == 2); }\n'
        ),
        "cpp",
    )
    assert [case.actual for case in tests.cases] == ["one.total()"] * 2
    assert "".join(tests.around).count("sums::counter<int> one(1);") == 2


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("REQUIRE(sums::f() != 2);", "about more than", id="inequality"),
        pytest.param("REQUIRE(sums::f() == 2 && sums::g() == 3);", "about more than", id="and"),
        pytest.param("REQUIRE(sums::f() == 2 || true);", "about more than", id="or"),
        pytest.param("REQUIRE(sums::f() == 2 ? 1 : 0);", "about more than", id="choice"),
        pytest.param("REQUIRE(sums::f() == Approx(2));", "another form", id="approximately"),
        pytest.param('REQUIRE_THAT(sums::f(), Contains("a"));', "unknown kind", id="matcher"),
        pytest.param('REQUIRE_THROWS_WITH(sums::f(), "a");', "unknown kind", id="message"),
        pytest.param("REQUIRE(sums::f() == sums::g());", "submission computes", id="two calls"),
        pytest.param("REQUIRE(check(sums::f(), 2));", "about more than", id="helper"),
        pytest.param("for (int n : w) REQUIRE(sums::f(n) == 1);", "directly", id="loop"),
        pytest.param("for (int n : w) { REQUIRE(sums::f(n) == 1); }", "in a loop", id="braces"),
        pytest.param("if (w) REQUIRE(sums::f() == 1);", "directly", id="if"),
        pytest.param('SECTION("a") { w(); SECTION("b") { } }', "another form", id="nested section"),
        pytest.param('REQUIRE(true);\nSECTION("a") { }', "amid", id="before a section"),
        pytest.param("}\n#include <boost/date.hpp>\nvoid f() {", "not there", id="library"),
        pytest.param('}\nTEMPLATE_TEST_CASE("a", "", int) {', "another form", id="template"),
        pytest.param(
            "int one = 1;\n}\nvoid f() {\nsums::counter<int> one(1);", "several kinds", id="name"
        ),
    ],
)
def test_assertion_in_cpp_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(_in_cpp(assertion), "cpp")


def _in_cpp(body: str) -> str:
    return f'#include "sums.h"\n#include <catch2/catch.hpp>\n\nTEST_CASE("x") {{\n{body}\n}}\n'


@pytest.mark.parametrize("language", ["cpp", "java", "rust"])
@pytest.mark.parametrize("piece", ["a", "T a = ", "T a{", '"', "(", "const T a{1};\n"])
def test_long_tests_with_types_are_read_or_refused_in_little_time(
    language: str, piece: str
) -> None:
    inside = {"cpp": _in_cpp, "java": _in_java, "rust": _in_rust}[language]
    began = time.process_time()
    with contextlib.suppress(SuiteError):
        read(inside(piece * (60_000 // len(piece))), language)
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param(
            "TEST_ASSERT_EQUAL(2, sum(1));", "(long long)(long long)(sum(1))", "2", id="whole"
        ),
        pytest.param(
            "TEST_ASSERT_EQUAL_HEX8(0x2, sum(1));",
            "(long long)(uint8_t)(sum(1))",
            "0x2",
            id="width",
        ),
        pytest.param(
            'const char *w =\n"a"\n"b";\nTEST_ASSERT_EQUAL_STRING(w, text(1));',
            "(const char *)(text(1))",
            '("a"\n"b")',
            id="text",
        ),
        pytest.param("TEST_ASSERT_FALSE(sum(1));", "!!(sum(1))", "0", id="false"),
        pytest.param("TEST_ASSERT_NULL(text(1));", "!(text(1))", "1", id="null"),
        pytest.param(
            "counter_t c = counter_create();\nTEST_ASSERT_EQUAL(1, c.count);",
            "(long long)(long long)(c.count)",
            "1",
            id="member",
        ),
    ],
)
def test_assertion_in_c_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(_in_c(assertion), "c").cases
    assert case.actual == actual
    assert case.expected.endswith((f"({expected}))", f" {expected})"))


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        pytest.param("TEST_ASSERT_NOT_EQUAL(2, sum(1));", "unknown kind", id="negation"),
        pytest.param("TEST_ASSERT_EQUAL_FLOAT(2, sum(1));", "unknown kind", id="float"),
        pytest.param("TEST_ASSERT_EQUAL_INT_ARRAY(w, sum(1), 2);", "unknown kind", id="array"),
        pytest.param("TEST_ASSERT(&w[1] == sum(w));", "about more than", id="address"),
        pytest.param("TEST_ASSERT_EQUAL(2, w[0]);", "about more than", id="out parameter"),
        pytest.param("TEST_ASSERT_EQUAL(sum(2), sum(1));", "submission computes", id="two calls"),
        pytest.param("if (w) TEST_ASSERT_EQUAL(2, sum(1));", "directly", id="if"),
        pytest.param("while (w) { TEST_ASSERT_EQUAL(2, sum(1)); }", "in a loop", id="loop"),
        pytest.param(
            "}\nstatic void check(int w) {\nTEST_ASSERT_EQUAL(w, sum(1));", "directly", id="helper"
        ),
        pytest.param('}\n#include "other.h"\nvoid f(void) {', "not there", id="header"),
    ],
)
def test_assertion_in_c_that_cannot_be_taken_apart_is_refused(assertion: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(_in_c(assertion), "c")


def test_constant_of_the_header_is_no_expected_value_in_c() -> None:
    header = "enum kind { SMALL,\n    LARGE = 7 };\nint sum(int);\n"
    source = _in_c("TEST_ASSERT_EQUAL(LARGE, sum(1));")
    how = languages.languages()["c"].exercises
    assert how is not None
    assert not callable(how)
    with pytest.raises(SuiteError, match="submission computes"):
        read_exercise(source, how, "sums.h", header)


def _in_c(body: str) -> str:
    head = '#include "test-framework/unity.h"\n#include "sums.h"\n\n'
    return f"{head}void test_x(void) {{\n{body}\n}}\nint main(void) {{ RUN_TEST(test_x); }}\n"


def test_only_what_the_example_defines_is_the_submission_in_cpp() -> None:
    how = languages.languages()["cpp"].exercises
    assert how is not None
    assert not callable(how)
    example = "using namespace std;\nnamespace sums {\ntemplate <class T> T f(T);\n}\n"
    assert read_exercise(_in_cpp("REQUIRE(sums::f(1) == 1);"), how, "sums.h", example)[1] == "sums"
    with pytest.raises(SuiteError, match="about more than"):
        read_exercise(_in_cpp("REQUIRE(std::max(f(1), 1) == 1);"), how, "sums.h", example)


def test_name_that_an_answer_needs_is_one_that_the_example_defines() -> None:
    how = languages.languages()["rust"].exercises
    assert how is not None
    assert not callable(how)
    source = "#[test]\nfn x() {\n    assert_eq!(sums::total(&[1]), 1);\n}\n"
    example = "// sums of numbers\npub fn total(all: &[i32]) -> i32 { all[0] }\n"
    assert read_exercise(source, how, "src/lib.rs", example)[1] == "total"
