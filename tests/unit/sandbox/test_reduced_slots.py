"""Capabilities are given to a slot only if its kernel is not the host's."""

from dataclasses import replace

import pytest

from grader.model import MiB
from grader.sandbox.connection import PowerlessSlotError, SlotConnection
from grader.sandbox.docker.hardening import (
    MEMORY_OVERHEAD_BYTES,
    REDUCED_OVERHEAD_BYTES,
    SlotContainer,
    create_body,
)
from sandbox_images.harness.lock_in import reduced
from sandbox_images.harness.wire.frames import encode

CONTAINER = SlotContainer(image="sha256:1", memory_bytes=100 * MiB, uid=23_456, seccomp_profile="")


class Silent:
    """A transport that receives one thing."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.killed = False

    def send(self, data: bytes) -> None:
        raise AssertionError(data)

    def receive(self, _size: int) -> bytes:
        said, self.said = self.said, b""
        return said

    def hang_up(self) -> None:
        pass

    def kill(self) -> None:
        self.killed = True

    def is_alive(self) -> bool:
        return not self.killed

    def log_tail(self) -> str:
        return ""


def test_supervisor_without_power_is_told_from_one_that_broke() -> None:
    transport = Silent(encode({"op": "powerless", "kernel": "4.4.0", "message": "no"}))
    with pytest.raises(PowerlessSlotError, match="no mount namespaces for submissions: no") as info:
        SlotConnection("docker-0", transport)
    assert info.value.kernel == "4.4.0"
    assert transport.killed


def test_reduced_container_has_power_over_its_kernel_and_room_for_it() -> None:
    body = create_body(replace(CONTAINER, reduced=True))
    assert body["User"] == "0:0"
    assert body["HostConfig"]["CapDrop"] == ["ALL"]
    assert tuple(body["HostConfig"]["CapAdd"]) == reduced.POWER
    expected = 100 * MiB + MEMORY_OVERHEAD_BYTES + REDUCED_OVERHEAD_BYTES
    assert body["HostConfig"]["Memory"] == expected
