"""Capabilities are given to a slot only if its kernel is not the host's."""

from dataclasses import replace

import pytest

from grader.model import Limits, MiB
from grader.sandbox.connection import PowerlessSlotError, SlotConnection
from grader.sandbox.contract import MEMORY_OVERHEAD_BYTES, Program, RunBatch
from grader.sandbox.docker.hardening import (
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

    def send(self, data: bytes, deadline: float) -> None:
        pass

    def receive(self, _size: int, _deadline: float) -> bytes:
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


@pytest.mark.parametrize("spent", [False, True])
def test_slot_with_files_that_stay_takes_no_other_batch(spent: bool) -> None:
    ends = {"op": "end", "seq": 1, "spent": spent}
    slot = SlotConnection("docker-0", Silent(encode({"op": "ready"}) + encode(ends)))
    batch = RunBatch(program=Program.STDIN, source="", runs=(b"",), limits=Limits())
    assert list(slot.run(batch)) == []
    assert slot.is_alive() is not spent


def test_reduced_container_has_power_over_its_kernel_and_room_for_it() -> None:
    body = create_body(replace(CONTAINER, reduced=True))
    assert body["User"] == "0:0"
    assert body["HostConfig"]["CapDrop"] == ["ALL"]
    assert tuple(body["HostConfig"]["CapAdd"]) == reduced.POWER
    expected = 100 * MiB + MEMORY_OVERHEAD_BYTES + REDUCED_OVERHEAD_BYTES
    assert body["HostConfig"]["Memory"] == expected
