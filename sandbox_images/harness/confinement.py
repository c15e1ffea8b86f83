"""What a fresh fork of a zygote does to itself before hostile code may have it.

All of it in as few steps as can be: what a fork touches, the kernel copies, so that even a
convenience such as `open` costs more here than the call behind it.

It comes into pid, mount, ipc and uts namespaces that were made for it. Here it gets an empty,
bounded work area and a /proc of its own processes, moves to a user namespace of its own, and
gives up every capability and most system calls.
"""

import gc
import os
import resource
import signal
import socket
from typing import Any, NamedTuple

from sandbox_images.harness import namespaces, orders, reduced, seccomp
from sandbox_images.harness.orders import Bundle, RunOrder

WORK = "/work"
_BASE = "/box"
INSIDE_UID = 20000
_STACK_BYTES = 64 * 1024 * 1024
_OPEN_FILES = 256
_PAGE = 4096
CORE_BYTES = 1
"""Too little for a core file; and the one limit at which the kernel, where it hands cores to a
program of the host's, does not start that either. At 0 it does."""
_SAFE = namespaces.MS_NOSUID | namespaces.MS_NODEV
_COVERED = ("/sys", "/dev/mqueue")
"""Mounts of the slot that a run must not see or write; an empty folder is put over each."""

ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "LOGNAME": "submission",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TMPDIR": "/tmp",  # noqa: S108 - each run mounts its own
    "TZ": "UTC",
    "USER": "submission",
}


class Run(NamedTuple):
    """What a run's own process works with, once it is locked in."""

    program: str
    bundle: Bundle
    payload: int
    """Descriptor of this run's bytes."""
    report: int
    """Descriptor that only the runner writes to."""
    channel: int | None
    """Descriptor to the other process, where tests and submission have one each."""

    @property
    def connection(self) -> int:
        """The channel of a run that has one.

        Raises:
            ValueError: It has none: the supervisor ordered another program.
        """
        if self.channel is None:
            raise ValueError(f"a {self.program} run has no channel")
        return self.channel


def lock_in(
    order: RunOrder,
    control: socket.socket,
    seccomp_filter: bytes,
    room: reduced.Room | None,
    *,
    telling: bool,
) -> Run:
    """Turn this process into one that hostile code may have.

    Args:
        order: What to run, within which limits.
        control: To the supervisor, which is told when all went well; closed afterwards, like
            every other descriptor of the harness.
        seccomp_filter: From `seccomp.build_candidate_filter`.
        room: Where there are no mount namespaces.
        telling: Whether the filter is one that tells.

    Raises:
        OSError: A layer of the isolation is not to be had; nothing of the run was executed.
    """
    os.setsid()
    # The run's own /proc is going to be read-only, and this one out of reach by its name.
    proc_self = os.open("/proc/self", os.O_RDONLY)
    namespaces.write_file("oom_score_adj", b"1000", proc_self)
    bundle = orders.read_bundle(order.bundle)
    contents = _contents(bundle)
    # What is put there for a run comes on top of what it may write itself: a submission that
    # is longer than its work area is large is no fault of ours.
    size = order.limits["work_bytes"] + sum(-(-len(c) // _PAGE) * _PAGE for c in contents.values())
    files = order.limits["work_files"] + sum(path.count("/") + 1 for path in contents)
    if room is None:
        _mount_work_area(size, files)
    else:
        room.enter(size, (INSIDE_UID, INSIDE_UID))
    _stage(bundle, contents)
    os.chdir(WORK)
    stdin = order.payload if order.program == "stdin" else os.open("/dev/null", os.O_RDONLY)
    for number, descriptor in enumerate((stdin, order.stdout, order.stderr)):
        os.dup2(descriptor, number)
    keep = {0, 1, 2, order.payload, order.report, control.fileno()}
    if order.channel is not None:
        keep.add(order.channel)
    if room is None:
        namespaces.enter_own_user((INSIDE_UID, INSIDE_UID), proc_self)
    _close_all_but(keep)
    # Only now: the number of processes is counted in the new user namespace.
    # gVisor lets a user have one process more.
    _set_rlimits(order.limits, order.limits["processes"] - (room is not None))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    namespaces.drop_capabilities()
    if telling:
        listener = seccomp.install_telling(seccomp_filter)
        orders.send(control, {"event": "started"}, (listener,))
        os.close(listener)
    else:
        seccomp.install(seccomp_filter)
        orders.send(control, {"event": "started"})
    control.close()
    gc.enable()
    return Run(
        program=order.program,
        bundle=bundle,
        payload=order.payload,
        report=order.report,
        channel=order.channel,
    )


def cover_mounts() -> None:
    """Hide what no run may see in this mount namespace, of which every run gets a copy."""
    for target in _COVERED:
        if os.path.isdir(target):
            flags = _SAFE | namespaces.MS_RDONLY
            namespaces.mount("none", target, "tmpfs", flags, "size=0,nr_inodes=1")


def _mount_work_area(work_bytes: int, work_files: int) -> None:
    """Mount one bounded tmpfs as the only writable places, and a /proc of this pid namespace."""
    namespaces.mount(
        "work", _BASE, "tmpfs", _SAFE, f"size={work_bytes},nr_inodes={work_files + 4},mode=755"
    )
    for name, target in (("work", WORK), ("tmp", "/tmp"), ("shm", "/dev/shm")):  # noqa: S108
        os.mkdir(f"{_BASE}/{name}", 0o777)
        namespaces.mount(f"{_BASE}/{name}", target, None, namespaces.MS_BIND)
    # Read-only, or a process could take back, in oom_score_adj, that it is the first to be killed.
    flags = _SAFE | namespaces.MS_NOEXEC | namespaces.MS_RDONLY
    namespaces.mount("proc", "/proc", "proc", flags, "subset=pid")


def _contents(bundle: Bundle) -> dict[str, bytes]:
    contents = dict(bundle.files)
    if bundle.source is not None:
        contents[bundle.source_path] = bundle.source.encode("utf-8", "surrogatepass")
    return contents


def _stage(bundle: Bundle, contents: dict[str, bytes]) -> None:
    # The submission's folder is a package for the tests even where its file is elsewhere.
    for path in (bundle.source_path, *contents):
        folder, _, _name = path.rpartition("/")
        if folder:
            os.makedirs(f"{WORK}/{folder}", exist_ok=True)
    for path, content in contents.items():
        file = os.open(f"{WORK}/{path}", os.O_WRONLY | os.O_CREAT, 0o644)
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.close(file)


def _close_all_but(keep: set[int]) -> None:
    """Close every other descriptor, such as those of the box and the zygote."""
    low = 3
    for descriptor in sorted(keep):
        if descriptor > low:
            os.closerange(low, descriptor)
        low = max(low, descriptor + 1)
    os.closerange(low, 1 << 20)


def _set_rlimits(limits: dict[str, Any], processes: int) -> None:
    """Set the per-process limits that stand behind the supervisor's own."""
    cpu_time_s = int(limits["cpu_time_s"]) + 2
    for kind, value in (
        (resource.RLIMIT_CORE, CORE_BYTES),
        (resource.RLIMIT_CPU, cpu_time_s),
        (resource.RLIMIT_DATA, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["work_bytes"]),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_STACK, _STACK_BYTES),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _soft, hard = resource.getrlimit(kind)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (ceiling, ceiling))
        except ValueError:
            # gVisor does not know this one, which only stands behind the filter anyway.
            if kind != resource.RLIMIT_MSGQUEUE:
                raise
