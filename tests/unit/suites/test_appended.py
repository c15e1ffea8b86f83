"""Tests that people wrote as assertions become cases of expressions, or are refused."""

import contextlib
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import languages
from grader.languages import ValueDriver
from grader.model import ExpressionTests
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from grader.suites.assertions import read_assertions
from tests.appended_rows import APPENDED, JAVA


def read(language: str, source: str) -> ExpressionTests:
    how = languages.languages()[language].assertions
    assert how is not None
    return read_assertions(source, how, "twice")


@pytest.mark.parametrize("language", APPENDED)
def test_row_is_read_in_the_language_of_its_id(language: str) -> None:
    suite = parse_label(APPENDED[language].label)
    assert (suite.language, suite.format, suite.entry_point) == (language, "mceval", "twice")
    assert suite.reference == f"{suite.prompt}{APPENDED[language].solution}"


def test_row_without_an_entry_point_tests_what_its_declaration_begins() -> None:
    suite = parse_label(JAVA)
    assert (suite.language, suite.format, suite.entry_point) == ("java", "humanevalpack", "twice")


def test_entry_point_that_the_tests_do_not_mention_is_not_the_function() -> None:
    suite = parse_label({**JAVA, "entry_point": "twiceAll"})
    assert suite.entry_point == "twice"


def text_of(tests: ExpressionTests) -> str:
    return "\n".join([tests.setup, *tests.around, *(case.actual for case in tests.cases)])


@pytest.mark.parametrize("language", APPENDED)
def test_submission_sees_nothing_of_what_is_expected(language: str) -> None:
    tests = parse_label(APPENDED[language].label).tests
    assert isinstance(tests, ExpressionTests)
    for secret in ("4", "0.2", "wanted", "none", "nothing"):
        assert secret not in text_of(tests)
    assert any("4" in text for text in (*(c.expected for c in tests.cases), *tests.around_expected))


@pytest.mark.parametrize(
    ("language", "source", "actual", "expected", "within"),
    [
        pytest.param("cpp", "assert (4==twice(2));", "twice(2)", "4", None, id="value first"),
        pytest.param("cpp", "assert(((twice(2)) == 4));", "twice(2)", "4", None, id="brackets"),
        pytest.param("cpp", 'assert(twice("==") == ")");', 'twice("==")', '")"', None, id="texts"),
        pytest.param("c", 'assert(strcmp(twice(2), "x") == 0);', "twice(2)", '"x"', None, id="C"),
        pytest.param("cpp", "assert(abs(twice(2)-4) < 1e-4);", "twice(2)", "4", 1e-4, id="close"),
        pytest.param("cpp", "assert(!twice(2));", "twice(2)", "false", None, id="denied"),
        pytest.param(
            "javascript", "console.assert(twice(2))", "!!(twice(2))", "true", None, id="truth"
        ),
        pytest.param(
            "javascript",
            "const tiny = 1e-3\nconst got = twice(2)\nconsole.assert(Math.abs(got.x - 4) < tiny)",
            "got.x",
            "4",
            1e-3,
            id="names",
        ),
        pytest.param("go", "assert.InDelta(t, 4, twice(2), 0.1)", "twice(2)", "4", 0.1, id="delta"),
        pytest.param("go", "assert.False(twice(2))", "twice(2)", "false", None, id="false"),
        pytest.param("go", "assert.Equal(true, twice(2) == 4)", "twice(2)", "4", None, id="true"),
        pytest.param(
            "rust", "assert!((twice(2) - 4.0).abs() < 0.1);", "twice(2)", "4.0", 0.1, id="Rust"
        ),
        pytest.param("ruby", "raise 'no' unless twice(2) == 4", "twice(2)", "4", None, id="Ruby"),
        pytest.param("r", "stopifnot(all(twice(2) == 4))", "twice(2)", "4", None, id="R"),
        pytest.param(
            "r", "got <- twice(2)\nstopifnot(identical(got, 4))", "got", "4", None, id="R's names"
        ),
        pytest.param("java", "assert twice(2)\n== 4 : m(1);", "twice(2)", "4", None, id="Java"),
        pytest.param("java", 'assert "4".equals(twice(2));', "twice(2)", '"4"', None, id="equals"),
        pytest.param("perl", "die 'no' if twice(2) != 4;", "twice(2)", "4", None, id="Perl"),
        pytest.param(
            "perl",
            "die 'no' unless join(',', @{twice(2)}) eq '4';",
            "join(',', @{twice(2)})",
            "'4'",
            None,
            id="joined",
        ),
        pytest.param("cpp", "assert(not(twice(2)));", "twice(2)", "false", None, id="not"),
        pytest.param("cpp", "assert(abs(twice(2) +1)<0.1);", "twice(2)", "-(1)", 0.1, id="plus"),
        pytest.param("cpp", "assert(!strcmp(twice(2), s));", "twice(2)", "s", None, id="strcmp"),
        pytest.param(
            "java", 'assert (String) twice(2) == "4";', "(String) twice(2)", '"4"', None, id="cast"
        ),
        pytest.param(
            "java",
            "assert twice(2).equals(new List() { { add(4); } }) : m;",
            "twice(2)",
            "new List() { { add(4); } }",
            None,
            id="statements in a value",
        ),
        pytest.param(
            "cpp",
            'std::string got;\ngot = twice(2);\nassert(got.compare("4") == 0);',
            "got",
            '"4"',
            None,
            id="name that is declared before",
        ),
        pytest.param(
            "typescript", "assert.strictEqual(twice(2), 4);", "twice(2)", "4", None, id="Node"
        ),
        pytest.param(
            "c", "assert(fabs(sqrt(twice(2)) - 4) < 0.1);", "sqrt(twice(2))", "4", 0.1, id="root"
        ),
        pytest.param(
            "cpp", "assert(sorted(twice(2)) == 4);", "sorted(twice(2))", "4", None, id="function"
        ),
        pytest.param("lua", "local a = twice(2)\nassert(#a == 4)", "#a", "4", None, id="length"),
        pytest.param(
            "perl", "die 'no' if @{twice(2)} != 4;", "@{twice(2)}", "4", None, id="Perl's length"
        ),
        pytest.param(
            "rust", "let (a, b) = twice(2);\nassert_eq!(a, 4);", "a", "4", None, id="parts"
        ),
        pytest.param(
            "java", "assert twice(2).get('a') == 4;", "twice(2).get('a')", "4", None, id="key"
        ),
        pytest.param(
            "r", "got <- twice(2)\nstopifnot(got$mode == 4)", "got$mode", "4", None, id="R's parts"
        ),
    ],
)
def test_assertion_is_taken_apart(
    language: str, source: str, actual: str, expected: str, within: float | None
) -> None:
    (case,) = read(language, source).cases
    assert case.actual == actual
    assert case.within == within
    assert expected in case.expected


@pytest.mark.parametrize(
    ("language", "source", "actuals"),
    [
        pytest.param(
            "cpp",
            "int low, high;\ntwice(2, &low, &high);\nassert(low == 1 && high == 4);",
            ["low", "high"],
            id="pointers",
        ),
        pytest.param(
            "lua",
            "local got = twice(2)\nassert(got.low == 1)\ngot = twice(3)\nassert(got['low'] == 2)",
            ["got.low", "got['low']"],
            id="one name, several calls",
        ),
        pytest.param(
            "go",
            "low, high = twice(2)\nassert.Equal(1, low)\nassert.Equal(4, high)",
            ["low", "high"],
            id="several results",
        ),
        pytest.param(
            "typescript",
            "const got = twice(2);\n[low, high] = got;\nconsole.assert(low === 1 && high === 4);",
            ["low", "high"],
            id="parts of a name",
        ),
        pytest.param(
            "perl", "die 'no' if twice(2) != 4 || twice(3) != 6;", ["twice(2)", "twice(3)"], id="or"
        ),
        pytest.param(
            "java", "assert twice(2) == 4 && twice(3) == 6;", ["twice(2)", "twice(3)"], id="and"
        ),
    ],
)
def test_each_comparison_is_a_case_and_each_is_a_statement(
    language: str, source: str, actuals: list[str]
) -> None:
    tests = read(language, source)
    assert [case.actual for case in tests.cases] == actuals
    assert all(re.search(r"[;\n]", part) for part in tests.around[1:-1])


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        pytest.param(
            "cpp",
            "for (int i = 0; i < 3; i++) {\n assert(twice(i) == 2 * i);\n}",
            "2 * i",
            id="C++",
        ),
        pytest.param(
            "cpp", "for (int i = 0; i < 3; i++)\n assert(twice(i) == i + i);", "i + i", id="bare"
        ),
        pytest.param(
            "lua", "for i = 1, 3 do\n assert(twice(i) == i + i)\nend", "i + i", id="without braces"
        ),
        pytest.param(
            "rust", "for i in 0..3 {\n assert_eq!(twice(i), i + i);\n}", "i + i", id="range"
        ),
        pytest.param(
            "java",
            "for (int i = 0; i < 3; i++) {\n if (twice(i) != i + i) {\n  throw new E();\n }\n}",
            "i + i",
            id="guard",
        ),
    ],
)
def test_loop_over_numbers_repeats_its_case(language: str, source: str, expected: str) -> None:
    tests = read(language, source)
    (case,) = tests.cases
    assert (case.actual, case.repeats) == ("twice(i)", True)
    assert expected in case.expected
    assert expected not in text_of(tests)


def test_loop_that_calls_the_problems_own_function_is_refused() -> None:
    how = languages.languages()["cpp"].assertions
    assert how is not None
    source = "for (int i = 0; i < 3; i++) assert(twice(half(i)) == i + 0);"
    with pytest.raises(SuiteError, match="cannot be split"):
        read_assertions(
            source, how, "twice", "int half(int n) { return n / 2; }\nint twice(int n) {"
        )


@pytest.mark.parametrize(
    ("language", "source", "actuals"),
    [
        pytest.param(
            "php",
            "if (twice(2) != 4){\n exit(1);\n}\nassert(twice(1));",
            ["twice(2)", "twice(1)"],
            id="exit",
        ),
        pytest.param(
            "java",
            "if (!twice(2).equals(4) || twice(3) != 6) { throw new E(); }\n"
            "if (correct.contains(false)) { throw new E(); }",
            ["twice(2)", "twice(3)"],
            id="two conditions",
        ),
        pytest.param(
            "c",
            'int got = twice(2);\nif (got != 4) { printf("4"); return 1; }\nif (ready) return 1;',
            ["got"],
            id="return",
        ),
        pytest.param(
            "javascript",
            "if (Math.abs(twice(2) - 4) > 1e-6) throw new Error('4')\nlog()",
            ["twice(2)"],
            id="statement",
        ),
    ],
)
def test_condition_under_which_the_tests_give_up_is_an_assertion(
    language: str, source: str, actuals: list[str]
) -> None:
    tests = read(language, source)
    assert all(wanted in case.actual for wanted, case in zip(actuals, tests.cases, strict=True))
    assert "4" not in text_of(tests)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        pytest.param("cpp", "int a = 4;\na = 5;\nassert(twice(2) == a);", id="several values"),
        pytest.param(
            "cpp",
            "int a = 0;\nfor (int i = 0; i < n; i++) if (i) a += i % 4;\nassert(twice(3) == a);",
            id="sum",
        ),
        pytest.param(
            "java",
            "Map<String, Integer> a = new HashMap<>();\na.put(k, 4);\nassert twice(2).equals(a);",
            id="map",
        ),
        pytest.param(
            "javascript",
            "const a = [\n  4,\n]\na.push(5)\nconsole.assert(same(twice(2), a))",
            id="several lines",
        ),
        pytest.param("go", "a := 0\nif ok {\n\ta += 4\n}\nassert.Equal(a, twice(2))", id="block"),
        pytest.param(
            "cpp",
            "vector<int> a;\nfor (int i = n; i; i--) a.push_back(4);\nassert(twice(2) == a);",
            id="declared before",
        ),
        pytest.param(
            "rust", "let mut a = vec![];\na.push(4);\nassert_eq!(twice(2), a);", id="push"
        ),
    ],
)
def test_statements_that_make_an_expected_value_are_in_the_other_program_only(
    language: str, source: str
) -> None:
    tests = read(language, source)
    (case,) = tests.cases
    assert "a" in case.expected
    assert re.search(r"\ba\b|[45]", text_of(tests)) is None
    assert "4" in "".join(tests.around_expected)


def test_comparison_of_a_call_with_itself_is_left_out() -> None:
    tests = read("cpp", "assert(twice(2) == twice(2));\nassert(same(twice(3), 6));")
    assert [case.actual for case in tests.cases] == ["twice(3)"]


@pytest.mark.parametrize(
    ("language", "source", "actual"),
    [
        pytest.param(
            "ruby",
            "def check(f)\n  raise 'no' if f.call(2)\nend\ncheck(method(:twice))",
            "twice(2)",
            id="Ruby",
        ),
        pytest.param(
            "perl",
            "sub test {\nmy ($f) = @_;\nis($f->(2), 4);\n}\ntest(\\&twice);",
            "twice(2)",
            id="Perl",
        ),
        pytest.param("perl", "is_deeply([twice(2)], [4]);", "[twice(2)]", id="Perl's lists"),
        pytest.param("ruby", "raise 'no' unless twice(2).nil?", "twice(2).nil?", id="question"),
        pytest.param("csharp", "Console.WriteLine(twice(2) == 4);", "twice(2)", id="printed"),
        pytest.param(
            "perl", "die unless Dumper(twice(2)) eq Dumper([4]);", "twice(2)", id="dumped"
        ),
    ],
)
def test_call_is_found_in_the_styles_of_each_language(
    language: str, source: str, actual: str
) -> None:
    (case,) = read(language, source).cases
    assert actual in case.actual


def test_bash_may_say_that_a_test_passed() -> None:
    (case,) = read("bash", '[[ $(twice 2) == "4" ]] && { echo yes; } || { echo no; exit 1; }').cases
    assert case.expected == '"4"'


@pytest.mark.parametrize(
    ("language", "source", "own"),
    [
        pytest.param(
            "c", "int x = rand();\nassert(twice(x) == x + x);", "rand_for_tests()", id="C"
        ),
        pytest.param(
            "javascript",
            "const x = Math.random()\nconsole.assert(twice(x) === x + x)",
            "randomForTests()",
            id="JavaScript",
        ),
        pytest.param(
            "go", "x := rand.Int()\nassert.Equal(x+x, twice(x))", "randForTests.Int()", id="Go"
        ),
    ],
)
def test_random_numbers_of_the_tests_are_their_own(language: str, source: str, own: str) -> None:
    assert own in read(language, source).around[0]


@pytest.mark.parametrize(
    ("language", "source", "relation", "expected"),
    [
        pytest.param("rust", "assert!(twice(2) < 5.0);", "<", "5.0", id="less"),
        pytest.param("cpp", "assert(3 <= twice(2));", ">=", "3", id="number first"),
        pytest.param("cpp", "assert(!(twice(2) > 5));", "<=", "5", id="denied"),
        pytest.param(
            "rust", "assert!(twice(2) - 2.0 / 3.0 < 0.1);", "<", "(0.1) + (2.0 / 3.0)", id="sum"
        ),
        pytest.param("lua", "assert(not (twice(2) == 5))", "!=", "5", id="not equal"),
        pytest.param("php", "assert(twice(2) !== 5);", "!=", "5", id="PHP"),
        pytest.param("go", "assert.NotEqual(5, twice(2))", "!=", "5", id="Go"),
        pytest.param("rust", "assert_ne!(twice(2), 5);", "!=", "5", id="Rust"),
        pytest.param("perl", "isnt(twice(2), 5);", "!=", "5", id="Perl"),
        pytest.param(
            "javascript", "assert.notDeepStrictEqual(twice(2), 5)", "!=", "5", id="JavaScript"
        ),
        pytest.param(
            "javascript", "console.assert(Math.abs(twice(2) < 5))", "<", "5", id="size of a truth"
        ),
    ],
)
def test_comparison_with_a_number_is_a_relation(
    language: str, source: str, relation: str, expected: str
) -> None:
    (case,) = read(language, source).cases
    assert (case.actual, case.relation) == ("twice(2)", relation)
    assert expected in case.expected


@pytest.mark.parametrize(
    ("language", "source"),
    [
        pytest.param(
            "javascript",
            "function ok(n) { return n === 4 }\nconsole.assert(ok(twice(2)) === 1)",
            id="function of the tests around the call",
        ),
        pytest.param("cpp", "assert(max(twice(2), 4) == 4);", id="function of two arguments"),
        pytest.param("cpp", "assert(empty(twice(2)) == true);", id="function of a truth"),
        pytest.param("cpp", "assert(twice(2) > limit());", id="another comparison"),
        pytest.param("lua", "local a = twice(2)\na = 4\nassert(a == 4)", id="overwritten"),
        pytest.param("cpp", "assert(twice(2) == twice(2));", id="compared with itself"),
        pytest.param("cpp", "assert(twice(2) == 4 || twice(2) == 5);", id="either of two"),
        pytest.param("cpp", "bool ok = twice(2) == 4;\nassert(ok);", id="compared before"),
        pytest.param("cpp", "int a = 4;\nprint(a);\nassert(twice(2) == a);", id="name used twice"),
        pytest.param("cpp", "int a = 4;\nassert(twice(a) == a);", id="what is passed"),
        pytest.param("cpp", "for (int i : all)\n{\n assert(twice(i) == i + i);\n}", id="list"),
        pytest.param("cpp", "for (int i : all)\n assert(twice(i) == i + i);", id="bare loop"),
        pytest.param("lua", "for k, v in pairs(t) do\n assert(twice(k) == v + 0)\nend", id="pairs"),
        pytest.param(
            "javascript",
            "const all = [[1, 2]];\nfor (let i = 0; i < 1; i++) {\n"
            "  const [n, wanted] = all[i];\n  console.assert(twice(n) === wanted + 0);\n}",
            id="items of a list",
        ),
        pytest.param(
            "java",
            "if (twice(2) == 4) { ok(); } else { throw new E(); }",
            id="either way",
        ),
        pytest.param(
            "java", "if (!twice(2) == other()) { throw new E(); }", id="of a value's opposite"
        ),
        pytest.param(
            "javascript", "[1].forEach((n) => {\n console.assert(twice(n) === 4)\n})", id="each"
        ),
        pytest.param("go", "assert.Contains(twice(2), 4)", id="unknown assertion"),
        pytest.param("cpp", "assert(twice(2) == 4", id="never closed"),
        pytest.param("cpp", "// assert(twice(2) == 4);", id="no assertion"),
        pytest.param("cpp", "assert(twice(2) == 4);" * 4000, id="huge"),
    ],
)
def test_assertion_that_the_submission_could_decide_is_refused(language: str, source: str) -> None:
    with pytest.raises(SuiteError, match=r"the tests|an assertion"):
        read(language, source)


PIECES = [
    *("assert(", "assert.Equal(", "console.assert(", "twice(", ")", "{", "}", "==", "&&", ","),
    *("'", '"', "//", "/*", "--", "\n", "for ", "x = ", "x", "4", "abs(", " - ", "<", "\\"),
]


@given(
    st.sampled_from(sorted(APPENDED)),
    st.lists(
        st.sampled_from(PIECES),
        max_size=30,
    ),
)
def test_any_source_is_read_or_refused(language: str, parts: list[str]) -> None:
    try:
        tests = read(language, "".join(parts))
    except SuiteError:
        return
    assert len(tests.around) == len(tests.cases) + 1


@pytest.mark.parametrize(
    ("language", "piece"),
    [
        pytest.param("javascript", "r = twice(2);\nconsole.assert(r === 4);\n", id="one name"),
        pytest.param("c", "r = twice(2);\nif (r != 4) return 1;\n", id="conditions"),
        pytest.param("java", "if (a) {", id="open blocks"),
        pytest.param("cpp", "for (;;) {", id="open loops"),
    ],
)
def test_long_tests_are_read_or_refused_in_little_time(language: str, piece: str) -> None:
    with contextlib.suppress(SuiteError):
        start = time.process_time()
        read(language, piece * (56 * 1024 // len(piece)))
    assert time.process_time() - start < 20.0


@pytest.mark.parametrize("language", ["Klingon", "SQL", "OCaml"])
def test_language_without_such_tests_is_refused_with_those_that_have_them(language: str) -> None:
    label: dict[str, Any] = {**APPENDED["lua"].label, "task_id": f"{language}/1"}
    with pytest.raises(LabelError, match=r"such tests can be graded in python, bash, c, cpp"):
        parse_label(label)


def test_declaration_that_begins_no_function_is_refused() -> None:
    with pytest.raises(LabelError, match="declaration must end with the beginning of a function"):
        parse_label({**JAVA, "declaration": "class Solution {\n"})


def test_go_imports_what_is_used_and_nothing_else() -> None:
    go = languages.languages()["go"]
    assert go.show is not None
    code = 'package answer\n\nimport (\n\tm "math"\n\t"os"\n)\n// strings.ToUpper\nvar x = m.Pi'
    values = ValueDriver(
        code=code, head='import "strconv"', setup="", expressions=("strconv.Itoa(1)",), mark="m"
    )
    shown = go.show(values)
    assert re.findall(r'^import (\w* "\w+")', shown, re.MULTILINE) == [
        *(' "strconv"', 'm "math"', 'shownfmt "fmt"')
    ]
    assert shown.index("//line solution.go:1:1\n") < shown.index("var x")
