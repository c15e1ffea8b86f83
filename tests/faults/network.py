"""A network of its own for a worker, whose cable to this machine can be pulled."""

import itertools
import os
import subprocess
from types import TracebackType
from typing import Self

from tests.deployment import Place

_numbers = itertools.count()


class Cable:
    """A network namespace, and the pair of interfaces that joins it to this one. Needs root."""

    def __init__(self) -> None:
        self._name = f"gr{os.getpid() % 100000}n{next(_numbers)}"
        network = f"198.18.{os.getpid() % 250}."  # for tests of networks, says RFC 2544
        self.address, self._far_address = network + "1", network + "2"
        self._near, self._far = f"{self._name}a", f"{self._name}b"

    @property
    def place(self) -> Place:
        """The far end, for a worker."""
        return Place(prefix=("ip", "netns", "exec", self._name))

    def cut(self) -> None:
        """Pull it: what is sent is lost without an error."""
        _ip("link", "set", self._near, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _ip("link", "set", self._near, "up")

    def __enter__(self) -> Self:
        _ip("netns", "add", self._name)
        _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far)
        _ip("link", "set", self._far, "netns", self._name)
        _ip("addr", "add", f"{self.address}/24", "dev", self._near)
        _ip("-n", self._name, "addr", "add", f"{self._far_address}/24", "dev", self._far)
        _ip("-n", self._name, "link", "set", "lo", "up")
        _ip("-n", self._name, "link", "set", self._far, "up")
        self.mend()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        _ip("netns", "delete", self._name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
