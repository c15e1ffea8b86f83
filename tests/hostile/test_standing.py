"""Standing judges: what they keep, and when they are replaced."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.model.errors import SandboxUnavailableError
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot
from grader.sandbox.payload import Apart
from tests.hostile.conftest import MEMORY_BYTES
from tests.hostile.judged_suites import LIMITS

COUNT = """\
import os, sys
sys.runs = getattr(sys, 'runs', 0) + 1
print('run', sys.runs, 'files', len(os.listdir('/proc/self/fd')))
"""
"""Counts the judgings of a process. No script that is allowed to stay could do this."""

RIGHT = "def f(x):\n    return x * x\n"
CASES = ["assert f(3) == 9", "assert f(4) == 16"]
APART = Apart(names=("f",))


@pytest.fixture
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as opened:
        yield opened


def judge(
    slot: Slot,
    source: str = RIGHT,
    *cases: str,
    cpu_time_s: float = LIMITS.cpu_time_s,
    memory_bytes: int = LIMITS.memory_bytes,
) -> RunOutcome:
    """Have a script judged by a standing judge, which first says how often it has judged."""
    batch = RunBatch(
        program=Program.SCRIPT,
        source=source,
        runs=(payload.script(COUNT, cases or CASES, stop_early=False, apart=APART),),
        limits=replace(LIMITS, cpu_time_s=cpu_time_s, memory_bytes=memory_bytes),
        split=True,
        standing=True,
    )
    (outcome,) = slot.run(batch)
    return outcome


def runs_so_far(outcome: RunOutcome) -> int:
    return int(outcome.stdout.split()[1])


def cpu_time_s(outcome: RunOutcome) -> float:
    return outcome.usage.cpu_time_s or 0.0


def test_a_judge_stays_while_all_goes_well(slot: Slot) -> None:
    assert [runs_so_far(judge(slot)) for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_judge_keeps_no_file_of_a_run_open(slot: Slot) -> None:
    first, *_, last = [judge(slot).stdout.split()[-1] for _ in range(5)]
    assert first == last


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(x):\n    return x\n", id="wrong"),
        pytest.param("def f(x):\n    raise ValueError(x)\n", id="raises"),
        pytest.param("def f(x:\n", id="does not compile"),
        pytest.param("raise ImportError('no')", id="does not load"),
        pytest.param("", id="empty"),
        pytest.param("def f(x):\n    print('x' * 5000)\n    return x * x\n", id="prints"),
    ],
)
def test_a_judge_stays_after_a_submission_that_only_fails(slot: Slot, source: str) -> None:
    judge(slot)
    judge(slot, source)
    after = judge(slot)
    assert runs_so_far(after) >= 2
    assert after.report.count(b'"passed"') == len(CASES)


ENDS: dict[str, Callable[[Slot], object]] = {
    "the submission ends its process": lambda slot: judge(
        slot, "import os\ndef f(x):\n    os._exit(0)\n"
    ),
    "the submission is killed": lambda slot: judge(
        slot, "import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n"
    ),
    "the submission hangs up": lambda slot: judge(
        slot, "import os\ndef f(x):\n    os.closerange(3, 200)\n    return 9\n"
    ),
    "the submission takes too long": lambda slot: judge(
        slot, "def f(x):\n    while True: pass\n", cpu_time_s=0.5
    ),
    "the tests take too long": lambda slot: judge(slot, RIGHT, "while True: pass", cpu_time_s=0.5),
    "the tests take memory": lambda slot: judge(slot, RIGHT, "kept = b'x' * (200 << 20)"),
    "the tests end their process": lambda slot: judge(slot, RIGHT, "import os\nos._exit(0)"),
    "other limits": lambda slot: judge(slot, memory_bytes=LIMITS.memory_bytes // 2),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_a_judge_in_doubt_is_replaced(slot: Slot, end: Callable[[Slot], object]) -> None:
    assert runs_so_far(judge(slot)) == 1
    end(slot)
    after = judge(slot)
    assert runs_so_far(after) == 1
    assert after.report.count(b'"passed"') == len(CASES)
    assert (after.exit_code, after.limit_hit) == (0, None)


def test_what_a_judge_took_before_is_no_part_of_a_run(slot: Slot) -> None:
    used = judge(slot, RIGHT, "assert sum(i % 7 for i in range(4_000_000)) and f(3) == 9")
    assert cpu_time_s(judge(slot)) < cpu_time_s(used)
    busy = judge(
        slot, RIGHT, "from time import process_time as now\nt = now() + 1\nwhile now() < t: pass"
    )
    assert busy.limit_hit is None
    assert cpu_time_s(busy) > 0.9


def test_each_run_has_its_own_limit_of_time(slot: Slot) -> None:
    spin = "from time import process_time as now\nt = now() + 0.7\nwhile now() < t: pass"
    assert judge(slot, RIGHT, spin, cpu_time_s=1.5).limit_hit is None
    assert runs_so_far(judge(slot)) == 2
    assert judge(slot, RIGHT, spin, cpu_time_s=0.5).limit_hit == "cpu_time"


def test_random_numbers_differ_from_run_to_run(slot: Slot) -> None:
    draw = "import random\nprint(random.random())"
    assert len({judge(slot, RIGHT, draw).stdout.split()[-1] for _ in range(3)}) == 3


def test_what_one_run_prints_is_not_found_in_the_next(slot: Slot) -> None:
    loud = judge(slot, RIGHT, "print('loud', end='')", "assert f(3) == 9")
    quiet = judge(slot)
    assert b"loud" in loud.stdout
    assert b"loud" not in quiet.stdout


def test_runs_of_other_kinds_leave_the_judge_alone(slot: Slot) -> None:
    judge(slot)
    for split in (True, False):
        script = payload.script(
            "",
            ["import os\nos.system('true')\nassert f(3) == 9"],
            stop_early=False,
            apart=APART if split else None,
        )
        other = RunBatch(
            program=Program.SCRIPT, source=RIGHT, runs=(script,), limits=LIMITS, split=split
        )
        (outcome,) = slot.run(other)
        assert b'"passed"' in outcome.report
    assert runs_so_far(judge(slot)) == 2


@pytest.mark.parametrize("standing", [True, False])
def test_a_judge_that_cannot_begin_is_no_fault_of_the_submission(
    slot: Slot, *, standing: bool
) -> None:
    batch = RunBatch(
        program=Program.SCRIPT,
        source=RIGHT,
        runs=(b"no payload",),
        limits=LIMITS,
        split=True,
        standing=standing,
    )
    with pytest.raises(SandboxUnavailableError, match="a judge did not begin"):
        list(slot.run(batch))
