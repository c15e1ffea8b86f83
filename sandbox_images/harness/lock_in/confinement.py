"""What a new process of a zygote does to itself before it executes hostile code.

It takes as few steps as possible: the kernel copies every page that a fork touches, so even a
convenience such as `open` costs more here than the system call behind it.

If what it executes is a program in another language, it is not a fork: see `kernel.borrowed`.

The process starts in pid, mount, ipc and uts namespaces made for it. Here it gets an empty,
bounded work area and a /proc of its own processes, moves to a user namespace of its own, and
gives up every capability and most system calls.
"""

import ctypes
import fcntl
import gc
import os
import resource
import socket
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from sandbox_images.harness.kernel import borrowed, calls, namespaces, signals
from sandbox_images.harness.kernel.calls import AT_FDCWD, Calls
from sandbox_images.harness.lock_in import reduced, seccomp
from sandbox_images.harness.wire import orders
from sandbox_images.harness.wire.orders import Bundle, RunOrder

WORK = "/work"
_BASE = "/box"
INSIDE_UID = 20000
_STACK_BYTES = 64 * 1024 * 1024
_GVISOR_STACK_BYTES = 128 * 1024 * 1024
"""gVisor makes no stack larger, whatever the limit is. Ruby relies on the limit, and crashes."""
_THREAD_STACKS_BYTES = 1024**3
"""The stacks of all threads may have this size together. Most of it is never touched; what is
touched counts as memory, which the supervisor and the cgroup limit."""
_OPEN_FILES = 256
_PENDING_SIGNALS = 256
"""Timers and queued signals of a run. Its user namespace counts them, so that a run cannot use up
what other slots of the same user need."""
_NULL = 0
"""Every zygote is started with /dev/null as this descriptor."""
_STARTED = {"event": "started"}
_BORROWED_BYTES = 16 * 1024 * 1024
"""The most that a process in a zygote's memory writes to the work area. Until it executes its
program, the kernel would take it for the zygote when memory runs out."""
_PREPARED = 64
"""How many kinds of orders are remembered."""
_HAS_CLOSE_RANGE = calls.is_known("close_range")
CORE_BYTES = 1
"""Too little for a core file. If the kernel pipes cores to a program of the host, this is the only
limit at which it does not start that program; at 0 it does."""
_SAFE = namespaces.MS_NOSUID | namespaces.MS_NODEV
_COVERED = ("/sys", "/dev/mqueue")
"""Mounts of the slot that a run must not see or write; an empty folder is put over each."""

ENVIRONMENT = {
    "HOME": WORK,
    # Otherwise, importing pandas starts a thread that never ends, and a session keeps no cell that
    # leaves a thread.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "LANG": "C.UTF-8",
    "LOGNAME": "submission",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONINTMAXSTRDIGITS": "0",
    "TMPDIR": "/tmp",  # noqa: S108 - each run mounts its own
    "TZ": "UTC",
    "USER": "submission",
}


class ConfinedRun(NamedTuple):
    """What a run's own process works with, once it is locked in."""

    program: str
    bundle: Bundle
    payload: int
    """Descriptor of this run's bytes."""
    report: int
    """Descriptor that only the runner writes to."""
    channel: int | None
    """Descriptor to the other process, if tests and submission have one each."""
    code: int | None
    """Descriptor of the code that the runs of a batch have in common, if they may share it."""
    command: tuple[str, ...]
    """What is executed in place of Python code, if anything is."""
    executable: str
    """The program's file; empty without a command."""
    environment: Mapping[str, str]
    """All of the command's variables."""

    @classmethod
    def of(cls, order: RunOrder, bundle: Bundle) -> "ConfinedRun":
        """Return the run that an order describes, with its bundle read."""
        return cls(
            program=order.program,
            bundle=bundle,
            payload=order.payload,
            report=order.report,
            channel=order.channel,
            code=order.code,
            command=order.command,
            executable=order.executable,
            environment=order.environment,
        )

    @property
    def connection(self) -> int:
        """The channel of a run that has one.

        Raises:
            ValueError: It has none.
        """
        if self.channel is None:
            raise ValueError(f"a {self.program} run has no channel")
        return self.channel


class Confinement:
    """Locks in the forks of this process, before they execute hostile code.

    This process prepares everything, so that a fork does little more than go through two lists of
    calls; see `calls`. Most orders of a slot need the same two lists.
    """

    def __init__(self, control: socket.socket, room: reduced.Room | None) -> None:
        """Prepare what is the same for all runs.

        Args:
            control: To the supervisor, which gets a message when a fork is locked in. The fork then
                closes the descriptor, as it closes all of the harness. It must keep the object: if
                that were freed, it would close whatever has the same number by then.
            room: For the runs, if the kernel has no mount namespaces.
        """
        self._signals = signals.SetAside()
        self._control = control
        self._room = room
        self._notifying = seccomp.can_notify()
        self._filter = seccomp.build_candidate_filter(notifying=self._notifying)
        self._session_filter = seccomp.build_session_filter(notifying=self._notifying)
        self._prepared: dict[Hashable, tuple[Calls, Calls, int]] = {}
        self._starter = borrowed.find_starter() if room is None else None
        self._start: borrowed.Start | None = None
        """Of the last program. The other runs of its batch start in the same way."""
        self._started: tuple[RunOrder, tuple[str, int]] | None = None

    def prepare_program(self, order: RunOrder) -> borrowed.Start | None:
        """Return the start of a run that executes a program; None if it has to be forked.

        Of the run's files, only the paths and sizes are read here.
        """
        is_program = order.program == "command" and order.staged_bytes <= _BORROWED_BYTES
        if self._starter is None or not is_program:
            return None
        key = (order, orders.read_head(order.bundle))
        if self._start is None or key != self._started:
            self._start, self._started = self._starter.prepare(self._program(*key)), key
        return self._start

    def _program(self, order: RunOrder, head: tuple[str, int]) -> Calls:
        """Return the calls of a run that executes a program, given its bundle's head."""
        first, last, free = self._calls(order)
        executable, environment = _program_of(order)
        program = Calls()
        program.extend(first)
        _add_files(program, order.bundle, head, free)
        program.extend(last)
        variables = (f"{name}={value}" for name, value in environment.items())
        texts = (_addresses(program, each) for each in (order.command, variables))
        program.add("execve", os.fsencode(executable), *texts, of=executable)
        return program

    def prepare(self, order: RunOrder) -> Callable[[], ConfinedRun]:
        """Return a function that a fork has to call first.

        It raises OSError if the kernel refuses a layer of the isolation.
        """
        first, last, _free = self._calls(order)
        if order.command:
            executable, environment = _program_of(order)
            order = order._replace(environment=environment, executable=executable)
        return lambda: enter(order, first, last, self._room)

    def _calls(self, order: RunOrder) -> tuple[Calls, Calls, int]:
        """Return what `_write_down` returned for the last order like this one, or returns now."""
        key = (
            _reads_payload(order),
            bool(order.command),
            order.program == "session",
            (order.staged_bytes, order.staged_files),
            order.bundle,
            order.payload,
            order.stdout,
            order.stderr,
            order.report,
            order.channel,
            order.code,
            *order.limits.values(),
        )
        if key not in self._prepared:
            if len(self._prepared) >= _PREPARED:
                self._prepared.clear()
            self._prepared[key] = self._write_down(order)
            for each in self._prepared[key][:2]:
                each.write_down()
        return self._prepared[key]

    def _write_down(self, order: RunOrder) -> tuple[Calls, Calls, int]:
        """Return the calls before the submission's files are put in place, and those after.

        The number is the descriptor of the first file that is opened in between.
        """
        is_full = self._room is None
        limits = order.limits
        proc_self, other = _free_descriptors(2)
        first, last = Calls(), Calls()
        if order.program != "command":  # which executes a program, so it has no handlers
            self._signals.add_return(first)
        first.add("setsid")
        # The run's own /proc will be read-only, and will hide this one's path.
        first.add("openat", AT_FDCWD, b"/proc/self", os.O_RDONLY)
        _write_file(first, proc_self, other, "oom_score_adj", "1000")
        if is_full:
            # What the run may write comes on top of the files that it is given. If they counted, a
            # submission that is longer than the limit would look like a broken slot.
            _mount_work_area(
                first,
                limits["work_bytes"] + order.staged_bytes,
                limits["work_files"] + order.staged_files,
            )
        last.add("chdir", WORK.encode())
        if _reads_payload(order):
            last.add("dup3", order.payload, 0, 0)
        else:
            # Not that of the zygote, since later runs would find the flags and locks of this one on
            # it.
            last.add("close", 0)
            last.add("openat", AT_FDCWD, os.devnull.encode(), os.O_RDONLY)
        last.add("dup3", order.stdout, 1, 0)
        last.add("dup3", order.stderr, 2, 0)
        if is_full:
            _enter_own_user(last, proc_self, other)
        control = self._control.fileno()
        keep = {0, 1, 2, order.payload, order.report, control}
        keep.update(each for each in (order.channel, order.code) if each is not None)
        _close_all_but(last, keep)
        # Only now: the number of processes is counted in the new user namespace.
        _set_rlimits(last, limits, is_full=is_full, is_command=bool(order.command))
        namespaces.add_drop_capabilities(last)
        rules = self._filter
        if order.program == "session":
            rules = self._session_filter
            # Its states stay while steps run. This keeps a step from looking into them.
            last.add("prctl", namespaces.PR_SET_DUMPABLE, 0)
        if order.command:
            for descriptor in (order.payload, order.report):
                last.add("fcntl", descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
        if order.program == "command":
            signals.add_defaults(last)
        seccomp.add_install(last, rules, notifying=self._notifying)
        listener = min(set(range(len(keep) + 1)) - keep) if self._notifying else None
        orders.add_send(last, control, _STARTED, listener)
        if listener is not None:
            last.add("close", listener)
        last.add("close", control)
        # Only now, after the last descriptor was sent: the kernel refuses to send one if more
        # descriptors of the user are under way than the process may open. Submissions in other
        # slots may have the same user, and more descriptors under way than a run may open.
        _add_rlimit(last, resource.RLIMIT_NOFILE, _OPEN_FILES)
        return first, last, other


def enter(order: RunOrder, first: Calls, last: Calls, room: reduced.Room | None) -> ConfinedRun:
    """Lock this process in, and put the files of its run in place.

    Args:
        order: The run.
        first: The calls before its files are put in place.
        last: Those after.
        room: For the run, if the kernel has no mount namespaces.
    """
    first.make()
    if room is not None:
        work_bytes = order.limits["work_bytes"] + order.staged_bytes
        room.enter(work_bytes, (INSIDE_UID, INSIDE_UID))
    bundle = orders.read_bundle(order.bundle)
    stage(bundle, order.bundle, 0o755 if order.command else 0o644)
    last.make()
    gc.enable()
    return ConfinedRun.of(order, bundle)


def cover_mounts() -> None:
    """Hide what no run may see in this mount namespace, of which every run gets a copy."""
    for target in _COVERED:
        if os.path.isdir(target):
            flags = _SAFE | namespaces.MS_RDONLY
            namespaces.mount("none", target, "tmpfs", flags, "size=0,nr_inodes=1")


@contextmanager
def lent_work_area() -> Iterator[None]:
    """Let a zygote, whose mount namespace is its own, write to a work area for a while."""
    namespaces.mount("work", WORK, "tmpfs", _SAFE, "size=64k,nr_inodes=8")
    try:
        yield
    finally:
        namespaces.unmount(WORK)


def _mount_work_area(calls: Calls, work_bytes: int, work_files: int) -> None:
    """Mount one bounded tmpfs as the only writable folders, and a /proc of this pid namespace."""
    options = f"size={work_bytes},nr_inodes={work_files + 4},mode=755"
    calls.add("mount", b"work", _BASE.encode(), b"tmpfs", _SAFE, options.encode(), of="tmpfs")
    for name, target in (("work", WORK), ("tmp", "/tmp"), ("shm", "/dev/shm")):  # noqa: S108
        folder = f"{_BASE}/{name}".encode()
        calls.add("mkdirat", AT_FDCWD, folder, 0o777)
        calls.add("mount", folder, target.encode(), 0, namespaces.MS_BIND, of=target)
    # A session restores what is in these folders, and nothing beside them.
    flags = _SAFE | namespaces.MS_BIND | namespaces.MS_REMOUNT | namespaces.MS_RDONLY
    calls.add("mount", b"none", _BASE.encode(), 0, flags, of=_BASE)
    # Read-only, or a process could lower the oom_score_adj by which it is killed first.
    flags = _SAFE | namespaces.MS_NOEXEC | namespaces.MS_RDONLY
    calls.add("mount", b"proc", b"/proc", b"proc", flags, b"subset=pid", of="/proc")


def _enter_own_user(calls: Calls, proc_self: int, other: int) -> None:
    calls.add("unshare", namespaces.CLONE_NEWUSER)
    outside = (os.getuid(), os.getgid())
    for name, text in namespaces.own_user_files((INSIDE_UID, INSIDE_UID), outside):
        _write_file(calls, proc_self, other, name, text)


def _write_file(calls: Calls, folder: int, descriptor: int, name: str, text: str) -> None:
    """Write a file of /proc; `descriptor` is what opening it returns."""
    calls.add("openat", folder, name.encode(), os.O_WRONLY, of=name)
    calls.add("write", descriptor, text.encode(), len(text), of=name)
    calls.add("close", descriptor)


def _free_descriptors(count: int) -> list[int]:
    """Return the numbers that the next files to be opened here, or in a fork, will have."""
    found = [os.dup(_NULL) for _ in range(count)]
    for descriptor in found:
        os.close(descriptor)
    return found


def _program_of(order: RunOrder) -> tuple[str, Mapping[str, str]]:
    """Return a command's file, and all of its variables."""
    environment = {**ENVIRONMENT, **order.environment}
    return find_program(order.command[0], environment["PATH"]), environment


@cache
def find_program(name: str, path: str) -> str:
    """Return the file that a command names; the name if it is a path, or if there is no file.

    Here, because the search would copy many pages in a fork. Runs see the same folders.
    """
    found = (f"{folder}/{name}" for folder in path.split(":") if "/" not in name)
    return next((each for each in found if os.access(each, os.X_OK)), name)


def _reads_payload(order: RunOrder) -> bool:
    """Tell whether a run's bytes are its standard input."""
    return order.program in ("stdin", "command")


def stage(bundle: Bundle, descriptor: int, mode: int = 0o644) -> None:
    """Put the submission and its files into the work area.

    Args:
        bundle: Says what there is.
        descriptor: Of the memory file that the bundle was read from.
        mode: Of the files.
    """
    # Tests may import from the submission's folder although only the candidate has its file.
    for path in (bundle.source_path, *bundle.files):
        folder, slash, _name = path.rpartition("/")
        if slash:
            os.makedirs(f"{WORK}/{folder}", exist_ok=True)
    if bundle.source is not None:
        file = _create(bundle.source_path, mode)
        view = memoryview(bundle.source.encode("utf-8", "surrogatepass"))
        while view:
            view = view[os.write(file, view) :]
        os.close(file)
    for path, (start, size) in bundle.files.items():
        file = _create(path, mode)
        # By the kernel, without a copy in this process's memory, which counts as the run's.
        end = start + size
        while start < end:
            start += os.sendfile(file, descriptor, start, end - start)
        os.close(file)


def _add_files(calls: Calls, bundle: int, head: tuple[str, int], file: int) -> None:
    """Add the calls that put a program's files into the work area, as `stage` does.

    Args:
        calls: The list.
        bundle: Descriptor of the memory file that has them.
        head: What `read_head` has returned for it.
        file: The descriptor that opening a file returns.
    """
    spans = orders.read_spans(*head)
    folders = {path[:at] for path in spans for at, each in enumerate(path) if each == "/"}
    for folder in sorted(folders):
        calls.add("mkdirat", AT_FDCWD, os.fsencode(f"{WORK}/{folder}"), 0o777, of=folder)
    for path, (start, size) in spans.items():
        flags = os.O_WRONLY | os.O_CREAT
        calls.add("openat", AT_FDCWD, os.fsencode(f"{WORK}/{path}"), flags, 0o755, of=path)
        calls.add("lseek", bundle, start, os.SEEK_SET, of=path)
        calls.add("sendfile", file, bundle, 0, size, of=path, least=size)
        calls.add("close", file)


def _addresses(calls: Calls, texts: Iterable[str]) -> int:
    """Return the address of a list of texts, as `execve` takes it."""
    encoded = [*map(os.fsencode, texts), None]
    return calls.keep((ctypes.c_char_p * len(encoded))(*encoded))


def _create(path: str, mode: int) -> int:
    return os.open(f"{WORK}/{path}", os.O_WRONLY | os.O_CREAT, mode)


def _close_all_but(calls: Calls, keep: set[int]) -> None:
    """Close every other descriptor, such as those of the zygote."""
    if not _HAS_CLOSE_RANGE:
        # The listing also opens a descriptor. In the fork, its number is that of /proc/self.
        for number in map(int, os.listdir("/proc/self/fd")):
            if number not in keep:
                calls.add("close", number)
        return
    low = 3
    for descriptor in sorted(keep):
        if descriptor > low:
            calls.add("close_range", low, descriptor - 1, 0)
        low = max(low, descriptor + 1)
    calls.add("close_range", low, (1 << 32) - 1, 0)


def _set_rlimits(calls: Calls, limits: dict[str, Any], *, is_full: bool, is_command: bool) -> None:
    """Set the per-process limits, which back up those of the supervisor."""
    values = {
        resource.RLIMIT_CORE: CORE_BYTES,
        # The kernel counts in whole ticks, on a busy machine a sixth more than was used, and its
        # signal does not tell which limit was hit. So this limit is higher than that of the
        # supervisor, and acts only if the supervisor is late.
        resource.RLIMIT_CPU: 2 * int(limits["cpu_time_s"]) + 2,
        resource.RLIMIT_FSIZE: limits["work_bytes"],
        # gVisor lets a user have one process more.
        resource.RLIMIT_NPROC: limits["processes"] - (not is_full),
        resource.RLIMIT_MEMLOCK: 0,
    }
    if not is_command:
        # Runtimes other than Python's reserve many times what they use: a JVM gigabytes, and a
        # thread in C a whole stack. So only the memory that they use is limited.
        values[resource.RLIMIT_DATA] = limits["memory_bytes"] + _THREAD_STACKS_BYTES
    if is_full:  # gVisor does not have these
        values[resource.RLIMIT_MSGQUEUE] = 0  # only backs up the filter
        values[resource.RLIMIT_SIGPENDING] = _PENDING_SIGNALS
    for kind, value in values.items():
        _add_rlimit(calls, kind, value)
    # A program may raise this one, as outside a sandbox: touched stack counts as memory.
    _soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = _STACK_BYTES
    if is_command:
        # Compiled programs cannot raise it for themselves. Theirs is below the memory limit, so
        # that endless recursion always hits the stack first.
        wanted = max(wanted, limits["memory_bytes"] // 2)
    if not is_full:
        wanted = min(wanted, _GVISOR_STACK_BYTES)
    both = struct.pack("QQ", _below_hard_limit(resource.RLIMIT_STACK, wanted), hard % 2**64)
    calls.add("prlimit64", 0, resource.RLIMIT_STACK, both, 0)


def _add_rlimit(calls: Calls, kind: int, value: int) -> None:
    ceiling = _below_hard_limit(kind, value)
    calls.add("prlimit64", 0, kind, struct.pack("QQ", ceiling, ceiling), 0)


def _below_hard_limit(kind: int, value: int) -> int:
    _soft, hard = resource.getrlimit(kind)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
