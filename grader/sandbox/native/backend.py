"""Slots in namespace jails: the backend that needs neither Docker nor root.

A slot is a jail (sandbox_images.harness.lock_in.jail) whose process 1 is the harness's
supervisor. Frames travel over one socket that is both its standard input and output. Root gives
every slot a kernel user of its own and a cgroup; any other user builds the jail in a user
namespace, and has cgroups if one is delegated.

Nothing is left behind. Closing a slot returns only when its last process has ended. If this process
dies, the warden of each jail sees the end of its input and kills the jail. Cgroups that are left
even so are removed when a grader opens its first slot or closes.
"""

import contextlib
import functools
import importlib.metadata
import itertools
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

from grader.config.settings import Settings
from grader.model import MiB
from grader.model.errors import SandboxUnavailableError
from grader.process.exits import keep_from_forks
from grader.sandbox.connection import SlotConnection, has_hung_up, kill_all
from grader.sandbox.contract import MAX_PROCESSES, MEMORY_OVERHEAD_BYTES, Slot
from grader.sandbox.native import needs, users
from grader.sandbox.native.cgroups import CgroupHome, find_home
from grader.sandbox.native.jail_plan import make_plan, warden_command
from grader.sandbox.native.users import SlotUser
from sandbox_images.harness.lock_in.jail import NOT_BUILT

_log = logging.getLogger(__name__)

_LOG_TAIL_BYTES = 8 * 1024
_END_TIMEOUT_S = 5.0
_LATE = (TimeoutError, BlockingIOError)
"""What a socket raises if its timeout passes; the second if none is left."""
_SILENT = "the jail does not answer"
_POLLED = (
    "limits on memory and CPU time are advisory: the supervisor adds up what /proc says and stops "
    "a run that is over its limits"
)


class NativeTransport:
    """The byte streams of one jail.

    One thread sends and receives; `kill` may come from any other.
    """

    def __init__(self, command: list[str], held: contextlib.ExitStack) -> None:
        """Start a jail's warden.

        Args:
            command: The command of the warden.
            held: Holds what the jail uses. Closed when the jail's last process has ended.

        Raises:
            SandboxUnavailableError: It does not start.
        """
        self._pid = os.getpid()
        self._kill_lock = threading.Lock()
        self._killed = False
        self._final_log = ""
        try:
            self._log = os.memfd_create("grader-slot-log", os.MFD_CLOEXEC)
            held.callback(os.close, self._log)
            self._socket, theirs = socket.socketpair()
            held.callback(self._socket.close)
            keep_from_forks(self._socket)
            # Not the process's default, which Celery changes for a moment.
            theirs.settimeout(None)
            with theirs:
                self._warden = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=self._log,
                    cwd="/",
                    env={"LANG": "C.UTF-8"},
                    # The grader acts on signals from the terminal.
                    start_new_session=True,
                )
        except OSError as error:
            message = f"cannot start a jail: {error}"
            raise SandboxUnavailableError(message) from error
        self._held = held.pop_all()

    def send(self, data: bytes, deadline: float) -> None:
        """Write all of `data`; see `Transport.send`."""
        self._wait_until(deadline)
        try:
            self._socket.sendall(data)
        except _LATE as error:
            raise SandboxUnavailableError(_SILENT) from error
        except OSError as error:
            message = f"the jail hung up: {error}"
            raise SandboxUnavailableError(message) from error

    def receive(self, size: int, deadline: float) -> bytes:
        """Wait for bytes; see `Transport.receive`."""
        self._wait_until(deadline)
        try:
            return self._socket.recv(size)
        except _LATE as error:
            raise SandboxUnavailableError(_SILENT) from error
        except OSError as error:
            if self._killed:
                return b""
            message = f"the jail's stream broke: {error}"
            raise SandboxUnavailableError(message) from error

    def _wait_until(self, deadline: float) -> None:
        with contextlib.suppress(OSError):  # what follows raises it, too, if the jail was killed
            self._socket.settimeout(max(0.0, deadline - time.monotonic()))

    def is_alive(self) -> bool:
        """Tell whether the jail's end of the stream is open; see `Transport.is_alive`."""
        return not (self._killed or has_hung_up(self._socket))

    def hang_up(self) -> None:
        """Tell the warden to kill the jail; see `Transport.hang_up`."""
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._warden.terminate()

    def kill(self) -> None:
        """Kill the jail and wait for its last process; see `Transport.kill`."""
        if os.getpid() != self._pid:
            return  # This is a forked process, which does not own the jail.
        with self._kill_lock:
            if self._killed:
                return
            self._killed = True
            self.hang_up()
            self._end_warden()
            self._final_log = self._read_log()
            self._held.close()

    def was_built(self) -> bool:
        """Tell whether a killed jail had been built before, as far as is known."""
        return self._warden.returncode != NOT_BUILT

    def log_tail(self) -> str:
        """Return the last of what the warden and the supervisor wrote to standard error."""
        with self._kill_lock:
            return self._final_log if self._killed else self._read_log()

    def _end_warden(self) -> None:
        """Wait for the warden, which ends after the jail."""
        try:
            self._warden.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _log.warning("the warden %d of a jail did not end; killing it", self._warden.pid)
            self._warden.kill()
            self._warden.wait()

    def _read_log(self) -> str:
        size = os.fstat(self._log).st_size
        tail = os.pread(self._log, _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES))
        return tail.decode(errors="replace")


class NativeSandbox:
    """Opens slots in jails on this machine. Checks the machine when it opens the first."""

    name = "native"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._cgroups: CgroupHome | str | None = None
        self._open: dict[int, NativeTransport] = {}
        self._numbers = itertools.count()

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Build a jail and wait for its supervisor; see `Sandbox.open_slot`."""
        if (obstacle := needs.obstacle()) is not None:
            raise SandboxUnavailableError(obstacle)
        number = next(self._numbers)
        with contextlib.ExitStack() as held:
            held.callback(self._forget, number)
            user = held.enter_context(contextlib.closing(SlotUser())) if _by_root() else None
            cgroups: Mapping[str, str] = {}
            if isinstance(home := self._find_cgroups(), CgroupHome):
                group = home.create(
                    memory_bytes=memory_bytes + MEMORY_OVERHEAD_BYTES, processes=MAX_PROCESSES
                )
                held.callback(group.remove)
                cgroups = {inside: str(folder) for inside, folder in group.folders.items()}
            plan = make_plan(image=image, uid=user.uid if user else None, cgroups=cgroups)
            transport = NativeTransport(warden_command(plan), held)
        with self._lock:
            self._open[number] = transport
        try:
            kind = self.name if cgroups else f"{self.name}-reduced"
            return SlotConnection(f"{kind}-{number}", transport)
        except SandboxUnavailableError as error:
            if transport.was_built():
                raise
            message = f"{error}{needs.advice()}"
            raise SandboxUnavailableError(message) from error

    def layers(self) -> Mapping[str, str]:
        """Return each isolation layer with its state here; never raises."""
        if (obstacle := needs.obstacle()) is not None:
            return {"jail": f"missing: {obstacle}"}
        home = self._find_cgroups()
        first, last = users.FIRST_UID, users.FIRST_UID + users.COUNT - 1
        return {
            "namespaces": "user, pid, mount, ipc and uts per submission; net and cgroup per slot",
            "network": "none: a namespace without interfaces, and only unix sockets",
            "root file system": "read-only: programs, libraries and this Python; no file of yours",
            "user": f"one per slot ({first}-{last}), no capabilities, no new privileges"
            if _by_root()
            else "yours, mapped into a user namespace; no capabilities, no new privileges",
            "system calls": "an allow list, a shorter one for submissions",
            "memory": f"cgroup v{home.version}: the limit and {MEMORY_OVERHEAD_BYTES // MiB} MiB"
            if isinstance(home, CgroupHome)
            else f"reduced: no cgroup ({home}); {_POLLED}",
            "processes": f"cgroup v{home.version}: at most {MAX_PROCESSES} in a slot"
            if isinstance(home, CgroupHome)
            else "reduced: a limit per submission (RLIMIT_NPROC), none per slot",
        }

    def environment(self, image: str) -> str:
        """Return the versions of Python and of its packages; see `Sandbox.environment`."""
        return f"{image}: {_python_and_packages()}"

    def close(self) -> None:
        """Close every slot that is still open. Repeats harmlessly.

        Also removes what graders left here that have died meanwhile.
        """
        with self._lock:
            transports = list(self._open.values())
        kill_all(transports)
        with self._lock:
            home, self._cgroups = self._cgroups, None
        if isinstance(home, CgroupHome):
            home.sweep()
            home.close()

    def _forget(self, number: int) -> None:
        with self._lock:
            self._open.pop(number, None)

    def _find_cgroups(self) -> CgroupHome | str:
        """Find where groups can be made. The first time, remove what dead graders left there.

        For root, warn if there is no such place: root expects control groups.
        """
        with self._lock:
            if self._cgroups is None:
                self._cgroups = find_home()
                if isinstance(self._cgroups, CgroupHome):
                    self._cgroups.sweep()
                elif _by_root():
                    _log.warning(
                        "native slots have no control group, so %s: %s", _POLLED, self._cgroups
                    )
            return self._cgroups


@functools.cache
def _python_and_packages() -> str:
    packages = {each.name: each.version for each in importlib.metadata.distributions()}
    return f"{sys.version} {sorted(packages.items())}"


def _by_root() -> bool:
    """Tell whether root's capabilities build jails, rather than a user namespace's."""
    return needs.has_root_power() and users.can_be_given()
