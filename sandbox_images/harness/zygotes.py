"""The supervisor's side of zygotes and boxes."""

import json
import os
import socket
import sys
from typing import Any

from sandbox_images.harness import orders

_START_TIMEOUT_S = 60.0
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
}
"""The same hash seed everywhere, so that the order of a set changes no verdict."""


class SlotBroken(Exception):
    """A part of the slot is gone or does not answer; the slot must be replaced."""


class Box:
    """One submission's namespaces, as seen from the supervisor."""

    def __init__(self, zygote: "Zygote", pid: int, control: socket.socket) -> None:
        self.pid = pid
        self.control = control
        self.ended_cpu_time_s = 0.0
        """What earlier runs of this box took; the kernel adds it to the box's own account."""
        self._zygote = zygote
        self._alive = True

    def start(self, order: orders.RunOrder) -> None:
        """Have the box fork a run."""
        message = {"program": order.program, "limits": order.limits}
        try:
            orders.send(self.control, message, order.descriptors)
        except OSError as error:
            raise SlotBroken(f"a box is gone: {error}") from error

    def end(self) -> None:
        """Kill everything in the box and wait until it is dead. Repeats harmlessly."""
        if self._alive:
            self._alive = False
            self.control.close()
            self._zygote.end_box(self.pid)


class Zygote:
    """A zygote process."""

    def __init__(self, kind: str, preload: tuple[str, ...], site: list[str]) -> None:
        self._name = " ".join((kind, *preload))
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.set_inheritable(True)
        descriptor = str(theirs.fileno())
        main = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
        arguments = [kind, descriptor, json.dumps(site), json.dumps(preload)]
        command = [sys.executable, "-s", "-S", "-P", "-B", main, "zygote", *arguments]
        self.pid = os.posix_spawn(
            sys.executable,
            command,
            _ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, 2, 1),
            ],
        )
        theirs.close()
        self._control.settimeout(_START_TIMEOUT_S)
        self._ask(None)

    def new_box(self) -> Box:
        """Fork a box."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            answer = self._ask({"order": "box"}, (theirs.fileno(),))
        return Box(self, answer["pid"], ours)

    def end_box(self, pid: int) -> None:
        """Kill a box and wait until the kernel has killed everything in it."""
        self._ask({"order": "end", "pid": pid})

    def _ask(
        self, message: dict[str, Any] | None, descriptors: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        try:
            if message is not None:
                orders.send(self._control, message, descriptors)
            received = orders.receive(self._control)
        except OSError as error:
            raise SlotBroken(f"the {self._name} zygote does not answer: {error}") from error
        if received is None:
            raise SlotBroken(f"the {self._name} zygote is gone")
        return received[0]


class Zygotes:
    """Every zygote of the slot, each started when it is first needed."""

    def __init__(self, site: list[str]) -> None:
        self._site = site
        self._zygotes: dict[tuple[str, tuple[str, ...]], Zygote] = {}

    def get(self, kind: str, preload: tuple[str, ...]) -> Zygote:
        """Return the zygote of a kind ("plain" or "pytest") with these modules loaded."""
        key = (kind, preload)
        if key not in self._zygotes:
            self._zygotes[key] = Zygote(kind, preload, self._site)
        return self._zygotes[key]

    @property
    def pids(self) -> frozenset[int]:
        """The process ids of all zygotes."""
        return frozenset(zygote.pid for zygote in self._zygotes.values())
