"""Exercism's tests in Go: conditions, and loops over tables."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.languages.go_tests import read_tests
from grader.model import ExpressionTests
from grader.model.errors import SuiteError

HEAD = 'package sums\n\nimport (\n\t"reflect"\n\t"testing"\n\t"time"\n)\n\n'
TABLE = """
var tests = []struct {
	title string
	given int
	want  string
	fails bool
}{
	{"one", 1, "secret one", false},
	{title: "two", given: 2, fails: true}, // secret two
}
"""


def read(body: str, before: str = "") -> ExpressionTests:
    return read_tests(f"{HEAD}{before}\nfunc TestF(t *testing.T) {{\n{body}\n}}\n", "sums.go")


def in_loop(body: str, before: str = TABLE) -> ExpressionTests:
    return read(f"for _, tc := range tests {{\n{body}\n}}", before)


def program(tests: ExpressionTests) -> str:
    return "\n".join([tests.setup, *tests.around, *(case.actual for case in tests.cases)])


LOOP = """t.Run(tc.title, func(t *testing.T) {
	got, err := F(tc.given)
	if tc.fails {
		if err == nil {
			t.Fatalf("%v: got %v", tc.title, got)
		}
		return
	}
	if err != nil {
		t.Fatal("secret three", err)
	}
	if got != tc.want {
		t.Errorf("want %q", tc.want)
	}
})"""


def test_each_row_of_a_table_is_a_case() -> None:
    tests = in_loop(LOOP)
    assert len(tests.cases) == 2
    assert "given: 1" in tests.cases[0].actual
    assert '"secret one"' in tests.cases[0].expected
    assert 'seenForTests{"err == nil: false"}' in tests.stub


def test_submission_gets_only_those_fields_that_lead_to_its_values() -> None:
    text = program(in_loop(LOOP))
    for secret in ("secret", "fails", "want", "title", "one", "two"):
        assert secret not in text, secret


def test_program_of_the_submission_is_the_same_for_all_rows() -> None:
    one = in_loop(LOOP)
    other = in_loop(
        LOOP, TABLE.replace("false", "XX").replace("true", "false").replace("XX", "true")
    )
    assert (one.setup, one.around) == (other.setup, other.around)
    assert [case.actual.split("(", 1)[1] for case in one.cases] == [
        case.actual.split("(", 1)[1] for case in other.cases
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "if got, err := F(tc.given); err != nil {\nif !tc.fails {\nt.Fatal()\n}\n"
            "} else if tc.fails {\nt.Fatal()\n} else if tc.want != got {\nt.Fatal()\n}",
            id="else",
        ),
        pytest.param(
            "got, err := F(tc.given)\nswitch {\ncase tc.fails:\nif err == nil {\nt.Fatal()\n}\n"
            "case err != nil:\nt.Fatal()\ncase got != tc.want:\nt.Fatal()\n}",
            id="switch",
        ),
        pytest.param(
            "got, err := F(tc.given)\nif tc.fails && err == nil || !tc.fails && err != nil {\n"
            "t.FailNow()\n}\nif err == nil && got != tc.want {\nt.Fail()\n}",
            id="and, or",
        ),
        pytest.param(
            "tc := tc\ngot, err := F(tc.given)\nif (err != nil) != tc.fails {\nt.Fatal()\n}\n"
            "if !(tc.fails) && !(got == tc.want) {\nt.Fatal()\n}",
            id="a condition as a value",
        ),
    ],
)
def test_ways_of_writing_the_same_test_look_at_the_same_values(body: str) -> None:
    tests = in_loop(body)
    shown = [line for line in tests.setup.split("\n") if line.startswith("seen = ")]
    assert shown == [
        'seen = append(seen, "err == nil: true")',
        "seen = append(seen, equalForTests(got))",
        'seen = append(seen, "err == nil: false")',
    ]


@pytest.mark.parametrize(
    ("body", "actual", "expected"),
    [
        pytest.param(
            "if F(2) != 4 {\nt.Error()\n}", "looseForTests(F(2))", "looseForTests(4)", id="number"
        ),
        pytest.param(
            "want := []int{4}\nif got := F(2); !reflect.DeepEqual(got, want) {\nt.Error()\n}",
            "strictForTests(got)",
            "strictForTests(want)",
            id="list",
        ),
        pytest.param(
            "c := New()\nc.Add(2)\nif 'x' != c.All[0] {\nt.Error()\n}",
            "looseForTests(c.All[0])",
            "looseForTests('x')",
            id="part",
        ),
        pytest.param(
            "if !F(2).Equal(date(4)) {\nt.Error()\n}",
            "instantForTests(F(2))",
            "instantForTests(date(4))",
            id="time",
        ),
        pytest.param("if len(F(2)) != 4 {\nt.Error()\n}", "(len(F(2)))", "(4)", id="length"),
        pytest.param("if F(2) {\nt.Error()\n}", "if F(2) {", '"F(2): false"', id="truth"),
        pytest.param(
            "var all []int\nfor i := 0; i < 3; i++ {\nall = append(all, F(i))\n}\n"
            "if all[2] != 4 {\nt.Error()\n}",
            "looseForTests(all[2])",
            "looseForTests(4)",
            id="a loop that makes a value",
        ),
    ],
)
def test_condition_becomes_a_value(body: str, actual: str, expected: str) -> None:
    tests = read(body, "func date(n int) time.Time { return time.Unix(int64(n), 0) }")
    assert len(tests.cases) == 1
    assert actual in tests.setup
    assert expected in tests.stub
    assert expected not in program(tests) or "false" in expected


def test_what_is_known_is_forgotten_if_the_submission_may_change_it() -> None:
    tests = read(
        "err := F(1)\nif err != nil {\nt.Fatal()\n}\nerr = F(2)\nif err != nil {\nt.Fatal()\n}\n"
        "g := New()\nif !g.Next() {\nt.Fatal()\n}\nif !g.Next() {\nt.Fatal()\n}\n"
        "got, err := G(3)\nif err != nil {\nt.Fatal()\n}\nif got != 4 || err != nil {\nt.Error()\n}"
    )
    (line,) = [line for line in tests.stub.split("\n") if "return seenForTests" in line]
    assert line.count("err == nil: true") == 3
    assert line.count("g.Next(): true") == 2
    assert "looseForTests(4)" in line


def test_tables_may_be_maps_lists_and_names() -> None:
    for table in (
        'map[string]string{"a": "secret", "b": "secret"}',
        '[]struct{ a string }{{"a"}, {a: "b"}}',
        '[...]string{"a", "b"}',
    ):
        loop = f"for key, each := range {table} {{\nif F(key) != each{{}} {{\nt.Error()\n}}\n}}"
        value = ".a" if "struct" in table else ""
        tests = read(loop.replace("each{}", f"each{value}"))
        assert len(tests.cases) == 2
        assert "secret" not in program(tests)
    row = 'type row struct { a, b string }\nvar one = row{"x", "secret"}\n'
    for table in ('[]*row{&row{"x", "secret"}}', '[]row{{b: "secret", a: "x"}}', "[]row{one}"):
        loop = "for _, tc := range all {\nif F(tc.a) != tc.b {\nt.Error()\n}\n}"
        tests = read(loop, f"{row}var all = {table}")
        assert 'a: "x"' in tests.cases[0].actual
        assert "secret" not in program(tests)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param("if F(tc.want) != tc.want {\nt.Error()\n}", "also expected", id="both"),
        pytest.param(
            "if G(tc.want) != tc.given {\nt.Error()\n}\nif F(tc.given) != 3 {\nt.Error()\n}",
            "also expected",
            id="there and back",
        ),
        pytest.param("check(t, F(tc.given), tc.want)", "function of the tests", id="helper"),
        pytest.param(
            "if !same(F(tc.given), tc.want) {\nt.Error()\n}", "about more than", id="equality"
        ),
        pytest.param("if F(tc) != 1 {\nt.Error()\n}", "as a whole", id="row"),
        pytest.param("if F(tests) != tc.want {\nt.Error()\n}", "as a whole", id="table"),
        pytest.param("if F(1) > 4 {\nt.Error()\n}", "about more than", id="order"),
        pytest.param("if F(1) == tc.want {\nt.Error()\n}", "several values", id="negation"),
        pytest.param("if F(1) != G(1) {\nt.Error()\n}", "submission computes", id="two calls"),
        pytest.param(
            "if F(1) != 1 && F(1) != 2 {\nt.Error()\n}", "several values", id="two values"
        ),
        pytest.param("for i := range F(1) {\nif i != 2 {\nt.Error()\n}\n}", "in a loop", id="loop"),
        pytest.param("F(1)", "no value", id="no check"),
        pytest.param(
            "if tc.fails {\nreturn\n}\nif F(1) != 2 {\nt.Error()\n}",
            "may end the loop",
            id="return",
        ),
        pytest.param(
            "if tc.fails {\ncontinue\n}\nif F(1) != 2 {\nt.Error()\n}",
            "no value",
            id="no check in a row",
        ),
        pytest.param(
            "got, err := F(1)\nif err != nil {\nt.Fatal()\n}\n"
            "if tc.fails && got != 2 {\nt.Error()\n}",
            "depends on the row",
            id="values of some rows",
        ),
        pytest.param(
            "ok := true\nfor _, each := range F(1) {\nif each != tc.want {\nok = false\n}\n}\n"
            "if !ok {\nt.Error()\n}",
            "about more than",
            id="judged in a loop",
        ),
        pytest.param(
            'check := func(a, b string) {\nif a != b {\nt.Error()\n}\n}\ncheck(F(1), "a")\n'
            "if F(2) != 3 {\nt.Error()\n}",
            "function of the tests",
            id="local helper",
        ),
        pytest.param(
            "want := 3\nif F(want) != want {\nt.Error()\n}", "value is passed", id="local value"
        ),
        pytest.param(
            "tc.want = tc.title\nif F(1) != tc.want {\nt.Error()\n}", "is changed", id="changed row"
        ),
        pytest.param("defer func() { recover() }()\nF(1)", "unknown kind", id="defer"),
        pytest.param("if tc.given > limit() {\nt.Error()\n}", "be decided", id="no submission"),
    ],
)
def test_test_that_cannot_be_followed_is_refused(body: str, why: str) -> None:
    helpers = (
        "func check(t *testing.T, a, b string) { if a != b { t.Error() } }\n"
        "func same(a, b string) bool { return a == b }\nfunc limit() int { return 3 }\n"
    )
    with pytest.raises(SuiteError, match=why):
        in_loop(body, TABLE + helpers)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(
            "g := New()\nfor _, tc := range tests {\n"
            "if g.F(tc.given) != tc.want {\nt.Error()\n}\n}",
            "several cases share",
            id="object",
        ),
        pytest.param(
            "for _, tc := range rows() {\nif F(tc) != 1 {\nt.Error()\n}\n}", "not known", id="rows"
        ),
        pytest.param(
            "if F(expected) != expected {\nt.Error()\n}", "name is passed", id="name passed"
        ),
        pytest.param(
            "if err := F(1); err != ErrBad {\nt.Error()\n}", "submission computes", id="own error"
        ),
        pytest.param(
            "if F(given(0)) != wanted(0) {\nt.Error()\n}", "name is passed", id="by functions"
        ),
        pytest.param(
            "is := func() (bool) { return F(1) == 2 }\nif !is() {\nt.Error()\n}",
            "about more than",
            id="local function",
        ),
        pytest.param("if F(1 {\nt.Error()\n}", "has no end", id="bracket"),
    ],
)
def test_function_that_cannot_be_followed_is_refused(body: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(body, f"{TABLE}\nconst expected = 4\n{_BY_FUNCTIONS}")


_BY_FUNCTIONS = """
var data = [][]string{{"given", "secret"}}
func given(n int) string { return data[n][0] }
func wanted(n int) string { return data[n][1] }
"""


def test_table_that_expects_a_value_of_the_submission_is_refused() -> None:
    table = "var tests = []struct{ a int; want error }{{1, ErrBad}}"
    with pytest.raises(SuiteError, match="expect what the submission computes: 'ErrBad'"):
        in_loop("if F(tc.a) != tc.want {\nt.Error()\n}", table)


def test_files_without_a_test_are_refused() -> None:
    with pytest.raises(SuiteError, match="have no test"):
        read_tests("package sums\n\nfunc BenchmarkF(b *testing.B) { F(1) }\n", "sums.go")


@pytest.mark.parametrize(
    "piece",
    ["if F(1) != 1 {\n", "if F(1) != 1 {\nt.Error()\n}\n", "x := F(1)\n", "(", "a, ", "`", "!("],
)
def test_long_tests_in_go_are_read_or_refused_in_little_time(piece: str) -> None:
    began = time.process_time()
    with contextlib.suppress(SuiteError):
        read(piece * (60_000 // len(piece)))
    assert time.process_time() - began < 20.0


PIECES = [
    "if ",
    "F(1)",
    " != 1 ",
    "{\n",
    "}\n",
    "t.Error()\n",
    "for _, tc := range tests ",
    "tc.want",
    "err := ",
    "; ",
    "switch ",
    "case ",
    ": ",
    "else ",
    "func(t *testing.T) ",
    "t.Run(",
    ")",
    ", ",
    "[]int",
    "'",
    "\n",
    "return\n",
    "var ",
    "tests",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_tests_in_go_are_read_or_refused(parts: list[str]) -> None:
    try:
        tests = read("".join(parts), TABLE)
    except SuiteError:
        return
    assert len(tests.around) == len(tests.cases) + 1


def test_table_may_be_in_the_test_and_its_truths_may_decide_what_is_looked_at() -> None:
    tests = read(
        "tests := []struct {\nname, given string\nsecret string\nfound bool\n}{\n"
        '{"a", "x", "secret", true},\n{name: "b", given: "y"},\n}\n'
        "for _, tt := range tests {\nt.Run(tt.name, func(t *testing.T) {\n"
        "got, ok := F(tt.given)\nif ok != tt.found {\nt.Fatal()\n}\n"
        "if ok && got != tt.secret {\nt.Error()\n}\n})\n}"
    )
    assert len(tests.cases) == 2
    assert "secret" not in program(tests)
    assert "if ok == true {\nseen = append(seen, equalForTests(got))" in tests.setup
    assert "return seenForTests{equalForTests(tt.found)}\n" in tests.stub


def test_value_that_a_call_gives_anew_decides_nothing() -> None:
    with pytest.raises(SuiteError, match=r"several values|depends on the row"):
        in_loop(
            "if F(1) == tc.fails {\nt.Error()\n}\nif F(1) && G(tc.given) != tc.want {\nt.Error()\n}"
        )
