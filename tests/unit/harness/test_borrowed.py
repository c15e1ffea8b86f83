"""Processes that make prepared calls in the memory of this one, and then execute a program."""

import ctypes
import os
import signal
import sys
from pathlib import Path

import pytest

from sandbox_images.harness.kernel import borrowed, signals
from sandbox_images.harness.kernel.calls import AT_FDCWD, Calls

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="on other machines, zygotes fork"
)


def start(calls: Calls) -> tuple[int, tuple[str, OSError] | None]:
    """Start a process; return its exit code and what failed in it."""
    starter = borrowed.find_starter()
    assert starter is not None
    made = starter.prepare(calls)
    pid = made.make(0)
    exit_code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return exit_code, made.failure()


def add_program(calls: Calls, *command: str) -> None:
    texts = (ctypes.c_char_p * (len(command) + 1))(*map(os.fsencode, command))
    nothing = (ctypes.c_char_p * 1)()
    calls.add("execve", command[0].encode(), calls.keep(texts), calls.keep(nothing), of=command[0])


def test_program_runs_after_the_calls_which_leave_this_process_as_it_was(tmp_path: Path) -> None:
    calls = Calls()
    calls.add("chdir", os.fsencode(tmp_path))
    calls.add("close", 0)
    calls.add("openat", AT_FDCWD, b"made", os.O_WRONLY | os.O_CREAT, 0o600)
    add_program(calls, sys.executable, "-S", "-c", "import os; os.write(0, b'here'); os._exit(7)")
    here, descriptor = Path.cwd(), os.fstat(0)
    assert start(calls) == (7, None)
    assert (tmp_path / "made").read_bytes() == b"here"
    assert (Path.cwd(), os.fstat(0)) == (here, descriptor)


def test_call_that_fails_is_named_and_nothing_is_executed(tmp_path: Path) -> None:
    calls = Calls()
    calls.add("chdir", os.fsencode(tmp_path / "none"), of="the work area")
    add_program(calls, "/bin/touch", str(tmp_path / "made"))
    exit_code, failure = start(calls)
    assert exit_code == 1
    assert failure is not None
    assert (failure[0], str(failure[1])) == (
        "chdir",
        "[Errno 2] No such file or directory: the work area",
    )
    assert not (tmp_path / "made").exists()


def test_call_that_returns_less_than_it_has_to_has_failed(tmp_path: Path) -> None:
    calls = Calls()
    calls.add("chdir", os.fsencode(tmp_path), least=1)
    add_program(calls, "/bin/true")
    exit_code, failure = start(calls)
    assert exit_code == 1
    assert failure is not None
    assert failure[0] == "chdir"


def test_program_that_cannot_be_executed_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("")
    calls = Calls()
    add_program(calls, str(file))
    exit_code, failure = start(calls)
    assert exit_code == 1
    assert failure is not None
    assert (failure[0], str(failure[1])) == ("execve", f"[Errno 13] Permission denied: {file}")


def test_start_that_is_made_again_knows_nothing_of_the_last_time(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    calls = Calls()
    signals.add_defaults(calls)
    calls.add("write", writer, b"here", 4)
    calls.add("chdir", os.fsencode(tmp_path / "none"))
    starter = borrowed.find_starter()
    assert starter is not None
    made = starter.prepare(calls)
    os.waitpid(made.make(0), 0)
    assert made.failure() is not None
    os.close(reader)
    _, status = os.waitpid(made.make(0), 0)
    os.close(writer)
    # A signal has ended it before the call that failed the last time.
    assert (os.WTERMSIG(status), made.failure()) == (signal.SIGPIPE, None)
