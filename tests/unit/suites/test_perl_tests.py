"""Exercism's tests in Perl: `is`, `ok` and `like`, and tables in JSON."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.languages.perl_tests import read_tests
from grader.model import ExpressionTests
from grader.model.errors import SuiteError

HEAD = "use Test2::V0;\nuse Sums qw<f g>;\n"


def read(body: str, data: str = "") -> ExpressionTests:
    ending = f"\n__DATA__\n{data}" if data else ""
    return read_tests(f"{HEAD}{body}\ndone_testing;\n{ending}", "lib/Sums.pm")


def program(tests: ExpressionTests) -> str:
    return "\n".join([tests.setup, *tests.around, *(case.actual for case in tests.cases)])


@pytest.mark.parametrize(
    ("assertion", "actual", "expected"),
    [
        pytest.param(
            "is(f(2), 4, 'why')", "one_for_tests(scalar(f(2)))", "one_for_tests(scalar(4))", id="is"
        ),
        pytest.param(
            "is_deeply f(2)->{a}[0], [ 1, ')' ], 'why';",
            "one_for_tests(f(2)->{a}[0])",
            "one_for_tests(scalar([ 1, ')' ]))",
            id="no brackets",
        ),
        pytest.param(
            "my $r = Sums::h [ 1 ], sub { $_[0] == 1 };\nis($r, 4);",
            "one_for_tests(scalar($r))",
            "one_for_tests(scalar(4))",
            id="call without brackets",
        ),
        pytest.param("is(f(), T, 'x')", "truth_for_tests(scalar(f()))", '"true"', id="true"),
        pytest.param("is(f(), DF, 'x')", "truth_for_tests(scalar(f()))", '"false"', id="false"),
        pytest.param("ok f(1), 2;", "truth_for_tests(scalar(f(1)))", '"true"', id="ok"),
        pytest.param(
            "is(f(1), number(2.0))",
            "number_for_tests(scalar(f(1)))",
            "number_for_tests(scalar(2.0))",
            id="number",
        ),
        pytest.param(
            "like(dies(sub { f() }), qr(a\\/b))",
            "thrown_for_tests(sub { f() })",
            '"a/b"',
            id="dies",
        ),
        pytest.param(
            "like(dies { f() }, qr/a./)",
            "without_last_for_tests(thrown_for_tests(sub { f() }))",
            '"a"',
            id="any character",
        ),
        pytest.param(
            "ok(lives { f() }, 'x')", "lives_for_tests(sub { f() })", '"lives"', id="lives"
        ),
        pytest.param(
            "is([split(/\\n/, f(1) // '')], array { item 'a'; item 2; end; }, 'x')",
            "one_for_tests(scalar([split(/\\n/, f(1) // '')]))",
            "one_for_tests(scalar(['a', 2,]))",
            id="lines",
        ),
        pytest.param(
            "is(f(<<'A' =~ s/\\n$//r),\na'b # c\nA\n  <<'B', 'x');\nd\nB\n",
            "one_for_tests(scalar(f('a\\'b # c\n' =~ s/\\n$//r)))",
            "one_for_tests(scalar('d\n'))",
            id="documents",
        ),
    ],
)
def test_assertion_in_perl_is_taken_apart(assertion: str, actual: str, expected: str) -> None:
    (case,) = read(f"{assertion};").cases
    assert (case.actual, case.expected) == (actual, expected)


def test_expected_values_titles_and_comments_are_not_in_the_program_of_the_submission() -> None:
    tests = read(
        "# secret\nmy $want = ['secret'];\nmy $more = { a => $want };\n"
        "subtest secret => sub {\n  is(f(1), $more, 'secret');  # secret\n};\n"
        "like(dies { f(2) }, qr/secret/, 'secret');\nmy $given = [1];\nis(f($given), 'secret');\n"
    )
    text = program(tests)
    assert "secret" not in text
    assert "my $given = [1];" in text
    assert tests.cases[0].expected.startswith(
        "do { my $want = ['secret'];\nmy $more = { a => $want };\n"
    )


def test_rows_of_a_table_become_cases() -> None:
    tests = read(
        "my @rows = do { local $/; @{ JSON->decode(<DATA>) }; };\n"
        "for my $row (@rows) {\n  is(f({ n => $row->{in}{n} }), $row->{out}, $row->{title});\n}\n",
        '[{"in": {"n": "a$\\"\\u263a", "x": "secret"}, "out": ["secret", null],'
        ' "title": "secret"}]',
    )
    (case,) = tests.cases
    assert case.actual == 'one_for_tests(scalar(f({ n => "a\\x{24}\\x{22}\\x{263a}" })))'
    assert case.expected == 'one_for_tests(scalar(["secret", undef]))'
    assert "secret" not in program(tests)


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        pytest.param("isnt(f(1), 2);", "unknown kind", id="negation"),
        pytest.param("cmp_ok(f(1), '<', 2);", "unknown kind", id="order"),
        pytest.param("can_ok('Sums', 'f');", "unknown kind", id="method"),
        pytest.param("is(f(1), hash { field a => 1; end; });", "unknown kind", id="hash"),
        pytest.param("is(f(1), array { item 1; etc; });", "unknown kind", id="part of a list"),
        pytest.param("is(dies { f(1) }, 'x');", "unknown kind", id="what died"),
        pytest.param("ok(f(1) == 2);", "about more than", id="comparison"),
        pytest.param("ok(f 1 == 2);", "no brackets", id="comparison without brackets"),
        pytest.param("is f 1, 2;", "no brackets", id="call without brackets"),
        pytest.param("is(h(f(1)), 2);", "about more than", id="helper"),
        pytest.param("is(2, 2);", "about more than", id="no call"),
        pytest.param("ok(lives { 1 });", "about more than", id="no call that lives"),
        pytest.param("my $x = f(1) eq 'a';\nok($x);", "more than one", id="verdict in a name"),
        pytest.param("is(f(1), g(2));", "submission computes", id="a call"),
        pytest.param("my $x = f(1);\nis(g(2), $x);", "submission computes", id="a name"),
        pytest.param("my $x = 1;\nis(f($x), $x);", "passed to the submission", id="both"),
        pytest.param('my $x = 1;\nis(f("a $x"), $x);', "passed to the submission", id="in a text"),
        pytest.param("my $x = [1];\npush @$x, 2;\nis(f(1), $x);", "unknown kind", id="changed"),
        pytest.param("is(f(1), $y);", "not known", id="unknown name"),
        pytest.param("for my $x (1, 2) { is(f($x), 1); }", "in a loop", id="loop"),
        pytest.param("if (1) { is(f(1), 1); }", "unknown kind", id="condition"),
        pytest.param("sub h { f(1) }\nis(h(1), 1);", "unknown kind", id="function"),
        pytest.param("like(dies { f(1) }, qr/a+/);", "more than a text", id="pattern"),
        pytest.param("like(dies { f(1) }, qr/a/i);", "more than a text", id="flag"),
        pytest.param("use List::Util;\nis(f(1), 1);", "another module", id="module"),
        pytest.param("is(f(<<X), 1);\n$x\nX\n", "more than characters", id="document"),
        pytest.param("is(f(1", "do not match|no end", id="end"),
        pytest.param("f(1);", "no assertion", id="none"),
    ],
)
def test_tests_in_perl_that_cannot_be_taken_apart_are_refused(statements: str, why: str) -> None:
    with pytest.raises(SuiteError, match=why):
        read(statements)


@pytest.mark.parametrize(
    ("use", "data", "why"),
    [
        ("is(f($row->{a}), $row->{a})", '[{"a": 1}]', "field is passed"),
        ("is(f(1), $row)", '[{"a": 1}]', "unknown way"),
        ("is(f(1), $row->{a})", '[{"a": true}]', "unknown way"),
        ('is(f("$row->{a}"), 1)', '[{"a": 1}]', "field of a row"),
        ("is(f(1), $row->{a})", '{"a": true}', "rows of a table are not known"),
        ("is(f(1), $row->{a}{b})", '[{"a": [1]}]', "rows of a table are not known"),
    ],
)
def test_table_in_perl_that_is_not_known_is_refused(use: str, data: str, why: str) -> None:
    table = "my @rows = do { local $/; @{ JSON->decode(<DATA>) }; };\n"
    with pytest.raises(SuiteError, match=why):
        read(f"{table}for my $row (@rows) {{ {use}; }}", data)


@pytest.mark.parametrize(
    "piece", ["is(f(1), 1);\n", "my $x = 1;\n", "(", "qr/", "<<'A'\n", "f(1) ", "{", "$x->{a}"]
)
def test_long_tests_in_perl_are_read_or_refused_in_little_time(piece: str) -> None:
    began = time.process_time()
    with contextlib.suppress(SuiteError):
        read(piece * (60_000 // len(piece)))
    assert time.process_time() - began < 20.0


PIECES = [
    *(
        "is(",
        "f(1)",
        ", ",
        "T",
        ")",
        ";",
        "\n",
        "my $x = ",
        "$x",
        "{",
        "}",
        "qr/a/",
        "dies ",
        "use ",
    ),
    *(
        "subtest a => sub ",
        "<<'A'",
        "\nA\n",
        "'",
        "split ",
        "/",
        "for my $r (@r) ",
        "$r->{a}",
        "is ",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_any_tests_in_perl_are_read_or_refused(parts: list[str]) -> None:
    try:
        tests = read("".join(parts), '[{"a": 1}]')
    except SuiteError:
        return
    assert len(tests.around) == len(tests.cases) + 1
