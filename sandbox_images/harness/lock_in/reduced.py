"""Runs on a kernel without mount namespaces, such as gVisor's of 2022.

On such a kernel, a run cannot have its own view of the files. Instead it has its own root: a folder
to which the image's files are bound, and into which a fresh work area and a fresh /proc are mounted
for each run. The run enters it by chroot. The rest is as on other kernels: pid, ipc, uts and user
namespaces, no capabilities, limits and the filter. In addition, each run has a net namespace and
its own kernel user.

To mount and to assign users, the supervisor and the zygotes have the capabilities in `POWER`. So a
slot may run like this only if its kernel is not the host's, because then these capabilities are
worth nothing outside of the slot. grader.sandbox.docker.backend makes sure of that.
"""

import errno
import os
import time

from sandbox_images.harness.kernel import namespaces, processes

POWER = ("CHOWN", "DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SYS_ADMIN", "SYS_CHROOT")
"""Capabilities that supervisor and zygotes hold, and no run has."""

POWER_CALLS = frozenset({"setgroups"})
"""System calls that they make besides those of every supervisor."""

LACKS = (
    "no mount namespace (a root and a user of its own per run instead)",
    "the number of files is checked only now and then",
    "CPU time and wall time include waiting for a CPU",
    "refused system calls are not reported",
)
"""What runs of such a slot lack. Reports and `grader doctor` show it."""

_BASE = "/box"
_SAFE = namespaces.MS_NOSUID | namespaces.MS_NODEV
_DEVICES = ("full", "null", "random", "urandom", "zero")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_FOLDERS = {"work": "/work", "tmp": "/tmp", "shm": "/dev/shm"}  # noqa: S108 - of each run
_CLEARING_S = 10.0
_UNMOUNTING_S = 0.5
"""How long the files of a run may be in use after its processes have ended."""
_ENTRY_BYTES = 20
"""What an entry adds to the size of its folder in a tmpfs."""
_ENTRIES_OF_EMPTY = 2
_LINKS_OF_A_LEAF = 2
_CAP_SYS_ADMIN = 21


def why_needed() -> str | None:
    """Try what a run of a full slot needs; return the kernel's message if it refuses."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            namespaces.enter_own_user((os.getuid(), os.getgid()))
            namespaces.unshare(namespaces.CLONE_NEWPID | namespaces.CLONE_NEWNS)
            namespaces.mount("none", _BASE, "tmpfs", _SAFE, "size=4096")
        except OSError as error:
            os.write(writer, (error.strerror or str(error)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with open(reader, "rb") as said:
        return said.read().decode() or None


def has_power() -> bool:
    """Tell whether this process has the capabilities to run submissions in this way."""
    with open("/proc/self/status") as file:
        effective = next(line.split()[1] for line in file if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_SYS_ADMIN & 1)


def prepare() -> None:
    """Make the place where zygotes put the roots of their runs; once per slot."""
    namespaces.mount("none", _BASE, "tmpfs", _SAFE, "size=1048576,mode=711")


def memory_bytes() -> int:
    """Return the memory in use now in a slot whose kernel is its own.

    Files in memory count. So does what the kernel uses itself, such as for pipes, if it says so.
    """
    return _kibibytes("/proc/meminfo", b"AnonPages:") + _kibibytes(
        "/proc/sentry-meminfo", b"HeapAlloc:"
    )


def _kibibytes(path: str, name: bytes) -> int:
    """Return the bytes that a file of the kernel gives for a name; 0 if it gives none."""
    try:
        with open(path, "rb", buffering=0) as file:
            found = file.read().partition(name)[2].split(maxsplit=1)
    except OSError:
        return 0
    return 1024 * int(found[0]) if found else 0


def is_crowded(allowed: int, staged: list[str]) -> bool:
    """Tell whether there are more files and folders in the work areas than a run may make.

    A folder's size tells how many entries it has, and its links how many of them are folders, so
    that only folders with folders in them are read.

    Args:
        allowed: How many it may make.
        staged: Paths of the files that it was given.
    """
    left = allowed + 2 * len(_FOLDERS) + sum(path.count("/") + 1 for path in staged)
    for name in os.listdir(_BASE):
        image = os.lstat(f"{_BASE}/{name}").st_dev
        waiting = [f"{_BASE}/{name}{_BASE}"]
        while waiting and left >= 0:
            try:
                found = os.lstat(folder := waiting.pop())
                if found.st_dev == image:
                    continue  # nothing is mounted there, not yet or not any more
                left -= found.st_size // _ENTRY_BYTES - _ENTRIES_OF_EMPTY
                if found.st_nlink > _LINKS_OF_A_LEAF:
                    with os.scandir(folder) as entries:
                        waiting += [e.path for e in entries if e.is_dir(follow_symlinks=False)]
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    return True
                # If it is not there, the run has removed it, or is over.
    return left < 0


class Room:
    """The root of a zygote's runs, one after another. The zygote and its forks use it."""

    def __init__(self) -> None:
        """Mount what is the same for all runs."""
        pid = os.getpid()
        self._root = f"{_BASE}/{pid}"
        # No two runs of a slot have the same user, and the harness has another one.
        self._uid = pid << 16 | 1
        os.mkdir(self._root, 0o711)
        namespaces.mount("/", self._root, None, namespaces.MS_BIND)
        dev = f"{self._root}/dev"
        namespaces.mount("none", dev, "tmpfs", namespaces.MS_NOSUID, "size=65536,mode=755")
        os.mkdir(f"{dev}/shm")
        for name in _DEVICES:
            os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
            namespaces.mount(f"/dev/{name}", f"{dev}/{name}", None, namespaces.MS_BIND)
        for name, target in _DEVICE_LINKS.items():
            os.symlink(target, f"{dev}/{name}")

    def enter(self, work_bytes: int, inside: tuple[int, int]) -> None:
        """Lock a fresh fork into the room, with an empty work area.

        Args:
            work_bytes: The size of the work area.
            inside: User and group as the run sees them.
        """
        mask = os.umask(0)
        area = f"{self._root}{_BASE}"
        namespaces.mount("work", area, "tmpfs", _SAFE, f"size={work_bytes},mode=755")
        for name, target in _FOLDERS.items():
            os.mkdir(f"{area}/{name}", 0o755)
            os.chown(f"{area}/{name}", self._uid, self._uid)
            namespaces.mount(f"{area}/{name}", self._root + target, None, namespaces.MS_BIND)
        flags = _SAFE | namespaces.MS_NOEXEC | namespaces.MS_RDONLY
        namespaces.mount("proc", f"{self._root}/proc", "proc", flags)
        os.umask(mask)
        os.setgroups([])
        os.setresgid(self._uid, self._uid, self._uid)
        os.setresuid(self._uid, self._uid, self._uid)
        # After a change of user, /proc/self belongs to root: what follows could not write to it.
        namespaces.prctl(namespaces.PR_SET_DUMPABLE, 1)
        namespaces.enter_own_user(inside)
        os.chroot(self._root)

    def clear(self) -> bool:
        """End the last run's processes and unmount its files.

        Returns:
            Whether all is gone. If not, the kernel keeps some of the files as long as the slot
            lasts, because of descriptors on their way between sockets, but no later run can reach
            them.

        Raises:
            OSError: Processes of the run are left; the slot cannot be used again.
        """
        deadline = time.monotonic() + _CLEARING_S
        while left := self._left():
            if time.monotonic() > deadline:
                raise OSError(f"processes of a run do not end: {left}")
            for pid in left:
                processes.kill(pid)
            time.sleep(0.001)
        deadline = time.monotonic() + _UNMOUNTING_S
        targets = [self._root + target for target in ("/proc", *_FOLDERS.values(), _BASE)]
        self._uid += 1
        in_use = [target for target in targets if not _unmount(target, deadline)]
        return not in_use

    def _left(self) -> list[int]:
        """Return the processes that belong to the last run."""
        found = []
        for pid in processes.all_pids():
            try:
                if os.stat(f"/proc/{pid}").st_uid == self._uid:
                    found.append(pid)
            except OSError:
                pass  # it ended while we looked
        return found


def _unmount(target: str, deadline: float) -> bool:
    """Unmount, if it is mounted; return False if something uses it even after the deadline."""
    while os.path.ismount(target):
        try:
            namespaces.unmount(target, 0)
        except OSError:
            if time.monotonic() > deadline:
                namespaces.unmount(target, namespaces.MNT_DETACH)
                return False
            time.sleep(0.001)
    return True
