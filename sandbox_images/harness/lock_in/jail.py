"""Build the native jail, a slot without Docker, and become its supervisor.

The grader runs this program once per slot, as `__main__.py jail PLAN`;
grader.sandbox.native.jail_plan makes the plan. All of it happens after exec, so the grader may
have threads. There are two processes:

- the warden is the process that the grader started. It stays outside and only waits. If the grader
  sends SIGTERM or is gone, it kills the jail. It ends only after everything in the jail has ended;
- process 1 of the jail builds the root file system, gives up the capabilities that it needed for
  that, and executes the supervisor on the same standard streams.

If root starts the jail, both processes then become a kernel user that only this slot has. Any other
user gets the capabilities from a user namespace.
"""

import ctypes
import json
import os
import re
import resource
import select
import signal
import stat
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from sandbox_images.harness.kernel import namespaces
from sandbox_images.harness.kernel.syscalls import NUMBERS
from sandbox_images.harness.lock_in import seccomp
from sandbox_images.harness.lock_in.confinement import CORE_BYTES

_FLAGS = (
    namespaces.CLONE_NEWNS
    | namespaces.CLONE_NEWNET
    | namespaces.CLONE_NEWIPC
    | namespaces.CLONE_NEWUTS
    | namespaces.CLONE_NEWCGROUP
)
_INSIDE_UID = 20000
NOT_BUILT = 70
"""The exit status of a warden whose jail could not be built. Its standard error says why."""
_FAILED = 1
_GOODBYE_S = 2.0
"""How long a supervisor may take to end by itself once the grader is gone."""

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_ATTRIBUTE_READ_ONLY = 1
_ATTRIBUTE_NO_SETUID = 2
_ATTRIBUTE_NO_DEVICES = 4
_SAFE = namespaces.MS_NOSUID | namespaces.MS_NODEV


@dataclass(frozen=True, slots=True, kw_only=True)
class JailPlan:
    """What the jail is made of. All paths are absolute; inside paths start at the jail's root."""

    command: list[str]
    environment: dict[str, str]
    stage: str
    """A folder of the host. The new root is mounted over it, and hides its content."""
    folders: list[str]
    """Empty folders, inside."""
    files: dict[str, str]
    """Small files: inside path, content."""
    links: dict[str, str]
    """Symbolic links: inside path, target."""
    binds: dict[str, str]
    """Files and folders of the host to show read-only: inside path, host path."""
    devices: list[str]
    """Device nodes, the same path inside as outside."""
    cgroups: list[str]
    """Folders of cgroups to join."""
    uid: int | None = None
    """User and group id for the slot; None to keep the grader's, in a user namespace."""


def main(args: list[str]) -> NoReturn:
    """Build the jail that the only argument, a plan, describes, and be its warden."""
    plan = JailPlan(**json.loads(args[0]))
    # Blocked until the warden knows which process to kill.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        _enter_namespaces(plan)
        child = namespaces.clone(namespaces.CLONE_NEWPID)
        if child == 0:
            _become_supervisor(plan)
        _drop_power(plan)
    except (OSError, NotImplementedError) as error:
        _fail(error)
    os._exit(_watch(child))


def _fail(error: Exception) -> NoReturn:
    os.write(2, f"jail: {error}\n".encode(errors="backslashreplace"))
    os._exit(NOT_BUILT)


def _enter_namespaces(plan: JailPlan) -> None:
    for folder in plan.cgroups:
        with open(f"{folder}/cgroup.procs", "w") as file:
            file.write("0")
    if plan.uid is not None:
        namespaces.unshare(_FLAGS)
        return
    outside = (os.getuid(), os.getgid())
    namespaces.unshare(namespaces.CLONE_NEWUSER)
    namespaces.map_own_user((_INSIDE_UID, _INSIDE_UID), outside)
    namespaces.unshare(_FLAGS)


def _become_supervisor(plan: JailPlan) -> NoReturn:
    try:
        os.umask(0o022)
        _build_root(plan)
        _enter_root(plan.stage)
        namespaces.set_hostname("sandbox")
        _drop_power(plan)
        # A change of user resets this, so it comes late. Until here the warden watches stdin.
        namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        seccomp.install(seccomp.build_supervisor_filter())
        os.execve(plan.command[0], plan.command, plan.environment)
    except (OSError, NotImplementedError) as error:
        _fail(error)


# ---------------------------------------------------------------- the root file system


def _build_root(plan: JailPlan) -> None:
    """Put the new root together on `plan.stage`, in this mount namespace only."""
    stage = plan.stage
    mounted = _mounted()
    namespaces.mount("none", "/", None, namespaces.MS_REC | namespaces.MS_PRIVATE)
    namespaces.mount("root", stage, "tmpfs", _SAFE, "size=4m,nr_inodes=1k,mode=755")
    dev = f"{stage}/dev"
    os.mkdir(dev)
    dev_flags = namespaces.MS_NOSUID | namespaces.MS_NOEXEC
    namespaces.mount("dev", dev, "tmpfs", dev_flags, "size=64k,nr_inodes=64,mode=755")
    for folder in plan.folders:
        os.makedirs(stage + folder, exist_ok=True)
    for inside, content in plan.files.items():
        _make_file(stage + inside, content.encode())
    for inside, target in plan.links.items():
        os.makedirs(os.path.dirname(stage + inside), exist_ok=True)
        os.symlink(target, stage + inside)
    proc = f"{stage}/proc"
    os.makedirs(proc, exist_ok=True)
    namespaces.mount("none", proc, "tmpfs", _SAFE, "size=0,nr_inodes=1")
    for inside, outside in plan.binds.items():
        if outside in plan.cgroups:
            _bind(outside, stage + inside, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NO_DEVICES)
        elif os.path.isdir(outside):
            _show(outside, stage + inside, mounted=mounted, nothing=proc)
        else:
            with open(outside, "rb") as file:
                _make_file(stage + inside, file.read())
    for device in plan.devices:
        _make_device(device, stage + device)
    read_only = namespaces.MS_REMOUNT | namespaces.MS_BIND | namespaces.MS_RDONLY
    namespaces.mount("none", dev, None, read_only | dev_flags)
    namespaces.unmount(proc)
    # Nothing may cover a part of it: the kernel lets a submission's user namespace mount a /proc
    # only if its parent's is whole.
    namespaces.mount("proc", proc, "proc", _SAFE | namespaces.MS_NOEXEC)


def _make_file(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def _make_device(outside: str, target: str) -> None:
    """Make a device node like one of the host; if that is not allowed, bind the host's."""
    try:
        os.mknod(target, stat.S_IFCHR, os.stat(outside).st_rdev)
    except PermissionError:
        _bind(outside, target, 0)
    else:
        os.chmod(target, 0o666)  # noqa: S103 - as on any system, all may use it


def _show(outside: str, target: str, *, mounted: list[str], nothing: str) -> None:
    """Show a folder read-only, such that locks on its files have no effect outside of this jail.

    For that, it becomes the lower layer of an overlay, whose files are for the kernel other files
    than those of the host. If the kernel refuses that, the folder is bound.

    Args:
        outside: The folder.
        target: Where to show it, with all that is mounted below it.
        mounted: What `_mounted` returned.
        nothing: An empty folder. An overlay that cannot be written needs two layers.
    """
    os.makedirs(target, exist_ok=True)
    flags = _SAFE | namespaces.MS_RDONLY
    layers = ":".join(re.sub(r"([\\:,])", r"\\\1", each) for each in (outside, nothing))
    try:
        namespaces.mount("files", target, "overlay", flags, f"lowerdir={layers}")
    except OSError:
        _bind(outside, target, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NO_DEVICES)
        return
    for place in _topmost_below(outside, mounted):
        inside = target + place.removeprefix(outside)
        # If the overlay lacks a place, a later mount above it covers the place, which then stays
        # hidden.
        if os.path.exists(inside):
            _bind(place, inside, _ATTRIBUTE_READ_ONLY | _ATTRIBUTE_NO_DEVICES)


def _mounted() -> list[str]:
    """Return all places where something is mounted, in order."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        escaped = {line.split()[4] for line in file}
    return sorted(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), p) for p in escaped)


def _topmost_below(folder: str, places: list[str]) -> list[str]:
    """Return those of `places` below a folder that are not below another one of them."""
    found: list[str] = []
    for place in places:
        if place.startswith(f"{folder}/") and not any(place.startswith(f"{f}/") for f in found):
            found.append(place)
    return found


def _bind(outside: str, target: str, attributes: int) -> None:
    """Show `outside`, with all that is mounted below it, at `target`."""
    if os.path.isdir(outside):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        _make_file(target, b"")
    namespaces.mount(outside, target, None, namespaces.MS_BIND | namespaces.MS_REC)
    _restrict(target, attributes | _ATTRIBUTE_NO_SETUID)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("to_set", ctypes.c_uint64),
        ("to_clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def _restrict(target: str, attributes: int) -> None:
    """Set attributes on a mount and every mount below it (mount_setattr(2), Linux 5.12)."""
    record = _MountAttributes(to_set=attributes)
    result = namespaces.libc.syscall(
        ctypes.c_long(NUMBERS[os.uname().machine]["mount_setattr"]),
        ctypes.c_int(_AT_FDCWD),
        target.encode(),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(record),
        ctypes.c_size_t(ctypes.sizeof(record)),
    )
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount_setattr {target}: {os.strerror(code)}")


def _enter_root(stage: str) -> None:
    """Make `stage` the read-only root, and unmount the host's."""
    os.chdir(stage)
    namespaces.pivot_root(".", ".")
    # The old root now lies over the new one, at the same place.
    namespaces.unmount(".")
    os.chdir("/")
    read_only = (
        namespaces.MS_REMOUNT
        | namespaces.MS_BIND
        | namespaces.MS_RDONLY
        | namespaces.MS_NOSUID
        | namespaces.MS_NODEV
    )
    namespaces.mount("none", "/", None, read_only)


# ---------------------------------------------------------------- giving up power


def _drop_power(plan: JailPlan) -> None:
    """Become the slot's user, for good, with no capability and no core dumps."""
    if plan.uid is not None:
        _drop_bounding_set()
        os.setgroups([])
        os.setresgid(plan.uid, plan.uid, plan.uid)
        os.setresuid(plan.uid, plan.uid, plan.uid)
    namespaces.drop_capabilities()
    namespaces.prctl(namespaces.PR_SET_NO_NEW_PRIVS, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (CORE_BYTES, CORE_BYTES))


def _drop_bounding_set() -> None:
    """Make it impossible for this process to gain a capability. Only root can do this."""
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    for capability in range(last + 1):
        namespaces.prctl(namespaces.PR_CAPBSET_DROP, capability)


# ---------------------------------------------------------------- the warden


def _watch(child: int) -> int:
    """Wait for the jail's end, and end it if the grader is gone; return its exit status."""
    # The kernel does not reuse the pid of a child that was not waited for.
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    poll = select.poll()
    ended = os.pidfd_open(child)
    poll.register(ended, select.POLLIN)
    # Even with no event asked for, poll reports that the last writer has hung up.
    poll.register(sys.stdin.fileno(), 0)
    deadline_ms: float | None = None
    while True:
        ready: list[tuple[int, Any]] = poll.poll(deadline_ms)
        if any(descriptor == ended for descriptor, _ in ready):
            break
        if deadline_ms is None:
            poll.unregister(sys.stdin.fileno())
            deadline_ms = _GOODBYE_S * 1000
        else:
            os.kill(child, signal.SIGKILL)
    # Process 1 can be waited for only once the kernel has killed and reaped the rest.
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and deadline_ms is None:
        os.write(2, f"jail: process 1 was killed by signal {os.WTERMSIG(status)}\n".encode())
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else _FAILED
