"""A copy of the submission's process for each test: the candidate's end of `branches`.

The candidate forks itself once the submission is loaded. The child serves a test and leaves; the
parent waits meanwhile, and goes on with the state that it had. Numbers that the judge was given
before the fork stay good in every child, since the tables are copied with all else.
"""

import os
import re
import resource
import signal
import stat
from collections.abc import Iterable
from typing import NoReturn

from sandbox_images.harness import namespaces, processes
from sandbox_images.harness.split.statuses import BRANCH_OVER

_MOST_MEMORY_BYTES = 96 * 1024 * 1024
"""Anonymous memory; to copy the tables of more costs too much, and it would be counted twice where
only the sum over the processes of a run is known."""
_WRITABLE = ("/work", "/tmp", "/dev/shm")  # noqa: S108 - the whole work area
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_SHARED = re.compile(rb"^\S+ .w.s ", re.MULTILINE)
"""A line of /proc/self/maps about memory that a fork does not copy."""
_scandir = os.scandir  # a submission may patch what it finds in `os`
_MOST_MEMORY_SHARE = 4
"""Of the limit, for the second reason."""


def can_fork(own_descriptors: Iterable[int]) -> bool:
    """Tell whether a fork of this process would be a copy of all that the submission has.

    Not of threads, timers, nor child processes; memory may be one for both, and an open file has
    one position for both. Where ended children are not kept for their parent, it could not learn
    how a test ended.

    Args:
        own_descriptors: Those that the process began with.
    """
    try:
        memory = processes.memory_bytes("self")
        return (
            len(os.listdir("/proc/self/task")) == 1
            and not _has_children()
            and signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
            and not any(signal.getitimer(timer)[0] for timer in _TIMERS)
            and not any(map(_is_open, _descriptors() - set(own_descriptors)))
            and not _has_shared_memory()
            and memory < _MOST_MEMORY_BYTES
            and memory * _MOST_MEMORY_SHARE < resource.getrlimit(resource.RLIMIT_DATA)[0]
        )
    except OSError:
        return False


def fork() -> int | None:
    """Fork; return 0 in the copy, its pid in the process, None where there can be no copy.

    None of what Python does after a fork is wanted: it would seed `random` anew, which the
    submission may have seeded.
    """
    try:
        return namespaces.clone(0)
    except OSError:
        return None


def wait_for(pid: int) -> None:
    """Wait until a copy has left; where it ended otherwise, end alike."""
    _, status = os.waitpid(pid, 0)
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) != BRANCH_OVER:
        _end_alike(status)


def files() -> frozenset[tuple[object, ...]]:
    """Return what tells whether the work area is as it was.

    A copy's files are there after it, while all that it knew of them is not.
    """
    found: list[tuple[object, ...]] = []
    waiting = [*_WRITABLE]
    while waiting:
        try:
            with _scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    # A folder's time also tells of what was there for a while.
                    changed = None if is_folder else (status.st_size, status.st_mtime_ns)
                    found.append((entry.path, status.st_ino, status.st_mode, changed))
                    if is_folder:
                        waiting.append(entry.path)
        except OSError:  # out of reach, or gone meanwhile
            continue
    return frozenset(found)


def leave() -> NoReturn:
    """End a copy in order."""
    os._exit(BRANCH_OVER)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _has_shared_memory() -> bool:
    with open("/proc/self/maps", "rb", buffering=0) as file:
        return _SHARED.search(file.readall()) is not None


def _descriptors() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/fd")}


def _is_open(descriptor: int) -> bool:
    """Tell whether a descriptor is open still, which that of the listing is not."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _end_alike(status: int) -> NoReturn:
    """End as the copy did, which was the submission as far as anybody else knows."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
