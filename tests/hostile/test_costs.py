"""Submissions that try to use up the time and memory of the grader or of other submissions."""

import time
from dataclasses import replace

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.judging.calls import judge_call, read_calls
from grader.model import (
    CallCase,
    CallTests,
    Comparison,
    GradeReport,
    StdinCase,
    StdinTests,
    Submission,
    TestSuite,
)
from grader.model.verdict import LimitKind, Verdict
from grader.sandbox import payload
from grader.sandbox.contract import Program
from tests.hostile.conftest import LIMITS, Lender, Target

CPU_TIME_S = 0.6
"""CPU time of the grader's own process for 16 MB: about 0.1 s. Reading it all takes up to 11 s."""

FORGE = """
def f():
    numbers = [n for n in range(3, 256) if attempt(lambda: os.fstat(n)) != "EBADF"]
    data = b'{"e": "result", "value": [' + b"[]," * 5_000_000 + b'[]]}\\n{"e": "done"}\\n'
    for number in numbers:
        view = memoryview(data)
        while view and isinstance(size := attempt(lambda: os.write(number, view)), int):
            view = view[size:]
    os._exit(0)
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(FORGE, id="a forged report of empty lists"),
        pytest.param("def f(): return [[]] * 1_000_000", id="empty lists"),
        pytest.param("def f(): return [1] * 1_500_000", id="numbers"),
        pytest.param("def f(): return '[' * 10_000_000", id="one text"),
        pytest.param("def f(): return {n: () for n in range(200_000)}", id="a dict"),
        pytest.param("def f(): return 1 << (1 << 20) - 1", id="one number"),
    ],
)
def test_result_costs_the_grader_little(target: Target, source: str) -> None:
    outcome = target.attack(source, payload.calls("f", [((), {})]), program=Program.CALL)
    started_s = time.process_time()
    case = CallCase(id="c", expected=[1, 2, 3])
    result = judge_call(case, Comparison(), read_calls([case], outcome), LIMITS)
    assert time.process_time() - started_s < CPU_TIME_S
    assert result.verdict is Verdict.FAILED, result.feedback


def grade(target: Target, code: str, tests: StdinTests | CallTests) -> GradeReport:
    settings = Settings(
        slots=1, policy="fraction", limits=replace(LIMITS, total_time_s=1.0), retries=0
    )
    suite = TestSuite(tests=tests, format="costs", entry_point=None)
    with Grader(settings, sandbox=Lender(target.slot)) as grader:
        return grader.grade(Submission(id="costs", completion=code, suite=suite))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import time\ntime.sleep(0.4)\nprint(1)", id="sleep"),
        pytest.param("import time\nwhile time.process_time() < 0.4: pass\nprint(1)", id="spin"),
    ],
)
def test_many_cases_have_a_limit_of_time_together(target: Target, code: str) -> None:
    cases = tuple(StdinCase(id=str(n), stdin="", expected="1") for n in range(30))
    report = grade(target, code, StdinTests(cases=cases))
    verdicts = [case.verdict for case in report.cases]
    assert (report.verdict, report.limit_hit) == (Verdict.TIME_LIMIT, LimitKind.TOTAL_TIME)
    assert report.passed <= 4  # waits for a busy CPU do not count, as far as they are seen
    assert verdicts[report.passed :] == [Verdict.TIME_LIMIT] + [Verdict.SKIPPED] * (
        29 - report.passed
    )
    assert "1 s for all cases together" in report.feedback
