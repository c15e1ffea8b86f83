"""A batch may be given up at any moment: the slot is free at once, and unchanged."""

import random
import time
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from grader.sandbox.contract import Program, RunBatch
from tests.hostile.conftest import LIMITS, PRELUDE, Target

SOURCES = {
    "nothing": "",
    "sleeper": "time.sleep(600)",
    "busy": "while True:\n    pass",
    "fork bomb": "while True:\n    attempt(os.fork)",
    "flood": "while True:\n    os.write(1, bytes(65536))",
    "immortal orphans": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork():\n        os._exit(0)\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    time.sleep(600)"
    ),
}


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in SOURCES.items()])
def test_batch_given_up_between_two_runs_leaves_the_slot_usable(
    target: Target, source: str
) -> None:
    # The second run is being started while the first one's outcome is on its way.
    rest = f"if sys.stdin.read() == 'first':\n    sys.exit()\n{source}"
    batch = RunBatch(
        program=Program.STDIN,
        source=PRELUDE + rest,
        runs=(b"first", *([b"later"] * 5)),
        limits=replace(LIMITS, cpu_time_s=600, wall_time_s=600),
    )
    delays = random.Random(7)  # noqa: S311 - to hit every moment
    for _ in range(20):
        with closing(target.slot.run(batch)) as running:
            next(running)
            with suppress(StopIteration):
                time.sleep(delays.random() * 0.004)
        assert target.tell("1 + 1") == 2
