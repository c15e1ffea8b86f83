"""The installed filter, tried by processes that are under it."""

import subprocess
import sys
import textwrap

import pytest

PROLOGUE = """
import ctypes, errno, os, socket, sys
from sandbox_images.harness.lock_in.seccomp import build_candidate_filter, install
from sandbox_images.harness.kernel.syscalls import NUMBERS
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in args))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result
program = build_candidate_filter()
install(program)
"""


def run_filtered(body: str, *, timeout_s: float = 15) -> subprocess.CompletedProcess[str]:
    program = PROLOGUE + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("libc.unshare(0x10000000), ctypes.get_errno()", "-1 1", id="unshare"),
        pytest.param("libc.mount(b'a', b'/', b'tmpfs', 0, 0)", "-1", id="mount"),
        pytest.param("libc.ptrace(0, 0, 0, 0), ctypes.get_errno()", "-1 1", id="ptrace"),
        pytest.param("libc.personality(0xffffffff)", "-1", id="personality"),
        pytest.param("call(NUMBERS[os.uname().machine]['clone3'], 0, 0)", "ENOSYS", id="clone3"),
        pytest.param("call(5000)", "ENOSYS", id="a call of the future"),
        pytest.param("call(425, 1, 0)", "EPERM", id="io_uring"),
        pytest.param("libc.prctl(4, 1, 0, 0, 0)", "-1", id="dumpable"),
        pytest.param("libc.prctl(39, 0, 0, 0, 0)", "1", id="no new privileges"),
    ],
)
def test_call_under_the_filter_returns(expression: str, expected: str) -> None:
    done = run_filtered(f"print({expression})")
    assert done.stdout.strip() == expected, done.stderr


def test_internet_socket_is_no_known_address_family() -> None:
    done = run_filtered("socket.socket()")
    assert "Address family not supported" in done.stderr


def test_filter_holds_in_children_and_after_exec() -> None:
    done = run_filtered(
        """
        import subprocess
        code = "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"
        print(subprocess.check_output([sys.executable, "-c", code], text=True))
        """
    )
    assert done.stdout.strip() == "-1", done.stderr


def test_second_filter_cannot_be_installed_to_answer_differently() -> None:
    done = run_filtered("install(program)")
    assert "PermissionError: [Errno 1] seccomp" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_i386_call_kills_the_process() -> None:
    done = run_filtered(
        """
        import mmap, platform
        if platform.machine() != "x86_64":
            os.kill(os.getpid(), 31)
        # mov eax, 20 (getpid); int 0x80; ret
        code = bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3])
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        print("alive")
        """
    )
    assert (done.returncode, done.stdout) == (-31, "")


def test_everyday_python_works_under_the_filter() -> None:
    done = run_filtered(
        """
        import asyncio, concurrent.futures, multiprocessing, sqlite3, subprocess, tempfile
        import signal, threading, time

        async def program():
            process = await asyncio.create_subprocess_exec("echo", "hello", stdout=-1)
            await asyncio.to_thread(time.sleep, 0.01)
            return (await process.communicate())[0].strip()

        def square(x):
            return x * x

        print(asyncio.run(program()))
        print(subprocess.check_output("echo piped | cat", shell=True))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            print(list(pool.map(square, range(3))))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(square, range(3)))
        with tempfile.TemporaryDirectory() as folder:
            base = sqlite3.connect(folder + "/base")
            print(base.execute("select 1").fetchall())
            base.close()
        a, b = socket.socketpair()
        signal.setitimer(signal.ITIMER_REAL, 5)
        print(os.isatty(0), signal.alarm(0) >= 0)
        """
    )
    assert done.stdout.split("\n")[:-1] == [
        "b'hello'",
        "b'piped\\n'",
        "[0, 1, 4]",
        "[0, 1, 4]",
        "[(1,)]",
        "False True",
    ], done.stderr


def test_numpy_threads_work_under_the_filter() -> None:
    pytest.importorskip("numpy")
    done = run_filtered(
        """
        import numpy
        a = numpy.ones((400, 400))
        print((a @ a).sum(), numpy.linalg.inv(numpy.eye(50)).sum())
        """
    )
    assert done.stdout.strip() == "64000000.0 50.0", done.stderr
