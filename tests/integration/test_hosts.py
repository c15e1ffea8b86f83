"""A grader with more slots than one process has: host processes grade as it would by itself."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.engine import GradingEngine
from grader.grading.grader import Grader
from grader.grading.hosts import OWN_SLOTS, SLOTS_PER_PROCESS
from grader.grading.stopping import StopHandle
from grader.model import (
    CallCase,
    CallTests,
    GradeReport,
    LimitOverrides,
    PytestTests,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
)
from grader.model.overrides import GradingRules
from grader.model.verdict import Verdict
from grader.process.request_id import caller
from grader.sandbox.contract import Program, RunBatch
from tests.factories import make_submission, make_suite, make_tests
from tests.traces import family

Eventually = Callable[[Callable[[], bool], float], None]

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

SLOTS = OWN_SLOTS + SLOTS_PER_PROCESS
NAME = "sleeper"
PATIENT = LimitOverrides(wall_time_s=100.0, cpu_time_s=100.0)


def settings(slots: int = SLOTS) -> Settings:
    return Settings(sandbox=SandboxChoice.NATIVE, slots=slots)


@pytest.fixture(scope="module")
def crowded() -> Iterator[Grader]:
    """A grader whose own share is taken, so that host processes grade all else."""
    with Grader(settings()) as grader:
        _ = occupy(grader)
        yield grader


def occupy(grader: Grader) -> list[Future[GradeReport]]:
    return [grader.submit(sleeper(100), timeout_s=300) for _ in range(OWN_SLOTS)]


def sleeper(seconds: float) -> Submission:
    """Return a submission that passes once it has slept under a name of its own."""
    code = f"""
import ctypes, time
PR_SET_NAME = 15
ctypes.CDLL(None).prctl(PR_SET_NAME, b"{NAME}", 0, 0, 0)
time.sleep({seconds})

def add(a, b):
    return a + b
"""
    return make_submission(code, suite=make_suite(limits=PATIENT))


def hosts() -> set[int]:
    """Return the host processes below this process."""
    return {pid for pid, _ in family(os.getpid()) if b"grader.grading.host" in command_of(pid)}


def command_of(pid: int, file: str = "cmdline") -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


def sleeping_below(pid: int) -> int:
    """Return how many programs of submissions run in a host process's slots."""
    return sum(command_of(member, "comm").strip() == NAME.encode() for member, _ in family(pid))


STDIN = StdinTests(cases=(StdinCase(id="0", stdin="1 2\n", expected="3\n"),))
CALLS = CallTests(entry_point="add", cases=(CallCase(id="0", args=((1,), (2,)), expected=(1, 2)),))
UNSENDABLE = CallTests(entry_point="add", cases=(CallCase(id="0", args=(object(),), expected=3),))
PYTEST = PytestTests(
    files=(
        SuiteFile(
            path="test_add.py",
            content=b"from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        ),
    ),
    test_paths=("test_add.py",),
)


@pytest.mark.parametrize(
    "submission",
    [
        pytest.param(make_submission(), id="right"),
        pytest.param(make_submission("def add(a, b):\n    return a - b\n"), id="wrong"),
        pytest.param(make_submission("def add(a, b) return"), id="does not compile"),
        pytest.param(make_submission("I do not know."), id="no code"),
        pytest.param(make_submission("def add(a, b):\n    raise KeyError(a)\n"), id="raises"),
        pytest.param(
            make_submission("print(sum(map(int, input().split())))\n", suite=make_suite(STDIN)),
            id="stdin",
        ),
        pytest.param(make_submission(suite=make_suite(CALLS)), id="calls with tuples"),
        pytest.param(make_submission(suite=make_suite(PYTEST)), id="pytest"),
        pytest.param(make_submission(suite=make_suite(UNSENDABLE)), id="suite that cannot cross"),
        pytest.param(
            make_submission("def add(a, b):\n    return a + b + len('\ud800') - 1\n"),
            id="lone surrogate in the code",
        ),
        pytest.param(
            make_submission(suite=make_suite(make_tests("assert add('\ud800', '') == '\ud800'"))),
            id="lone surrogate in the tests",
        ),
        pytest.param(
            make_submission(
                "def add(a, b):\n    return 3\n",
                suite=make_suite(make_tests("assert add(1, 2) == 3", "assert add(1, 1) == 2")),
                rules=GradingRules(policy="fraction", stop_early=False),
            ),
            id="rules of its own",
        ),
    ],
)
def test_report_from_a_host_process_is_that_of_one_process(
    crowded: Grader, submission: Submission
) -> None:
    with Grader(settings(1)) as alone:
        expected = told(alone.grade(submission))
    assert told(crowded.grade(submission, timeout_s=60)) == expected


def told(report: GradeReport) -> tuple[object, ...]:
    """Return what does not differ from run to run."""
    return (
        report.verdict,
        report.reward,
        report.score,
        report.integrity,
        report.feedback,
        report.policy,
        report.conditions,
        [(case.id, case.verdict, case.feedback) for case in report.cases],
    )


def test_deadline_stops_what_runs_in_a_host_process(
    crowded: Grader, eventually: Eventually
) -> None:
    assert crowded.grade(make_submission(), timeout_s=60).verdict is Verdict.PASSED
    (host,) = hosts()
    late = crowded.submit(sleeper(100), timeout_s=3)
    eventually(lambda: sleeping_below(host) == 1, 20)
    assert "within 3 s" in late.result().feedback
    eventually(lambda: sleeping_below(host) == 0, 20)
    assert hosts() == {host}


def test_batch_keeps_every_slot_busy_and_comes_back_whole(crowded: Grader) -> None:
    wanted = [make_submission(f"def add(a, b):\n    return a + b + {n % 2}\n") for n in range(40)]
    reports = crowded.grade_batch(wanted, timeout_s=100)
    verdicts = [Verdict.PASSED, Verdict.FAILED] * 20
    assert [report.verdict for report in reports] == verdicts


def test_killed_host_process_loses_nothing(eventually: Eventually) -> None:
    before = hosts()
    with Grader(settings()) as grader:
        _ = occupy(grader)
        open_now = [grader.submit(sleeper(3), timeout_s=100) for _ in range(4)]
        eventually(lambda: sum(map(sleeping_below, hosts() - before)) >= 2, 60)
        (killed,) = hosts() - before
        os.kill(killed, signal.SIGKILL)
        assert [future.result(90).verdict for future in open_now] == [Verdict.PASSED] * 4
        assert killed not in hosts()


def test_no_more_tries_than_the_settings_allow(eventually: Eventually) -> None:
    before = hosts()
    with Grader(replace(settings(), retries=0)) as grader:
        _ = occupy(grader)
        lost = [grader.submit(sleeper(60), timeout_s=100) for _ in range(4)]
        eventually(lambda: sum(map(sleeping_below, hosts() - before)) == 4, 60)
        (killed,) = hosts() - before
        os.kill(killed, signal.SIGKILL)
        assert all("HostLostError" in future.result(60).feedback for future in lost)
        assert grader.grade(make_submission(), timeout_s=60).verdict is Verdict.PASSED


@contextmanager
def full(engine: GradingEngine, eventually: Eventually) -> Iterator[Grader]:
    """A grader whose slots all belong to a host process, and are taken for a while."""
    with engine, Grader(engine.settings, engine=engine) as grader:
        warming = [grader.submit(sleeper(3), timeout_s=90) for _ in range(SLOTS)]
        eventually(lambda: engine.slot_counts().busy == SLOTS, 60)
        assert {future.result(60).verdict for future in warming} == {Verdict.PASSED}
        held = [grader.submit(sleeper(4), timeout_s=90) for _ in range(SLOTS)]
        eventually(lambda: engine.slot_counts().busy == SLOTS, 20)
        yield grader
        assert {future.result(60).verdict for future in held} == {Verdict.PASSED}


def test_what_is_cancelled_while_it_waits_never_begins(eventually: Eventually) -> None:
    begun: list[str] = []
    engine = GradingEngine(settings(), on_turn=lambda submission: begun.append(submission.id))
    with full(engine, eventually) as grader:
        begun.clear()
        futures = [grader.submit(replace(make_submission(), id=f"{n}")) for n in range(6)]
        assert all(future.cancel() for future in futures[:3])
        assert {future.result(60).verdict for future in futures[3:]} == {Verdict.PASSED}
        assert sorted(begun) == ["3", "4", "5"]


def test_callers_and_programs_take_turns_where_slots_are_in_host_processes(
    eventually: Eventually,
) -> None:
    begun: list[str] = []
    engine = GradingEngine(settings(), on_turn=lambda submission: begun.append(submission.id))
    program = RunBatch(
        program=Program.STDIN, source="print(1)", runs=(b"",), limits=engine.settings.limits
    )
    with full(engine, eventually) as grader, ThreadPoolExecutor(1) as threads:
        begun.clear()
        futures = []
        for name in ["many"] * 30 + ["one"]:
            token = caller.set(name)
            futures.append(grader.submit(replace(make_submission(), id=name), timeout_s=90))
            caller.reset(token)
        outcome = threads.submit(
            engine.run_program,
            program,
            StopHandle(),
            image="python",
            on_slot=lambda: begun.append("program"),
        )
        assert outcome.result(60).exit_code == 0
        assert {future.result(60).verdict for future in futures} == {Verdict.PASSED}
    # Threads that run at the same time note what they begin a little later or earlier.
    assert begun.index("one") <= SLOTS
    assert begun.index("program") <= 2 * SLOTS


def test_callbacks_may_wait_for_other_reports(eventually: Eventually) -> None:
    later: list[GradeReport] = []
    engine = GradingEngine(settings())

    def grade_another(_: Future[GradeReport]) -> None:
        later.append(grader.grade(make_submission(), timeout_s=60))

    with full(engine, eventually) as grader:
        futures = [grader.submit(sleeper(1), timeout_s=90) for _ in range(SLOTS)]
        for future in futures:
            future.add_done_callback(grade_another)
        eventually(lambda: len(later) == SLOTS, 60)
    assert {report.verdict for report in later} == {Verdict.PASSED}


def test_submit_never_waits_for_a_host_process_to_read(eventually: Eventually) -> None:
    long = [
        make_submission(f"{make_submission().completion}# {'x' * size}\n") for size in (60_000,)
    ]
    long.append(make_submission(f"{make_submission().completion}# {'x' * 5_000_000}\n"))
    engine, before = GradingEngine(settings()), hosts()
    with full(engine, eventually) as grader:
        eventually(lambda: engine.slot_counts().busy == 0, 60)
        (host,) = hosts() - before
        os.kill(host, signal.SIGSTOP)
        try:
            # More than the socket holds; this thread goes on.
            futures = [grader.submit(each, timeout_s=90) for each in [long[0]] * 4 + [long[1]] * 2]
            assert not any(future.done() for future in futures)
        finally:
            os.kill(host, signal.SIGCONT)
        assert {future.result(60).verdict for future in futures} == {Verdict.PASSED}


def test_many_threads_get_the_reports_of_their_own_submissions(eventually: Eventually) -> None:
    def grade(number: int) -> str | None:
        code = f"def add(a, b):\n    return a + b + {number % 2}\n# {number}\n"
        report = grader.grade(make_submission(code), timeout_s=90)
        assert report.verdict is (Verdict.FAILED if number % 2 else Verdict.PASSED)
        return report.code

    with (
        full(GradingEngine(settings()), eventually) as grader,
        ThreadPoolExecutor(32) as threads,
    ):
        codes = list(threads.map(grade, range(128)))
    assert all(code is not None and f"# {n}" in code for n, code in enumerate(codes))


def test_whoever_waits_in_a_blocking_call_is_answered_at_the_close(eventually: Eventually) -> None:
    engine, before = GradingEngine(settings()), hosts()
    with ThreadPoolExecutor(2 * SLOTS) as threads:
        waiting = [threads.submit(engine.grade, sleeper(100)) for _ in range(2 * SLOTS)]
        eventually(lambda: engine.slot_counts().busy == SLOTS, 60)
        engine.close()
        assert {future.result(30).verdict for future in waiting} == {Verdict.INTERNAL_ERROR}
    assert hosts() == before


def test_signals_to_the_whole_group_are_the_graders_to_act_on(
    crowded: Grader, eventually: Eventually
) -> None:
    assert crowded.grade(make_submission(), timeout_s=60).verdict is Verdict.PASSED
    (host,) = hosts()
    future = crowded.submit(sleeper(2), timeout_s=60)
    eventually(lambda: sleeping_below(host) == 1, 20)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(host, number)
    assert future.result(60).verdict is Verdict.PASSED
    assert hosts() == {host}


def test_few_submissions_start_no_host_process() -> None:
    before = hosts()
    with Grader(settings()) as grader:
        reports = [grader.submit(sleeper(1)) for _ in range(OWN_SLOTS)]
        assert {report.result(60).verdict for report in reports} == {Verdict.PASSED}
        assert hosts() == before


def test_close_ends_host_processes_and_answers_everybody(eventually: Eventually) -> None:
    before = hosts()
    grader = Grader(settings())
    futures = [grader.submit(sleeper(100), timeout_s=300) for _ in range(SLOTS + 2)]
    eventually(lambda: len(hosts()) == len(before) + 1, 60)
    grader.close()
    assert {future.result(30).feedback for future in futures} == {"the grader was closed"}
    assert hosts() == before
    assert grader.grade(make_submission()).feedback.endswith("the grader is closed")


def test_counts_are_those_of_all_processes(eventually: Eventually) -> None:
    with GradingEngine(settings()) as grader, Grader(settings(), engine=grader) as calls:
        # A busy machine takes seconds to start the host process.
        futures = [calls.submit(sleeper(6), timeout_s=90) for _ in range(SLOTS)]
        eventually(lambda: grader.slot_counts().busy == SLOTS, 60)
        assert {future.result(60).verdict for future in futures} == {Verdict.PASSED}
        eventually(lambda: grader.slot_counts().idle == SLOTS, 20)
        assert (grader.slot_counts().busy, grader.slot_counts().unopened) == (0, 0)


def test_once_host_processes_are_ready_they_grade_everything(eventually: Eventually) -> None:
    with GradingEngine(settings()) as grader, Grader(settings(), engine=grader) as calls:
        first = [calls.submit(sleeper(6), timeout_s=90) for _ in range(SLOTS)]
        eventually(lambda: grader.slot_counts().busy == SLOTS, 60)
        assert {future.result(60).verdict for future in first} == {Verdict.PASSED}
        ready = hosts()
        later = [calls.submit(sleeper(6), timeout_s=90) for _ in range(SLOTS)]
        eventually(lambda: sum(map(sleeping_below, ready)) == SLOTS, 60)
        assert {future.result(60).verdict for future in later} == {Verdict.PASSED}
        assert hosts() == ready


def test_log_of_a_host_process_is_heard_here(
    crowded: Grader, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    assert crowded.grade(make_submission(), timeout_s=60).verdict is Verdict.PASSED
    broken = make_suite(
        make_tests("assert add(1, 2) == 4"), reference="def add(a, b):\n  return 3\n"
    )
    report = crowded.grade(make_submission(suite=broken), timeout_s=60)
    assert report.verdict is Verdict.INTERNAL_ERROR
    eventually(lambda: "add/0 was not graded" in caplog.text, 10)
