"""Tell from /proc whether a process waits for something that only another process can bring.

This is asked about programs that talk to each other: if all of them wait like this, and nothing is
on its way between them, they will wait forever.
"""

import os
from collections.abc import Callable, Sequence

from sandbox_images.harness.kernel.syscalls import NUMBERS

_SIGALRM_BIT = 1 << 13
_INFINITE_MS = 0xFFFFFFFF
"""A timeout of -1, in the lower half of a register."""


def _always(_arguments: Sequence[int]) -> bool:
    return True


def _no_timeout_at(position: int) -> Callable[[Sequence[int]], bool]:
    """Return a check that the argument at `position`, a pointer to a timeout, is null."""
    return lambda arguments: arguments[position] == 0


def _endless_at(position: int) -> Callable[[Sequence[int]], bool]:
    """Return a check that the argument at `position`, a timeout in ms, is negative."""
    return lambda arguments: arguments[position] & _INFINITE_MS == _INFINITE_MS


_WAITING: dict[str, Callable[[Sequence[int]], bool]] = {
    "epoll_pwait": _endless_at(3),
    "epoll_wait": _endless_at(3),
    "futex": _no_timeout_at(3),
    "pause": _always,
    "poll": _endless_at(2),
    "ppoll": _no_timeout_at(2),
    "pselect6": _no_timeout_at(4),
    "read": _always,
    "readv": _always,
    "rt_sigsuspend": _always,
    "select": _no_timeout_at(4),
    "wait4": _always,
    "waitid": _always,
}
"""Calls that can block a task, each with a check that its arguments set no timeout."""


def wait_for_others(pids: Sequence[int]) -> bool:
    """Tell whether every task of these processes waits for another process.

    False if that is unclear: a task runs, sleeps, or waits with a timeout; a process handles
    SIGALRM; or the kernel does not say.
    """
    return bool(pids) and all(_waits(pid) for pid in pids)


def any_reads_input(pids: Sequence[int]) -> bool:
    """Tell whether a task of these processes is in a `read` of descriptor 0.

    Some runtimes have threads that wait with a timeout, such as the JVM and Go. Their programs
    never only wait for others, but they read their standard input like all others.
    """
    return any(_reads_input(pid) for pid in pids)


def _reads_input(pid: int) -> bool:
    try:
        calls = [_call_of(f"/proc/{pid}/task/{task}") for task in _tasks(pid)]
    except (OSError, ValueError):
        return False
    read = NUMBERS[os.uname().machine]["read"]
    return any(call is not None and call[:2] == [read, 0] for call in calls)


def _waits(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            status = file.read()
        if int(status.partition(b"SigCgt:")[2].split(maxsplit=1)[0], 16) & _SIGALRM_BIT:
            return False
        return all(_task_waits(f"/proc/{pid}/task/{task}") for task in _tasks(pid))
    except (OSError, ValueError, IndexError):
        return False


def _tasks(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/task")


def _task_waits(folder: str) -> bool:
    number, *arguments = _call_of(folder) or (-1,)
    may_wait = _waiting_by_number().get(number)
    return may_wait is not None and may_wait(arguments)


def _call_of(folder: str) -> list[int] | None:
    """Return the number and the arguments of the system call that a task is in.

    None if it is in none, because it runs or is blocked outside of a call.
    """
    with open(f"{folder}/syscall", "rb", buffering=0) as file:
        number, *arguments = file.read().split()
    if len(arguments) < 6:
        return None
    return [int(number), *(int(argument, 16) for argument in arguments[:6])]


def _waiting_by_number() -> dict[int, Callable[[Sequence[int]], bool]]:
    numbers = NUMBERS[os.uname().machine]
    return {numbers[name]: wait for name, wait in _WAITING.items() if name in numbers}
