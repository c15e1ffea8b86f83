"""The kernel calls that Python's library does not have, through ctypes.

Each raises OSError with the call's name. `libc` keeps the interpreter lock: every call here is
quick, and `clone` must not let another thread run between the fork and its bookkeeping.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes an enum of every handler
import ctypes
import errno
import os
import signal

from sandbox_images.harness.kernel.calls import Calls

_CLONE_VM = 0x00000100
_CLONE_FILES = 0x00000400
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPABILITY_VERSION_3 = 0x20080522
_SIGCHLD = int(signal.SIGCHLD)

libc = ctypes.PyDLL(None, use_errno=True)
# With declared types, ctypes makes no object that wraps each argument.
libc.mount.argtypes = [*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p]
libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_sys_clone = _SYS_CLONE[os.uname().machine]
_clone = libc["syscall"]
_clone.argtypes = [ctypes.c_long, ctypes.c_ulong, *[ctypes.c_void_p] * 4]


def _check(result: int, what: str) -> int:
    if result < 0:
        raise _error(what)
    return result


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _syscall(numbers: dict[str, int], what: str, *args: object) -> int:
    return _check(libc.syscall(ctypes.c_long(numbers[os.uname().machine]), *args), what)


def unshare(flags: int) -> None:
    """Move this process (for a pid namespace: its next children) into new namespaces."""
    _check(libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace behind a descriptor (for a pid namespace: with the next children)."""
    _check(libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    """Call mount(2)."""
    kind_bytes = kind.encode() if kind else None
    options_bytes = options.encode() if options else None
    if libc.mount(source.encode(), target.encode(), kind_bytes, flags, options_bytes) < 0:
        raise _error(f"mount {kind or 'bind'} on {target}")


def unmount(target: str, flags: int = MNT_DETACH) -> None:
    """Call umount2(2)."""
    _check(libc.umount2(target.encode(), ctypes.c_int(flags)), f"umount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    """Call pivot_root(2)."""
    _syscall(_SYS_PIVOT_ROOT, "pivot_root", new_root.encode(), put_old.encode())


def set_hostname(name: str) -> None:
    """Set the host name of this UTS namespace."""
    data = name.encode()
    _check(libc.sethostname(data, ctypes.c_size_t(len(data))), "sethostname")


def prctl(option: int, *args: int) -> int:
    """Call prctl(2) with up to four more arguments, the rest being zero."""
    return _check(libc.prctl(option, *(*args, 0, 0, 0, 0)[:4]), f"prctl {option}")


def map_own_user(inside: tuple[int, int], outside: tuple[int, int]) -> None:
    """In a new user namespace, give this process's own user and group other numbers.

    Args:
        inside: User and group as seen in the namespace.
        outside: User and group outside, read before the process entered the namespace.
    """
    for name, text in own_user_files(inside, outside):
        try:
            file = os.open(f"/proc/self/{name}", os.O_WRONLY)
        except FileNotFoundError:
            if name == "setgroups":  # not needed on some kernels, such as gVisor's
                continue
            raise
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def own_user_files(inside: tuple[int, int], outside: tuple[int, int]) -> list[tuple[str, str]]:
    """Return the files of /proc/self that `map_own_user` writes, with what it writes."""
    return [
        ("setgroups", "deny"),
        ("uid_map", f"{inside[0]} {outside[0]} 1"),
        ("gid_map", f"{inside[1]} {outside[1]} 1"),
    ]


def enter_own_user(inside: tuple[int, int]) -> None:
    """Move to a new user namespace, with all capabilities in it and none outside.

    The arguments are those of `map_own_user`.
    """
    outside = (os.getuid(), os.getgid())
    unshare(CLONE_NEWUSER)
    map_own_user(inside, outside)


def clone(flags: int) -> int:
    """Fork into new namespaces in one step; like `os.fork`, 0 in the child.

    Only for a process with one thread, because this skips Python's own work after a fork. That is
    for threads and locks, and takes half as long as the fork. It also seeds `random`, which the
    caller has to do.
    """
    return _check(_clone(_sys_clone, flags | _SIGCHLD, None, None, None, None), "clone")


class PidNamespaces:
    """Makes pid namespaces for this process's children, one after another.

    Process 1 of each shares the memory of this process, and only calls pause(2). To start it takes
    0.05 ms; a fork takes 1 ms. It has no signal handlers, so nothing inside its namespace can stop
    or kill it, and it reaps orphans there. The caller must have no signal handlers (`SetAside`):
    process 1 would inherit them, and run them in the caller's memory.
    """

    _STACK_BYTES = 64 * 1024

    def __init__(self) -> None:
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._stack = ctypes.create_string_buffer(self._STACK_BYTES)
        top = (ctypes.addressof(self._stack) + self._STACK_BYTES) & ~15
        # With a descriptor table of its own, process 1 would keep open what a run closes.
        flags = ctypes.c_int(_CLONE_VM | _CLONE_FILES | _SIGCHLD)
        self._of_process_1 = (
            ctypes.cast(libc.pause, ctypes.c_void_p),
            ctypes.c_void_p(top),
            flags,
            None,
        )

    def enter_new(self) -> int:
        """Make a namespace for the next children, and return the pid of its process 1."""
        try:
            setns(self._own, CLONE_NEWPID)
        except OSError as error:
            # gVisor cannot go back, but makes the next namespace beside the last one, not in it.
            if error.errno != errno.EOPNOTSUPP:
                raise
        unshare(CLONE_NEWPID)
        # If process 1 starts with SIGCHLD ignored, the kernel reaps its children by itself.
        _signal.signal(_SIGCHLD, _signal.SIG_IGN)
        pid = libc.clone(*self._of_process_1)
        _signal.signal(_SIGCHLD, _signal.SIG_DFL)
        return _check(pid, "clone")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityData(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def drop_capabilities() -> None:
    """Give up every capability of this process.

    The bounding set may stay: it is of use only to a process that can gain privileges by executing
    a file, and our filters prevent that.
    """
    calls = Calls()
    add_drop_capabilities(calls)
    calls.make()


def add_drop_capabilities(calls: Calls) -> None:
    """Add the calls that `drop_capabilities` makes."""
    header = calls.keep(_CapabilityHeader(_CAPABILITY_VERSION_3, 0))
    calls.add("capset", header, calls.keep((_CapabilityData * 2)()))
