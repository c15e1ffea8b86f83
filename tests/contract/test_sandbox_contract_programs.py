"""What each kind of program gets, and what it reports."""

from typing import Any

import pytest

from grader.sandbox import payload
from grader.sandbox.contract import Program, Slot
from sandbox_images.harness.wire import values
from tests.contract.conftest import LIMITS, event, events, make_batch, run_one

ADD = "def add(a, b=0):\n    return a + b\n"


# ---------------------------------------------------------------- stdin programs


def test_stdin_program_reads_its_bytes_and_prints(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print(input()[::-1])", b"stressed\n"))
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == (b"desserts\n", b"", 0)
    assert (outcome.exit_signal, outcome.limit_hit, outcome.dropped_bytes) == (None, None, 0)


def test_stdin_program_is_main(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("if __name__ == '__main__':\n    print('ran')"))
    assert outcome.stdout == b"ran\n"


def test_local_time_is_utc_wherever_the_host_is(slot: Slot) -> None:
    source = "import os, time\nprint(time.tzname[0], os.path.realpath('/etc/localtime'))"
    assert run_one(slot, make_batch(source)).stdout == b"UTC /usr/share/zoneinfo/Etc/UTC\n"


def test_stderr_is_kept_apart(slot: Slot) -> None:
    source = "import sys\nprint('out')\nprint('err', file=sys.stderr)"
    outcome = run_one(slot, make_batch(source))
    assert (outcome.stdout, outcome.stderr) == (b"out\n", b"err\n")


def test_output_is_kept_as_bytes(slot: Slot) -> None:
    source = "import sys\nsys.stdout.buffer.write(bytes(range(256)))"
    assert run_one(slot, make_batch(source)).stdout == bytes(range(256))


def test_input_is_passed_as_bytes(slot: Slot) -> None:
    source = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"
    everything = bytes(range(256)) * 100
    assert run_one(slot, make_batch(source, everything)).stdout == everything


def test_large_input_and_output_arrive_whole(slot: Slot) -> None:
    source = "import sys\nsys.stdout.write(sys.stdin.read())"
    text = b"0123456789abcdef" * 500_000
    limits = {"output_bytes": len(text), "wall_time_s": 15.0}
    outcome = run_one(slot, make_batch(source, text, limits=limits))
    assert outcome.stdout == text
    assert outcome.dropped_bytes == 0


def test_program_that_ignores_large_input_ends_normally(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print('done')", b"x" * 4_000_000))
    assert (outcome.stdout, outcome.exit_code) == (b"done\n", 0)


@pytest.mark.parametrize(
    ("source", "code", "stderr"),
    [
        pytest.param("raise SystemExit", 0, b"", id="nothing"),
        pytest.param("import sys; sys.exit(3)", 3, b"", id="number"),
        pytest.param("import sys; sys.exit(256 + 7)", 7, b"", id="wraps"),
        pytest.param("import sys; sys.exit('no')", 1, b"no\n", id="text"),
    ],
)
def test_exit_status_is_the_interpreters(slot: Slot, source: str, code: int, stderr: bytes) -> None:
    outcome = run_one(slot, make_batch(source))
    assert (outcome.exit_code, outcome.exit_signal, outcome.stderr) == (code, None, stderr)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import os\nprint(input(), os.listdir('/proc/self/fd'))", id="descriptors"),
        pytest.param("print(input(), 1 is 1)", id="warning"),
        pytest.param("for x in {8, 0, 16}: print(x)", id="set"),
        pytest.param("def f():\n    return 1 / 0\n\nf()", id="exception"),
        pytest.param("def f():\n    return 1 /\n", id="syntax error"),
        pytest.param("f = lambda: f()\nf()", id="recursion"),
        pytest.param("print(input(), '\ud800', file=open('a', 'w'))", id="surrogate"),
        pytest.param("print(__file__, open(__file__).read(), sqrt(4))", id="prelude"),
    ],
)
@pytest.mark.usefixtures("isolated")
def test_each_run_of_a_batch_is_like_the_only_one(slot: Slot, source: str) -> None:
    def told(*runs: bytes) -> list[tuple[object, ...]]:
        outcomes = slot.run(make_batch(source, *runs, prelude="from math import *"))
        return [(o.stdout, o.stderr, o.exit_code, events(o)) for o in outcomes]

    assert told(b"1", b"1", b"1") == 3 * told(b"1")


def test_uncaught_exception_is_reported_and_printed(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print('before')\nint('x')"))
    assert (outcome.exit_code, outcome.stdout) == (1, b"before\n")
    reported = event(outcome, "exception")
    assert (reported["where"], reported["type"]) == ("load", "ValueError")
    assert "invalid literal" in reported["message"]
    assert b"ValueError: invalid literal" in outcome.stderr


def test_source_that_does_not_compile_is_reported_and_never_starts(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print('started')\ndef f(:\n"))
    reported = event(outcome, "compile_error")
    assert (reported["type"], reported["line"], outcome.stdout) == ("SyntaxError", 2, b"")


def test_source_with_a_lone_surrogate_does_not_compile(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print('\ud800')"))
    assert event(outcome, "compile_error")["type"] == "UnicodeEncodeError"


PRELUDE = "import math\ndef half(n):\n    return n // 2\n"


def test_prelude_is_executed_in_the_module_of_the_program(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("print(half(math.factorial(4)))", prelude=PRELUDE))
    assert outcome.stdout == b"12\n"


def test_prelude_is_no_part_of_the_source(slot: Slot) -> None:
    source = """from __future__ import annotations
with open(__file__) as own:
    print(own.read(), end="")
half("x")
"""
    outcome = run_one(slot, make_batch(source, prelude=PRELUDE))
    assert outcome.stdout == source.encode()
    assert event(outcome, "exception")["traceback"].startswith("line 4, in <module>")


def test_prelude_precedes_an_imported_submission(slot: Slot) -> None:
    files = {"test_it.py": "import solution\ndef test_it():\n    assert solution.twelve == 12\n"}
    run_bytes = payload.pytest(("test_it.py",), (), stop_early=False)
    source = "from __future__ import annotations\ntwelve = half(24)"
    batch = make_batch(source, run_bytes, program=Program.PYTEST, files=files, prelude=PRELUDE)
    assert event(run_one(slot, batch), "case")["outcome"] == "passed"


def test_prelude_precedes_a_called_submission(slot: Slot) -> None:
    run_bytes = payload.calls("f", [([24], {})])
    batch = make_batch("def f(n): return half(n)", run_bytes, program=Program.CALL, prelude=PRELUDE)
    assert event(run_one(slot, batch), "result")["value"] == 12


@pytest.mark.usefixtures("isolated")
def test_death_by_signal_has_a_signal_and_no_exit_code(slot: Slot) -> None:
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
    outcome = run_one(slot, make_batch(source))
    assert (outcome.exit_code, outcome.exit_signal) == (None, 11)


@pytest.mark.usefixtures("isolated")
def test_immediate_exit_is_reported(slot: Slot) -> None:
    outcome = run_one(slot, make_batch("import os\nos._exit(7)"))
    assert (outcome.exit_code, outcome.exit_signal) == (7, None)


# ---------------------------------------------------------------- calls


def call(slot: Slot, source: str, entry_point: str, *args: Any, **kwargs: Any) -> Any:
    payload_bytes = payload.calls(entry_point, [(args, kwargs)])
    return run_one(slot, make_batch(source, payload_bytes, program=Program.CALL))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param(2**200, id="large integer"),
        pytest.param(3 << (1 << 21), id="integer of a million digits and more"),
        pytest.param([1, (2, "x"), {3: {4}}, b"\xff"], id="nested"),
        pytest.param(float("inf"), id="infinity"),
    ],
)
def test_call_takes_and_returns_plain_data(slot: Slot, value: Any) -> None:
    outcome = call(slot, "def same(x):\n    return x", "same", value)
    assert values.decode(event(outcome, "result")["value"]) == value
    assert events(outcome)[-1] == {"e": "done"}


@pytest.mark.parametrize(
    ("returned", "expected"),
    [("object()", True), ("0", True), ("None", False), ("False", False), ("True", True)],
)
def test_call_may_ask_for_the_presence_of_a_result_alone(
    slot: Slot, returned: str, expected: bool
) -> None:
    run = payload.calls("f", [((), {})], asks_presence=True)
    batch = make_batch(f"def f():\n    return {returned}", run, program=Program.CALL)
    assert event(run_one(slot, batch), "result")["value"] is expected


def test_call_passes_keyword_arguments(slot: Slot) -> None:
    outcome = call(slot, ADD, "add", 1, b=41)
    assert values.decode(event(outcome, "result")["value"]) == 42


def test_call_of_a_method_makes_an_instance(slot: Slot) -> None:
    source = "class Solution:\n    def twice(self, x):\n        return 2 * x"
    outcome = call(slot, source, "Solution.twice", 21)
    assert values.decode(event(outcome, "result")["value"]) == 42


def test_call_of_a_method_takes_the_plain_function_where_the_class_is_left_out(slot: Slot) -> None:
    outcome = call(slot, "def twice(x):\n    return 2 * x", "Solution.twice", 21)
    assert values.decode(event(outcome, "result")["value"]) == 42


def calls(slot: Slot, source: str, *arguments: Any) -> list[dict[str, Any]]:
    payload_bytes = payload.calls("f", [((argument,), {}) for argument in arguments])
    return events(run_one(slot, make_batch(source, payload_bytes, program=Program.CALL)))


def test_calls_of_one_run_are_made_in_order_in_one_process(slot: Slot) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    return seen"
    said = calls(slot, source, 1, "b", None)
    results = [values.decode(each["value"]) for each in said if each["e"] == "result"]
    assert results == [[1], [1, "b"], [1, "b", None]]
    assert said[-1] == {"e": "done"}


@pytest.mark.parametrize(
    ("last", "event_name"),
    [
        pytest.param("return 1 // x", "exception", id="raises"),
        pytest.param("return x or (y for y in ())", "unencodable", id="returns no data"),
    ],
)
def test_calls_end_with_the_first_that_gives_no_value(
    slot: Slot, last: str, event_name: str
) -> None:
    said = calls(slot, f"def f(x):\n    {last}", 1, 0, 1)
    kinds = [each["e"] for each in said if each["e"] != "loaded"]
    assert kinds == ["result", event_name]


def test_call_keeps_what_it_prints_out_of_the_report(slot: Slot) -> None:
    outcome = call(slot, "def f():\n    print('hello')\n    return 1", "f")
    assert outcome.stdout == b"hello\n"
    assert values.decode(event(outcome, "result")["value"]) == 1


def test_call_that_returns_an_object_is_unencodable(slot: Slot) -> None:
    outcome = call(slot, "class Thing: pass\ndef f():\n    return Thing()", "f")
    assert event(outcome, "unencodable")["type"] == "Thing"


@pytest.mark.parametrize(
    ("source", "where", "kind"),
    [
        pytest.param("1 / 0\ndef f(): pass", "load", "ZeroDivisionError", id="while loading"),
        pytest.param("def f():\n    return [][0]", "call", "IndexError", id="while called"),
        pytest.param("def g(): pass", "call", "NameError", id="not defined"),
        pytest.param("def f():\n    raise SystemExit(0)", "call", "SystemExit", id="exit"),
    ],
)
def test_call_that_raises_says_where(slot: Slot, source: str, where: str, kind: str) -> None:
    reported = event(call(slot, source, "f"), "exception")
    assert (reported["where"], reported["type"]) == (where, kind)


# ---------------------------------------------------------------- scripts


def script(
    slot: Slot, source: str, *cases: str, setup: str = "", stop_early: bool = False
) -> list[dict[str, Any]]:
    payload_bytes = payload.script(setup, cases, stop_early=stop_early)
    batch = make_batch(source, payload_bytes, program=Program.SCRIPT)
    return events(run_one(slot, batch))


def test_script_reports_each_case(slot: Slot) -> None:
    cases = ("assert add(1, 2) == 3", "assert add(1, 2) == 4", "add()")
    reported = script(slot, ADD, *cases)
    outcomes = [(e["i"], e["outcome"], e.get("type")) for e in reported if e["e"] == "case"]
    assert outcomes == [
        (0, "passed", None),
        (1, "failed", "AssertionError"),
        (2, "error", "TypeError"),
    ]
    assert [reported[0]["e"], reported[-1]["e"]] == ["loaded", "done"]


def test_script_setup_runs_once_before_the_cases(slot: Slot) -> None:
    cases = ("counter += 1\nassert counter == 1", "counter += 1\nassert counter == 2")
    reported = script(slot, ADD, *cases, setup="counter = 0")
    assert [e["outcome"] for e in reported if e["e"] == "case"] == ["passed", "passed"]


def test_script_that_stops_early_runs_no_case_after_a_failure(slot: Slot) -> None:
    reported = script(slot, ADD, "assert False", "assert True", stop_early=True)
    assert [e["i"] for e in reported if e["e"] == "case"] == [0]


def test_script_whose_source_raises_runs_no_case(slot: Slot) -> None:
    reported = script(slot, "raise KeyError('x')", "assert True")
    assert [(e["e"], e.get("type")) for e in reported] == [("exception", "KeyError")]


# ---------------------------------------------------------------- pytest suites

TESTS = """
import pytest
from solution import add

@pytest.mark.parametrize("a, total", [(1, 3), (2, 3)])
def test_add(a, total):
    assert add(a, 2) == total

@pytest.mark.skip
def test_skipped():
    pass

def test_error():
    add()
"""


def suite(
    slot: Slot, source: str, files: dict[str, str], *args: str, stop_early: bool = False
) -> list[dict[str, Any]]:
    tests = [path for path in files if path.rpartition("/")[2].startswith("test_")]
    payload_bytes = payload.pytest(tests, args, stop_early=stop_early)
    batch = make_batch(source, payload_bytes, program=Program.PYTEST, files=files)
    return events(run_one(slot, batch))


def test_pytest_suite_reports_collection_and_each_test(slot: Slot) -> None:
    reported = suite(slot, ADD, {"test_add.py": TESTS})
    ids = [
        "test_add.py::test_add[1-3]",
        "test_add.py::test_add[2-3]",
        "test_add.py::test_skipped",
        "test_add.py::test_error",
    ]
    assert [e["ids"] for e in reported if e["e"] == "collected"] == [ids]
    outcomes = {e["id"]: e["outcome"] for e in reported if e["e"] == "case"}
    assert outcomes == dict(zip(ids, ["passed", "failed", "skipped", "error"], strict=True))
    assert reported[-1]["e"] == "done"


def test_pytest_suite_that_stops_early_runs_no_test_after_a_failure(slot: Slot) -> None:
    tests = "def test_a():\n    assert False\ndef test_b():\n    pass\n"
    reported = suite(slot, ADD, {"test_it.py": tests}, stop_early=True)
    assert [e["id"] for e in reported if e["e"] == "case"] == ["test_it.py::test_a"]


LOUD = """\
class Loud:
    def __repr__(self):
        print("asked")
        return "Loud()"
"""
TESTS_OF_LOUD = """\
import pytest
from solution import Loud

@pytest.fixture
def loud():
    return Loud()

def test_raises(loud):
    raise ValueError("no")

def test_raises_before_its_call(request, loud):
    request.getfixturevalue("unknown")
"""


def test_pytest_asks_no_argument_of_a_failed_test_what_it_is(slot: Slot) -> None:
    payload_bytes = payload.pytest(["test_it.py"], (), stop_early=False)
    files = {"test_it.py": TESTS_OF_LOUD}
    outcome = run_one(slot, make_batch(LOUD, payload_bytes, program=Program.PYTEST, files=files))
    found = [(e["type"], e["message"]) for e in events(outcome) if e["e"] == "case"]
    assert found[0] == ("ValueError", "no")
    assert found[1][0] == "FixtureLookupError"
    assert outcome.stdout == b""


def test_pytest_module_that_cannot_be_imported_is_reported(slot: Slot) -> None:
    reported = suite(slot, "x = 1", {"test_add.py": TESTS})
    (error,) = (e for e in reported if e["e"] == "collect_error")
    assert (error["path"], error["type"]) == ("test_add.py", "ImportError")


def test_pytest_suite_may_define_an_option(slot: Slot) -> None:
    conftest = """
import pytest
def pytest_addoption(parser):
    parser.addoption("--correct", action="store_true")
@pytest.fixture
def correct(request):
    return request.config.getoption("--correct")
"""
    files = {"conftest.py": conftest, "tests/test_it.py": "def test_it(correct):\n assert correct"}
    reported = suite(slot, ADD, files, "--correct")
    cases = [(e["id"], e["outcome"]) for e in reported if e["e"] == "case"]
    assert cases == [("tests/test_it.py::test_it", "passed")]


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("pytest.ini", "[pytest]\npythonpath = lib\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['lib']\n"),
        ("tox.ini", "[pytest]\npythonpath = lib\n"),
        ("setup.cfg", "[tool:pytest]\npythonpath = lib\n"),
    ],
)
def test_pytest_suite_may_bring_a_configuration(slot: Slot, name: str, section: str) -> None:
    options = "addopts = '--cov'\n" if name == "pyproject.toml" else "addopts = --cov\n"
    tests = (
        "from solution import add\nfrom three import THREE\n"
        "def test_it(): assert add(1, 2) == THREE\n"
    )
    files = {name: section + options, "lib/three.py": "THREE = 3\n", "test_it.py": tests}
    reported = suite(slot, ADD, files)
    cases = [(e["id"], e["outcome"]) for e in reported if e["e"] == "case"]
    assert cases == [("test_it.py::test_it", "passed")]


def test_unittest_cases_run(slot: Slot) -> None:
    tests = """
import unittest
from solution import add
class AddTest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(add(1, 2), 3)
    def test_wrong(self):
        self.assertEqual(add(1, 2), 4)
"""
    reported = suite(slot, ADD, {"test_add.py": tests})
    assert [(e["id"], e["outcome"]) for e in reported if e["e"] == "case"] == [
        ("test_add.py::AddTest::test_right", "passed"),
        ("test_add.py::AddTest::test_wrong", "failed"),
    ]


# ---------------------------------------------------------------- what a program finds


def test_files_lie_beside_the_source(slot: Slot) -> None:
    source = (
        "from pathlib import Path\n"
        "print(Path('data/a.txt').read_text(), Path('solution.py').read_text()[:4])"
    )
    outcome = run_one(slot, make_batch(source, files={"data/a.txt": "content"}))
    assert outcome.stdout == b"content from\n"


def test_source_lies_where_the_batch_says(slot: Slot) -> None:
    source = "import os\nprint(os.path.exists('package/module.py'))"
    outcome = run_one(slot, make_batch(source, source_path="package/module.py"))
    assert outcome.stdout == b"True\n"


def test_preloaded_modules_are_imported_already(slot: Slot) -> None:
    source = "import sys\nprint('colorsys' in sys.modules)"
    outcome = run_one(slot, make_batch(source, preload=("colorsys",)))
    assert outcome.stdout == b"True\n"


def test_usage_is_measured(slot: Slot) -> None:
    source = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    usage = run_one(slot, make_batch(source)).usage
    assert usage.cpu_time_s is not None
    assert usage.wall_time_s is not None
    assert 0.15 <= usage.cpu_time_s < 2.0
    assert 0.15 <= usage.wall_time_s < LIMITS.wall_time_s
