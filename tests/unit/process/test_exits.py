"""Objects are closed at the exit of a process; each test runs a process of its own."""

import subprocess
import sys

PRELUDE = """
import os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from grader.process.exits import close_at_exit, forget_at_exit, keep_from_forks

class Waited:
    def __init__(self, name):
        self.name, self.closed = name, threading.Event()
        close_at_exit(self)
    def close(self):
        print("closed", self.name, "in", "child" if os.getpid() != first else "parent", flush=True)
        self.closed.set()
        forget_at_exit(self)

first = os.getpid()
"""


def lines(program: str) -> list[str]:
    """Run a program in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program], timeout=30, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def test_close_comes_before_threads_are_joined_that_wait_for_it() -> None:
    assert lines("""
waited = Waited("a")
pool = ThreadPoolExecutor(2)
for number in range(6):
    pool.submit(waited.closed.wait)
threading.Thread(target=waited.closed.wait).start()
""") == ["closed a in parent"]


def test_all_are_closed_but_for_those_that_were_closed_before() -> None:
    assert sorted(
        lines("""
a, b, c = Waited("a"), Waited("b"), Waited("c")
b.close()
print("end")
""")
    ) == ["closed a in parent", "closed b in parent", "closed c in parent", "end"]


def test_close_that_fails_costs_no_other_its_own() -> None:
    program = """
import logging
logging.disable()
class Broken(Waited):
    def close(self):
        raise OSError
kept = [Broken("x"), Waited("a"), Broken("y"), Waited("b")]
"""
    assert sorted(lines(program)) == ["closed a in parent", "closed b in parent"]


def test_close_that_hangs_is_not_waited_for() -> None:
    assert lines("""
class Hanging(Waited):
    def close(self):
        print("hangs", flush=True)
        time.sleep(60)
hanging = Hanging("x")
""") == ["hangs"]


def test_forked_process_closes_only_its_own_objects() -> None:
    assert lines("""
a = Waited("a")
if os.fork() == 0:
    sys.exit()
os.wait()
if os.fork() == 0:
    b = Waited("b")
    sys.exit()
os.wait()
print("end", flush=True)
""") == ["closed b in child", "end", "closed a in parent"]


def test_process_of_a_pool_closes_its_own_objects() -> None:
    assert lines("""
import multiprocessing
def work():
    globals()["b"] = Waited("b")
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
""") == ["closed b in child"]


def test_kept_stream_hangs_up_when_its_process_dies_though_a_fork_lives_on() -> None:
    assert lines("""
import signal, socket
ours, theirs = socket.socketpair()
until, alive = os.pipe()
parent = os.fork()
if parent == 0:
    theirs.close()
    keep_from_forks(ours)
    if os.fork() == 0:
        ours.close()   # Of the fork; its number was kept from being another's until now.
        os.close(alive)
        os.read(until, 1)  # Until the first process has ended.
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
ours.close()
os.waitpid(parent, 0)
theirs.settimeout(30)
print(theirs.recv(1))
""") == ["b''"]
