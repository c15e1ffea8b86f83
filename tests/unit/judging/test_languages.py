"""Messages of the compilers and runtimes in Debian 12, and the findings made of them."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.languages import find_compile_error, find_runtime_error
from grader.languages import COMPILE_LIMITS, languages
from grader.model import Limits, Usage
from grader.model.verdict import LimitKind, Verdict
from grader.sandbox.contract import COMPILING, RunOutcome

ENDED = RunOutcome(
    index=COMPILING,
    exit_code=1,
    exit_signal=None,
    stdout=b"",
    stderr=b"",
    dropped_bytes=0,
    report=b"",
    usage=Usage(),
)
LIMITS = Limits()


@pytest.mark.parametrize(
    ("language", "said", "words"),
    [
        pytest.param(
            "cpp",
            "solution.cpp: In function 'int main()':\n"
            "solution.cpp:3:18: error: 'missing' was not declared in this scope\n",
            "on line 3: 'missing' was not declared in this scope",
            id="g++ 12",
        ),
        pytest.param(
            "cpp",
            "/usr/bin/ld: /tmp/ccmJ1x.o: in function `main':\n"
            "solution.cpp:(.text.startup+0x5): undefined reference to `helper()'\n",
            ": `helper()'",
            id="ld",
        ),
        pytest.param(
            "java",
            "Main.java:3: error: cannot find symbol\n    System.out.println(x);\n",
            "on line 3: cannot find symbol",
            id="javac 17",
        ),
        pytest.param(
            "rust",
            "error[E0425]: cannot find value `x` in this scope\n --> solution.rs:2:20\n",
            "on line 2: cannot find value `x` in this scope",
            id="rustc 1.63",
        ),
        pytest.param(
            "go",
            "# command-line-arguments\n./solution.go:6:14: undefined: missing\n",
            "on line 6: undefined: missing",
            id="go 1.19",
        ),
        pytest.param(
            "go",
            "# command-line-arguments\n"
            "compile: writing output: write $WORK/b001/_pkg_.a: no space left on device\n",
            ": compile: writing output: write $WORK/b001/_pkg_.a: no space left on device",
            id="go 1.19, no line",
        ),
        pytest.param(
            "go",
            "package command-line-arguments\n\timports ../../etc: no Go files in /etc\n",
            ": imports ../../etc: no Go files in /etc",
            id="go 1.19, imports",
        ),
        pytest.param(
            "c",
            "/usr/bin/ld: final link failed: No space left on device\n"
            "collect2: error: ld returned 1 exit status\n",
            ": final link failed: No space left on device",
            id="ld, too large",
        ),
        pytest.param(
            "javascript",
            "/work/solution.js:2\nconst b = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n",
            "on line 2: SyntaxError: Unexpected token ';'",
            id="node 18",
        ),
        pytest.param("cpp", "", ": the compiler ended with exit code 1", id="silent"),
        pytest.param("cpp", "\n  what now\n", ": what now", id="unknown words"),
    ],
)
def test_compile_error_is_the_first_one_with_its_line(language: str, said: str, words: str) -> None:
    outcome = replace(ENDED, stderr=said.encode())
    finding = find_compile_error(outcome, languages()[language], COMPILE_LIMITS)
    assert finding is not None
    assert finding.verdict is Verdict.COMPILE_ERROR
    assert finding.feedback.removeprefix("the code does not compile").lstrip() == words


def test_compiler_that_hits_a_limit_is_a_compile_error_that_names_it() -> None:
    outcome = replace(ENDED, exit_code=None, limit_hit=LimitKind.CPU_TIME)
    finding = find_compile_error(outcome, languages()["cpp"], COMPILE_LIMITS)
    assert finding is not None
    assert finding.feedback == "compiling hit its CPU time limit of 30 s"


def test_product_that_cannot_be_kept_is_a_compile_error() -> None:
    report = b'{"e": "compile_error", "type": "compiler", "message": "it is too large"}'
    outcome = replace(ENDED, exit_code=0, report=report)
    finding = find_compile_error(outcome, languages()["cpp"], COMPILE_LIMITS)
    assert finding is not None
    assert finding.feedback == "it is too large"


def test_reported_compile_error_without_a_message_has_feedback_all_the_same() -> None:
    outcome = replace(ENDED, exit_code=0, report=b'{"e": "compile_error"}')
    finding = find_compile_error(outcome, languages()["perl"], COMPILE_LIMITS)
    assert finding is not None
    assert finding.feedback == "what the compiler made cannot be used"


def test_compiler_that_ended_in_order_found_no_error() -> None:
    outcome = replace(ENDED, exit_code=0, stderr=b"solution.cpp:1:1: error: as a warning")
    assert find_compile_error(outcome, languages()["cpp"], COMPILE_LIMITS) is None


@pytest.mark.parametrize(
    ("language", "said", "verdict", "words"),
    [
        pytest.param(
            "java",
            'Exception in thread "main" java.lang.IllegalStateException: on purpose\n'
            "\tat java.base/java.util.Scanner.next(Scanner.java:937)\n"
            "\tat Main.main(Main.java:7)\n",
            Verdict.RUNTIME_ERROR,
            "java.lang.IllegalStateException: on purpose (at line 7)",
            id="java, own line",
        ),
        pytest.param(
            "java",
            'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n',
            Verdict.MEMORY_LIMIT,
            "memory limit of 512 MiB hit: java.lang.OutOfMemoryError: Java heap space",
            id="java, memory",
        ),
        pytest.param(
            "rust",
            "thread 'main' panicked at 'on purpose', solution.rs:3:5\n",
            Verdict.RUNTIME_ERROR,
            "on purpose (at line 3)",
            id="rust until 1.72",
        ),
        pytest.param(
            "rust",
            "thread 'main' panicked at solution.rs:3:5:\non purpose\n",
            Verdict.RUNTIME_ERROR,
            "on purpose (at line 3)",
            id="rust since 1.73",
        ),
        pytest.param(
            "go",
            "panic: runtime error: integer divide by zero\n\ngoroutine 1 [running]:\n"
            "main.main()\n\t/work/solution.go:7 +0x11\nexit status 2\n",
            Verdict.RUNTIME_ERROR,
            "runtime error: integer divide by zero (at line 7)",
            id="go",
        ),
        pytest.param(
            "cpp",
            "terminate called after throwing an instance of 'std::bad_alloc'\n"
            "  what():  std::bad_alloc\n",
            Verdict.MEMORY_LIMIT,
            "memory limit of 512 MiB hit: std::bad_alloc",
            id="c++, memory",
        ),
    ],
)
def test_end_of_a_program_is_told_in_the_words_of_its_runtime(
    language: str, said: str, verdict: Verdict, words: str
) -> None:
    finding = find_runtime_error(
        replace(ENDED, stderr=said.encode()), languages()[language], LIMITS
    )
    assert finding is not None
    assert finding.verdict is verdict
    assert finding.feedback.removesuffix("; the program ended with exit code 1") == words


def test_end_without_words_is_left_to_the_exit_code() -> None:
    outcome = replace(ENDED, stderr=b"just some output\n")
    assert find_runtime_error(outcome, languages()["cpp"], LIMITS) is None


@given(st.binary(max_size=300), st.sampled_from(sorted(languages())))
def test_any_words_are_read_without_an_error(said: bytes, language: str) -> None:
    outcome = replace(ENDED, stderr=said)
    found = find_compile_error(outcome, languages()[language], COMPILE_LIMITS)
    assert found is not None
    assert "\n" not in found.feedback
    find_runtime_error(outcome, languages()[language], LIMITS)


@pytest.mark.parametrize("language", sorted(languages()))
@pytest.mark.parametrize(
    "piece",
    [
        *("Assertion `", "panicked at '", "thread 'a' panicked at '", "solution.rb:1:in "),
        *('Exception in thread "', "at x", "\n", "\t"),
    ],
)
def test_long_words_are_read_in_little_time(language: str, piece: str) -> None:
    outcome = replace(ENDED, stderr=piece.encode() * 70_000)
    began = time.process_time()
    find_runtime_error(outcome, languages()[language], LIMITS)
    find_compile_error(outcome, languages()[language], COMPILE_LIMITS)
    assert time.process_time() - began < 1.0
