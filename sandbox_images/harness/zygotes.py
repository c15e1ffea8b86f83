"""The supervisor's side of zygotes."""

import json
import os
import socket
import sys
from typing import Any

from sandbox_images.harness import orders, processes

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


class Zygote:
    """A zygote process."""

    def __init__(
        self, kind: str, preload: tuple[str, ...], site: list[str], *, reduced: bool
    ) -> None:
        self._name = " ".join((kind, *preload))
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.set_inheritable(True)
        descriptor = str(theirs.fileno())
        main = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
        arguments = [kind, descriptor, json.dumps(site), json.dumps(preload), json.dumps(reduced)]
        command = [sys.executable, "-s", "-S", "-P", "-B", main, "zygote", *arguments]
        os.posix_spawn(
            sys.executable,
            command,
            _ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, 2, 1),
            ],
        )
        theirs.close()
        self.control.settimeout(_START_TIMEOUT_S)
        self.memory_bytes: int = self.receive()[0]["memory_bytes"]
        self.control.settimeout(None)

    def start(self, order: orders.RunOrder) -> None:
        """Have a run forked; what becomes of it is said on `control`."""
        message = {"program": order.program, "limits": order.limits}
        try:
            orders.send(self.control, message, order.descriptors)
        except OSError as error:
            raise self._broken(f"does not answer: {error}") from error

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Wait for the next message about the run, with the descriptors that came along."""
        try:
            received = orders.receive(self.control)
        except OSError as error:
            raise self._broken(f"does not answer: {error}") from error
        if received is None:
            raise self._broken("is gone")
        return received

    def _broken(self, what: str) -> SlotBroken:
        return SlotBroken(f"the {self._name} zygote {what}")


class Zygotes:
    """Every zygote of the slot, each started when it is first needed."""

    def __init__(self, site: list[str], *, reduced: bool) -> None:
        """Start none yet.

        Args:
            site: Folders with third-party packages.
            reduced: Whether runs are to be locked in as `harness.reduced` does it.
        """
        self._site = site
        self._reduced = reduced
        self._zygotes: dict[tuple[str, tuple[str, ...]], Zygote] = {}
        self.harness_pids = processes.all_pids()
        """Every process of the slot that belongs to no run."""

    def get(self, kind: str, preload: tuple[str, ...]) -> Zygote:
        """Return the zygote of a kind ("plain" or "pytest") with these modules loaded.

        Only to be called while no run exists.
        """
        key = (kind, preload)
        if key not in self._zygotes:
            self._zygotes[key] = Zygote(kind, preload, self._site, reduced=self._reduced)
            self.harness_pids = processes.all_pids()
        return self._zygotes[key]
