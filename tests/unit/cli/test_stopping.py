"""A command ends soon after Ctrl-C, whatever its work is doing."""

import signal
import subprocess
import sys
import threading

import pytest

from grader.cli.stopping import Stop, run_stoppable

PROGRAM = r"""
import os, signal, sys, threading
from grader.cli.stopping import run_stoppable

lock = threading.Condition()

def hold_a_lock_most_of_the_time(stop):
    stop.add(lambda: lock.acquire() and print("closed", flush=True))
    print("ready", flush=True)
    while True:
        with lock:
            stop.check()

def start_threads(stop):
    # The kernel hands signals to threads that begin, too.
    stop.add(lambda: print("closed", flush=True))
    print("ready", flush=True)
    while True:
        stop.check()
        threading.Thread(target=int).start()

def read(stop):
    stop.add(lambda: print("closed", flush=True))
    print("ready", flush=True)
    sys.stdin.read()

try:
    run_stoppable(globals()[sys.argv[1]], advice="Go on.")
except Exception as leaving:
    sys.exit(leaving.exit_code)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", ["hold_a_lock_most_of_the_time", "start_threads", "read"])
def test_signal_closes_everything_whatever_the_work_does(work: str, number: int) -> None:
    command = [sys.executable, "-c", PROGRAM, work]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        try:
            assert process.wait(timeout=30) == 128 + number
        finally:
            process.kill()
        assert process.stdout.readline() == "closed\n"
        assert process.stderr.read() == "stopped. Go on.\n"


def test_work_gives_its_result_and_errors_to_the_caller() -> None:
    def fail(_stop: Stop) -> int:
        raise SystemExit(7)

    before = signal.getsignal(signal.SIGINT)
    assert run_stoppable(lambda _: 5, advice="") == 5
    with pytest.raises(SystemExit, match="7"):
        run_stoppable(fail, advice="")
    assert signal.getsignal(signal.SIGINT) is before
    assert "grader-command" not in {each.name for each in threading.enumerate()}
