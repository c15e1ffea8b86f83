"""What a submission says to the suite's own program makes it neither accept nor fail.

A checker or an interactor that is written for honest output crashes, or takes for ever, on much of
what a program can print. That must not be the way to have a wrong answer count as a fault of ours.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    Checker,
    CheckerKind,
    Comparator,
    Comparison,
    GradeReport,
    InteractiveTests,
    Interactor,
    Limits,
    MiB,
    StdinCase,
    StdinTests,
    Submission,
    Tests,
    TestSuite,
)
from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox

RIGHT = "print(int(input()) * 2)"

SAID = {
    "nothing": "b''",
    "words": "b'yes'",
    "no number": "b'nan'",
    "too large a number": "b'1e999'",
    "a number of many digits": "b'9' * 5000",
    "other digits": "'\\u0664\\u0661'.encode()",
    "no utf-8": "b'\\xff\\xfe\\x80'",
    "surrogates": "'\\udc80'.encode('utf-8', 'surrogatepass')",
    "zero bytes": "b'\\0' * 100",
    "returns": "b'8\\r' * 3",
    "an escape": "b'\\x1b[2K\\x1b[1A42'",
    "line ends that are none": "'4\\u20282'.encode()",
    "a line without end": "b'1' * 900_000",
    "many lines": "b'1\\n' * 400_000",
    "brackets": "b'[' * 100_000",
    "the words of a verdict": 'b\'points 1\\nok\\npassed\\nTrue\\n{"e": "result", "value": true}\'',
    "a statement": "b'\\'\\nraise SystemExit(0)\\n__import__(\"os\")._exit(0)'",
}

CHECKERS = {
    "a function": (
        "def check(input, output, answer):\n    return int(output.split()[0]) == int(answer)\n",
        CheckerKind.FUNCTION,
    ),
    "a function that reads JSON": (
        "import json\ndef check(input, output, answer):\n"
        "    return json.loads(output) == int(answer)\n",
        CheckerKind.FUNCTION,
    ),
    "a program that says what it got": (
        "import sys\ngot = open(sys.argv[2]).read()\nsys.stderr.write(got)\n"
        "sys.exit(0 if float(got) == float(open(sys.argv[3]).read()) else 1)\n",
        CheckerKind.TESTLIB,
    ),
}
INTERACTORS = {
    "a function": (
        "def interact(case, answer):\n    print(case)\n    return int(input()) == int(answer)\n",
        CheckerKind.FUNCTION,
    ),
    "a function that reads to the end": (
        "import sys\ndef interact(case, answer):\n    print(case)\n"
        "    return sys.stdin.read().split()[-1:] == [answer]\n",
        CheckerKind.FUNCTION,
    ),
    "a program that does as told": (
        "import sys\nprint(open(sys.argv[1]).read(), flush=True)\n"
        "for _ in range(int(sys.stdin.readline())): print('x' * 1_000_000)\n"
        "sys.exit(1)\n",
        CheckerKind.TESTLIB,
    ),
}


@pytest.fixture(scope="module")
def grader(sandbox: Sandbox) -> Iterator[Grader]:
    limits = Limits(cpu_time_s=3.0, wall_time_s=4.0, memory_bytes=256 * MiB)
    with Grader(Settings(slots=1, retries=0, limits=limits), sandbox=sandbox) as opened:
        yield opened


def grade(grader: Grader, code: str, tests: Tests, reference: str | None = None) -> GradeReport:
    suite = TestSuite(tests=tests, format="hostile", reference=reference)
    return grader.grade(Submission(id="0", completion=code, suite=suite))


def checked(name: str, expected: str = "42") -> StdinTests:
    source, kind = CHECKERS[name]
    return StdinTests(
        cases=(StdinCase(id="0", stdin="21", expected=expected),),
        comparison=Comparison(
            comparator=Comparator.CHECKER, checker=Checker(source=source, kind=kind)
        ),
    )


def talked(name: str) -> InteractiveTests:
    source, kind = INTERACTORS[name]
    return InteractiveTests(
        cases=(StdinCase(id="0", stdin="21", expected="42"),),
        interactor=Interactor(source=source, kind=kind),
    )


def says(text: str) -> str:
    return f"import os, sys\nsys.stdin.readline()\nos.write(1, {text} + b'\\n')\n"


@pytest.mark.parametrize("name", CHECKERS)
def test_output_neither_fools_nor_breaks_a_checker(grader: Grader, name: str) -> None:
    assert grade(grader, RIGHT, checked(name)).verdict is Verdict.PASSED
    said = {what: grade(grader, says(text), checked(name)).verdict for what, text in SAID.items()}
    assert set(said.values()) == {Verdict.FAILED}, said


def test_words_neither_fool_nor_break_an_interactor(grader: Grader) -> None:
    tests = talked("a function")
    assert grade(grader, RIGHT, tests).verdict is Verdict.PASSED
    said = {what: grade(grader, says(text), tests, RIGHT).verdict for what, text in SAID.items()}
    assert set(said.values()) == {Verdict.FAILED}, said


def test_words_that_keep_an_interactor_busy_are_the_submissions_fault(grader: Grader) -> None:
    tests = talked("a program that does as told")
    tame = "print(0)"
    assert grade(grader, "print(10 ** 9)", tests, tame).verdict is Verdict.INTERNAL_ERROR
    accepts = INTERACTORS["a program that does as told"][0].replace("sys.exit(1)", "sys.exit(0)")
    sound = replace(tests, interactor=replace(tests.interactor, source=accepts))
    assert grade(grader, tame, sound, tame).verdict is Verdict.PASSED
    assert grade(grader, "print(10 ** 9)", sound, tame).verdict is Verdict.FAILED
    assert grade(grader, "print('many')", sound, tame).verdict is Verdict.FAILED


def test_program_that_fails_on_what_is_right_is_the_suites_fault(grader: Grader) -> None:
    source, kind = (
        "def check(input, output, answer):\n    return output[100]\n",
        CheckerKind.FUNCTION,
    )
    for expected, reference in (("42", None), ("", RIGHT), ("", None)):
        comparison = Comparison(
            comparator=Comparator.CHECKER, checker=Checker(source=source, kind=kind)
        )
        tests = replace(checked("a function", expected), comparison=comparison)
        assert grade(grader, says("b'x'"), tests, reference).verdict is Verdict.INTERNAL_ERROR


@pytest.mark.parametrize("judges", ["checks", "interacts"])
def test_program_that_calls_its_suite_wrong_is_believed(grader: Grader, judges: str) -> None:
    """If the submission has a better answer than the suite, the suite is at fault."""
    better = "if int({0}) > int(open(sys.argv[3]).read()): sys.exit(3)\nsys.exit({0} != '42')"
    if judges == "checks":
        source = f"import sys\nsaid = open(sys.argv[2]).read().strip()\n{better.format('said')}"
        checker = Checker(source=source, kind=CheckerKind.TESTLIB)
        comparison = Comparison(comparator=Comparator.CHECKER, checker=checker)
        tests: Tests = replace(checked("a function"), comparison=comparison)
    else:
        source = f"import sys\nprint(21, flush=True)\nsaid = input()\n{better.format('said')}"
        interactor = Interactor(source=source, kind=CheckerKind.TESTLIB)
        tests = replace(talked("a function"), interactor=interactor)
    assert grade(grader, RIGHT, tests, RIGHT).verdict is Verdict.PASSED
    assert grade(grader, says("b'41'"), tests, RIGHT).verdict is Verdict.FAILED
    assert grade(grader, says("b'words'"), tests, RIGHT).verdict is Verdict.FAILED
    assert grade(grader, says("b'43'"), tests, RIGHT).verdict is Verdict.INTERNAL_ERROR


def test_answer_that_only_the_solution_knows_proves_a_checker_sound(grader: Grader) -> None:
    source = "def check(input, output, answer):\n    return int(output) == 2 * int(input)\n"
    comparison = Comparison(
        comparator=Comparator.CHECKER, checker=Checker(source=source, kind=CheckerKind.FUNCTION)
    )
    tests = replace(checked("a function", ""), comparison=comparison)
    assert grade(grader, RIGHT, tests, RIGHT).verdict is Verdict.PASSED
    assert grade(grader, says("b'x'"), tests, RIGHT).verdict is Verdict.FAILED


SPEAKS_LATE = "os.write(1, b'42\\n')"
ENDINGS = {
    "answers": (SPEAKS_LATE, Verdict.PASSED),
    "answers before it is asked, and ends": ("os.write(1, b'42\\n'); os._exit(0)", Verdict.PASSED),
    "talks on": ("print(42); print('\\n'.join(map(str, range(1000))))", Verdict.FAILED),
    "floods": ("while True: os.write(1, b'42\\n' * 9999)", Verdict.OUTPUT_LIMIT),
    "floods its errors": ("while True: os.write(2, b'42\\n' * 9999)", Verdict.OUTPUT_LIMIT),
    "closes its output, and reads": ("os.close(1); sys.stdin.read()", Verdict.TIME_LIMIT),
    "closes all, and waits": ("os.closerange(0, 99); signal.pause()", Verdict.TIME_LIMIT),
    "says half a line, and reads": ("os.write(1, b'4'); sys.stdin.read()", Verdict.TIME_LIMIT),
    "reads in several threads": (
        "import threading\nfor _ in range(3): threading.Thread(target=sys.stdin.read).start()",
        Verdict.TIME_LIMIT,
    ),
    "leaves a child that answers": (
        f"if os.fork() == 0:\n    time.sleep(0.3)\n    {SPEAKS_LATE}\n    os._exit(0)\nos._exit(0)",
        Verdict.FAILED,
    ),
    "sends its output away, and reads": (
        "import socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [1])\nos.close(1)\n"
        "sys.stdin.read()",
        Verdict.TIME_LIMIT,
    ),
    "opens its input to write": (
        "os.write(os.open('/proc/self/fd/0', os.O_WRONLY), b'42\\n')\nsys.stdin.read()",
        Verdict.TIME_LIMIT,
    ),
    "opens its output to read": (
        "os.write(1, b'41\\n')\nos.read(os.open('/proc/self/fd/1', os.O_RDONLY), 99)\n"
        "sys.stdin.read()",
        Verdict.TIME_LIMIT,
    ),
    "answers, and dies": (f"{SPEAKS_LATE}\nos.kill(os.getpid(), 11)", Verdict.RUNTIME_ERROR),
    "ends as an interactor would": (f"{SPEAKS_LATE}\nos._exit(7)", Verdict.RUNTIME_ERROR),
    "says what an interactor reports": ("print('points 1\\nexit 0')", Verdict.FAILED),
}
"""How a program may end that talks to an interactor which reads all of its output."""


@pytest.mark.parametrize("name", ENDINGS)
def test_no_end_of_a_conversation_is_taken_for_another(grader: Grader, name: str) -> None:
    code, verdict = ENDINGS[name]
    source = f"import os, signal, sys, time\n{code}"
    report = grade(grader, source, talked("a function that reads to the end"))
    assert report.verdict is verdict, report.feedback
