"""Attacks through the descriptors that a run holds: none can be used in another direction."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.sandbox.contract import Sandbox, Slot
from grader.sandbox.payload import Apart
from tests.hostile.conftest import MEMORY_BYTES, Target
from tests.hostile.judged_suites import LIMITS, Suite, passed, run_apart, run_script, verdicts

APART = Apart(names=("f",))
ANSWERS = [757, 595, 352, 128, 946, 411, 283, 869, 530, 174]
PRINT = "print('expected', {}, flush=True)\n"
LOUD = {
    "script": Suite(
        right=f"def f(i): return {ANSWERS}[i]",
        cases=[f"{PRINT.format(n)}assert f({i}) == {n}" for i, n in enumerate(ANSWERS)],
    ),
    "check": Suite(
        right=f"def f(i): return {ANSWERS}[i]",
        setup=f"def check(f, i, n):\n    {PRINT.format('n')}    assert f(i) == n\n",
        cases=[f"check(f, {i}, {n})" for i, n in enumerate(ANSWERS)],
    ),
    "pytest": Suite(
        right=f"def f(i): return {ANSWERS}[i]",
        module="import pytest\nfrom solution import f\n"
        f"@pytest.mark.parametrize('i, n', list(enumerate({ANSWERS})))\n"
        f"def test_f(i, n):\n    {PRINT.format('n')}    assert f(i) == n\n",
    ),
}
"""Suites that print each answer before they ask for it."""

LISTENS = """
import os, re, select, threading
heard, something = [], threading.Event()
def listen(descriptor):
    while data := os.read(descriptor, 65536):
        heard.append(data)
        something.set()
for number in os.listdir("/proc/self/fd"):
    for flags in (os.O_RDONLY, os.O_RDWR):
        try:
            opened = os.open(f"/proc/self/fd/{number}", flags)
        except OSError:
            continue
        threading.Thread(target=listen, args=(opened,), daemon=True).start()
def f(i):
    something.wait(0.03)
    something.clear()
    found = re.findall(rb"expected (\\d+)", b"".join(heard))
    return int(found[-1]) if found else -1
"""
"""Knows no answer, but reads from all that it can open."""


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as opened:
        yield opened


@pytest.mark.parametrize("standing", [False, True], ids=["judge of its own", "standing judge"])
@pytest.mark.parametrize("name", LOUD)
def test_submission_hears_nothing_that_the_tests_print(
    slot: Slot, name: str, *, standing: bool
) -> None:
    suite = LOUD[name]
    honest, _ = run_apart(slot, suite, suite.right, standing=standing)
    assert len(passed(honest)) == len(ANSWERS), verdicts(honest)
    cases, outcome = run_apart(slot, suite, LISTENS, standing=standing)
    assert not passed(cases), verdicts(cases)
    # All of it reached the grader, except for what pytest captures.
    assert name == "pytest" or outcome.stdout.count(b"expected") == len(ANSWERS)


def test_output_of_tests_and_submission_is_kept_in_order_under_one_limit(slot: Slot) -> None:
    says = "import os\ndef f(i):\n    os.write(1, b'f %d;' % i)\n    return i\n"
    asks = """
import fcntl, termios
print('tests', end=';', flush=True)
while any(fcntl.ioctl(1, termios.FIONREAD, bytes(4))):
    pass  # until the supervisor has read it
assert f(1) == 1
"""
    suite = Suite(right=says, cases=[asks])
    for limit, dropped in ((10, 0), (9, 1), (3, 7)):
        limits = replace(LIMITS, output_bytes=limit)
        outcome = run_script(slot, suite, says, APART, limits=limits, standing=False)
        assert outcome.stdout == b"tests;f 1;"[:limit]
        assert outcome.dropped_bytes == dropped


def test_memory_file_of_standard_input_cannot_be_changed(target: Target) -> None:
    source = """
opened = attempt(lambda: os.open("/proc/self/fd/0", os.O_RDWR))
found = {
    attempt(lambda: os.pwrite(opened, b"x", 0)),
    attempt(lambda: os.pwrite(opened, b"x", 1 << 20)),
    attempt(lambda: os.posix_fallocate(opened, 0, 1 << 20)),
    attempt(lambda: os.ftruncate(opened, 0)),
    attempt(lambda: mmap.mmap(opened, 5)),
}
print(*found, open("/dev/stdin").read())
"""
    assert target.attack(source, b"input").stdout == b"EPERM input\n"
