"""The project's own testlib.h, as a checker or an interactor uses it."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from grader import languages
from tests.conftest import missing

CHECKER = r"""
#include "testlib.h"
struct Answer { long long sum; double mean; std::string word, line; };
Answer read(InStream &in) {
    Answer found;
    found.sum = in.readLong(-10, 1000000000000LL, "sum");
    found.mean = in.readDouble();
    found.word = in.readToken("[a-z]{1,5}|-", "word");
    in.readEoln();
    found.line = in.readLine();
    if (found.line == "boast") in.quitf(_wa, "it boasts");
    return found;
}
int main(int argc, char **argv) {
    setName("several values");
    registerTestlibCmd(argc, argv);
    int factor = inf.readInt();
    Answer right = read(ans), found = read(ouf);
    if (found.sum != factor * right.sum) expectedButFound(_wa, factor * right.sum, found.sum);
    if (!doubleCompare(right.mean, found.mean, 1e-6)) quitf(_wa, "mean %.3f", found.mean);
    ensuref(factor != 13, "factor %d", factor);
    if (found.word == "part") quitp(0.25, "a part of %d", factor);
    if (found.word == "pc") quitf(_pc(40), "a percentage");
    if (found.word == "none") return 0;
    if (found.word == "ended") exit(0);
    quitf(_ok, "%d%s", factor, englishEnding(factor).c_str());
}
"""

INTERACTOR = r"""
#include "testlib.h"
int main(int argc, char **argv) {
    registerInteraction(argc, argv);
    int secret = inf.readInt(), guess = ouf.readInt(0, 9);
    std::cout << (guess == secret ? "yes" : "no") << std::endl;
    tout << guess << std::endl;
    quitif(guess != ans.readInt(), _wa, "%d is not %d", guess, secret);
    quitf(_ok, "found");
}
"""

VALUES = r"""
#include "testlib.h"
int main(int, char **argv) {
    std::string what = argv[1], text = argv[2];
    InStream in(ans, text);
    in.mode = _output;
    if (what == "integer") std::cout << in.readLong();
    if (what == "int") std::cout << in.readInt();
    if (what == "unsigned") std::cout << in.readUnsignedLong();
    if (what == "double") std::cout << in.readDouble();
    if (what == "strict") std::cout << in.readStrictDouble(-1, 10, 1, 3);
    if (what == "lines") while (!in.eof()) std::cout << '<' << in.readLine() << '>';
    if (what == "tokens") while (!in.seekEof()) std::cout << '<' << in.readToken() << '>';
    if (what == "matches") std::cout << pattern(text).matches(argv[3]);
    if (what == "compare") std::cout << doubleCompare(atof(argv[2]), atof(argv[3]), 1e-3);
    if (what == "compress") std::cout << compress(text);
    if (what == "split") std::cout << join(split(text, ","), '|') << ' '
                                   << join(tokenize(text, ','), '|');
    if (what == "ints") std::cout << join(in.readInts(2, 0, 9));
}
"""

# What few checkers use.
RARE = r"""
#include "testlib.h"
using namespace std;
int main(int, char **argv) {
    registerTestlib(3, argv[1], argv[2], argv[3]);
    InStream again;
    again.init(argv[1], _input);
    int count = inf.readInt();
    again.ensuref(again.readInt() == count, "%d is read twice", count);
    string first, line;
    ouf.readTokenTo(first, "[a-z]+", "first");
    vector<string> words = ouf.readWords(count, pattern("[a-z]"), "words", 0);
    ouf.readEoln();
    ouf.readLineTo(line, "[a-z\\ ]*");
    vector<string> lines = ouf.readLines(2, 1);
    vector<double> parts = ouf.readStrictReals(2, 0, 1, 1, 2, "parts");
    unsigned long long large = stringToUnsignedLongLong(ouf, ouf.readToken());
    double strict = stringToStrictDouble(ouf, ouf.readToken().c_str(), 0, 2);
    if (first == "quits") ouf.quits(_wa, "by a text");

    vector<int> order = rnd.perm(5, 1), drawn = rnd.distinct(3, 4, 6);
    sort(order.begin(), order.end());
    sort(drawn.begin(), drawn.end());
    vector<long long> few = rnd.distinct(2, 1000000000000LL);
    char letter = char(rnd.next('a', 'c'));
    int high = rnd.wnext(10, 1000), low = rnd.wnext(5, 9, -1000);
    string one = rnd.any(words.begin(), words.end()), other = words[rnd.next(words.size())];
    bool is_one = std::count(words.begin(), words.end(), one) &&
                  std::count(words.begin(), words.end(), other);
    quitf(_ok, "%s %s %llu %g %g %s %s %d %d %d %d %d", first.c_str(),
          join(words.begin(), words.end(), ' ').c_str(), large, strict, parts[1],
          join(order.begin(), order.end(), ' ').c_str(),
          join(drawn.begin(), drawn.end(), ' ').c_str(),
          high, low, few[0] != few[1], 'a' <= letter && letter <= 'c', is_one);
}
"""


class Ended(NamedTuple):
    status: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three programs, compiled."""
    cpp = languages.find("cpp")
    assert cpp is not None
    if lacking := languages.missing([cpp]):
        missing("C++", f"there is no {', '.join(lacking)}")
    found = tmp_path_factory.mktemp("testlib")
    (found / "testlib.h").write_bytes(cpp.libraries["testlib.h"])
    sources = {"checker": CHECKER, "interactor": INTERACTOR, "values": VALUES, "rare": RARE}
    for name, source in sources.items():
        (found / f"{name}.cpp").write_text(source)
        command = ["g++", "-std=gnu++17", "-Wall", "-Wextra", "-Werror", "-o", name, f"{name}.cpp"]
        subprocess.run(command, cwd=found, check=True)
    return found


def run(folder: Path, *command: str, stdin: str = "") -> Ended:
    done = subprocess.run(
        [f"./{command[0]}", *command[1:]], cwd=folder, input=stdin, capture_output=True, text=True
    )
    return Ended(done.returncode, done.stdout, done.stderr.strip())


@pytest.mark.parametrize(
    ("given", "output", "answer", "status", "words"),
    [
        pytest.param("2", "14 0.5 ok\nx\n", "7 0.5 a\ny", 0, "ok 2nd", id="right"),
        pytest.param("2", "\ufeff 14\n.5e0 -\nx", "7 0.5 a\ny", 0, "ok 2nd", id="other form"),
        pytest.param("2", "14 0.5 ok\nx\nz", "7 0.5 a\ny", 2, "Extra information", id="more"),
        pytest.param(
            "2", "15 0.5 a\nx", "7 0.5 a\ny", 1, "expected '14', found '15'", id="other number"
        ),
        pytest.param("2", "14 0.6 a\nx", "7 0.5 a\ny", 1, "mean 0.600", id="other mean"),
        pytest.param("2", "x 0.6 a\nx", "7 0.5 a\ny", 2, 'integer, but "x" found', id="word"),
        pytest.param("2", "14", "7 0.5 a\ny", 2, "Unexpected end of file", id="too short"),
        pytest.param("2", "-11 1 a\nx", "7 0.5 a\ny", 1, "violates the range", id="range"),
        pytest.param("2", "14 0.5 words\nx", "7 0.5 a\ny", 0, "ok", id="five letters"),
        pytest.param("2", "14 0.5 wordss\nx", "7 0.5 a\ny", 1, "pattern", id="six letters"),
        pytest.param("2", "14 0.5 a\nboast", "7 0.5 a\ny", 1, "it boasts", id="quits by stream"),
        pytest.param("2", "14 0.5 part\nx", "7 0.5 a\ny", 7, "points 0.25 a part", id="share"),
        pytest.param("2", "14 0.5 pc\nx", "7 0.5 a\ny", 7, "points 0.4 ", id="percentage"),
        pytest.param("2", "14 0.5 none\nx", "7 0.5 a\ny", 3, "FAIL", id="ends without verdict"),
        pytest.param("2", "14 0.5 ended\nx", "7 0.5 a\ny", 3, "FAIL", id="exits with 0"),
        pytest.param("2", "14 0.5 a\nx", "7 0.5 a\nboast", 3, "FAIL it boasts", id="bad answer"),
        pytest.param("2", "14 0.5 a\nx", "7 0.5", 3, "FAIL", id="short answer"),
        pytest.param("", "14 0.5 a\nx", "7 0.5 a\ny", 3, "FAIL", id="no input"),
        pytest.param("13", "13 1 a\nx", "1 1 a\ny", 3, "FAIL factor 13", id="ensures"),
    ],
)
def test_checker_ends_as_testlib_documents(
    folder: Path, given: str, output: str, answer: str, status: int, words: str
) -> None:
    for name, text in (("input", given), ("output", output), ("answer", answer)):
        (folder / name).write_text(text)
    ended = run(folder, "checker", "input", "output", "answer")
    assert (ended.status, ended.stdout) == (status, "")
    assert words in ended.stderr


@pytest.mark.parametrize(
    ("output", "status", "words"),
    [
        pytest.param(
            "w a b\nx y\n\nz\n0.5 0.25 18446744073709551615 -1.5",
            0,
            "ok w a b 18446744073709551615 -1.5 0.25 1 2 3 4 5 4 5 6 9 5 1 1 1",
            id="right",
        ),
        pytest.param("W a b\nx\n\nz\n0.5 0.2 1 1", 1, "[name=first]", id="token to"),
        pytest.param("w a bb\nx\n\nz\n0.5 0.2 1 1", 1, "[name=words]", id="tokens"),
        pytest.param("w a b\nX\n\nz\n0.5 0.2 1 1", 1, "Line", id="line to"),
        pytest.param("w a b\nx\n\nz\n0.5 1.2 1 1", 1, "[name=parts]", id="strict range"),
        pytest.param("w a b\nx\n\nz\n0.5 0.2 -1 1", 2, "unsigned integer", id="unsigned"),
        pytest.param("w a b\nx\n\nz\n0.5 0.2 1 1.125", 2, "strict double", id="strict digits"),
        pytest.param("quits a b\nx\n\nz\n0.5 0.2 1 1", 1, "by a text", id="quits"),
    ],
)
def test_checker_may_use_rare_names(folder: Path, output: str, status: int, words: str) -> None:
    for name, text in (("input", "2"), ("output", output), ("answer", "")):
        (folder / name).write_text(text)
    ended = run(folder, "rare", "input", "output", "answer")
    assert (ended.status, ended.stdout) == (status, "")
    assert words in ended.stderr


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        pytest.param("7\n", 0, "yes\n", id="right"),
        pytest.param("6", 1, "no\n", id="wrong"),
        pytest.param("10\n", 1, "", id="out of range"),
        pytest.param("seven\n", 2, "", id="word"),
        pytest.param("", 2, "", id="nothing"),
    ],
)
def test_interactor_reads_what_the_submission_says(
    folder: Path, said: str, status: int, told: str
) -> None:
    for name in ("input", "answer"):
        (folder / name).write_text("7")
    ended = run(folder, "interactor", "input", "output", "answer", stdin=said)
    assert (ended.status, ended.stdout) == (status, told)


@pytest.mark.parametrize(
    ("what", "text", "shown"),
    [
        ("integer", " 9223372036854775807", "9223372036854775807"),
        ("integer", "-9223372036854775808", "-9223372036854775808"),
        ("integer", "9223372036854775808", None),
        ("integer", "-9223372036854775809", None),
        ("integer", "99999999999999999999999", None),
        *(("integer", bad, None) for bad in ("", "-", "+1", "01", "-0", "00", "1.0", "1e3", "0x1")),
        ("integer", "0", "0"),
        ("int", "-2147483648", "-2147483648"),
        ("int", "2147483648", None),
        ("unsigned", "18446744073709551615", "18446744073709551615"),
        ("unsigned", "18446744073709551616", None),
        ("unsigned", "-1", None),
        ("double", "-1.5e2", "-150"),
        *(("double", bad, None) for bad in ("nan", "inf", "1e999", "0x10", "1,5", "1.5x", ".", "")),
        ("strict", "0.25", "0.25"),
        ("strict", "-0.5", "-0.5"),
        *(("strict", bad, None) for bad in ("0", "0.2500", "1e-1", "11.0", "5.", ".5", "+1.0")),
        *(("strict", bad, None) for bad in ("-0.0", "01.0", "00.0", "1.0.0", "1-1.0", "-", "")),
        ("lines", "a\r\n\nb c", "<a><><b c>"),
        ("lines", "a\n", "<a>"),
        ("tokens", " a\tb\r\nc  \n", "<a><b><c>"),
        ("compress", "x" * 64, "x" * 64),
        ("compress", "x" * 65, "x" * 30 + "..." + "x" * 31),
        ("split", "a,,b", "a||b a|b"),
        ("ints", "3 9", "3 9"),
        ("ints", "3 10", None),
        ("ints", "3", None),
    ],
)
def test_value_is_read_or_refused(folder: Path, what: str, text: str, shown: str | None) -> None:
    ended = run(folder, "values", what, text)
    assert (ended.stdout if ended.status == 0 else None) == shown
    assert ended.status in (0, 1, 2)


@pytest.mark.parametrize(
    ("what", "first", "second", "holds"),
    [
        ("compare", "1000", "1000.9", True),
        ("compare", "1000", "1001.1", False),
        ("compare", "0", "0.0009", True),
        ("compare", "0", "-0.0011", False),
        ("compare", "1", "nan", False),
        ("compare", "1", "inf", False),
        ("compare", "nan", "nan", True),
        ("compare", "inf", "inf", True),
        ("compare", "inf", "-inf", False),
        ("matches", "0|-?[1-9][0-9]*", "-120", True),
        ("matches", "0|-?[1-9][0-9]*", "012", False),
        ("matches", "(ab|a)(bc|c){2}x+", "abcbcxx", True),
        ("matches", "(ab|a)(bc|c){2}x+", "abcx", False),
        ("matches", "[^a-c\\]-]{2,3}", "xyz", True),
        ("matches", "[^a-c\\]-]{2,3}", "x-", False),
        ("matches", "a{2,}", "aaaa", True),
        ("matches", "(a*)*b", "a" * 2000 + "c", False),
        ("matches", "no\\ way.", "no way!", True),
        ("matches", "[a b]+", "ab", True),
        ("matches", "[a b]+", "a b", False),
        ("matches", "[a\\ b]+", "a b", True),
        ("matches", "", "", True),
    ],
)
def test_values_compare(folder: Path, what: str, first: str, second: str, holds: bool) -> None:
    assert run(folder, "values", what, first, second) == (0, str(int(holds)), "")
