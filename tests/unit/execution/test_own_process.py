"""Which submissions may see which process they are in."""

import pytest

from grader.execution.own_process import knows_its_process


@pytest.mark.parametrize(
    ("source", "knows"),
    [
        ("import os\nME = os.getpid()", True),
        ("from os import getppid as p", True),
        ("import time\nSTART = time.process_time_ns()", True),
        ("import threading\nME = threading.get_native_id()", True),
        ("import os\nSTART = os.times()", True),
        ("import time\nSTART = time.perf_counter()", False),
        ("def times(a, b): return a * b", False),
    ],
)
def test_submission_that_asks_which_process_it_is_in_is_seen(source: str, knows: bool) -> None:
    assert knows_its_process(source) is knows
