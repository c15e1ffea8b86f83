"""A slot that is silent for too long is given up; how long that is follows from the limits."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from grader.model import Limits
from grader.model.errors import SandboxUnavailableError, SessionLostError
from grader.sandbox.connection import SlotConnection
from grader.sandbox.contract import Commands, Counterpart, Program, RunBatch
from grader.sandbox.native.backend import NativeTransport
from sandbox_images.harness.slot.limit_hit import is_late
from sandbox_images.harness.wire.frames import encode

OWN_S = 120.0
LIMITS = Limits(wall_time_s=3.0)
BATCH = RunBatch(program=Program.STDIN, source="", runs=(b"",), limits=LIMITS)
INTERACTOR = Counterpart(source="", answers=(b"",), limits=Limits(wall_time_s=5.0))
COMMANDS = Commands(run=("sh",), compile_limits=Limits(wall_time_s=7.0))


class Patient:
    """A transport that answers at once, and keeps the deadlines that it is given."""

    def __init__(self, *frames: bytes) -> None:
        self.frames = list(frames)
        self.patience_s: list[float] = []

    def send(self, _data: bytes, deadline: float) -> None:
        self.patience_s.append(deadline - time.monotonic())

    def receive(self, _size: int, deadline: float) -> bytes:
        self.patience_s.append(deadline - time.monotonic())
        return self.frames.pop(0)

    def is_alive(self) -> bool:
        return True

    def hang_up(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def log_tail(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("batch", "running_s"),
    [
        pytest.param(BATCH, 30.0, id="alone"),
        pytest.param(replace(BATCH, interactor=INTERACTOR), 80.0, id="interactor"),
        pytest.param(replace(BATCH, commands=COMMANDS), 100.0, id="compiled"),
        pytest.param(
            replace(BATCH, limits=Limits(wall_time_s=1e300)), 20 * 86_400 - OWN_S, id="no-limit"
        ),
    ],
)
def test_slot_may_be_silent_for_as_long_as_its_programs_may_take(
    batch: RunBatch, running_s: float
) -> None:
    transport = Patient(encode({"op": "ready"}), encode({"op": "end", "seq": 1, "spent": False}))
    slot = SlotConnection("native-0", transport)
    assert list(slot.run(batch)) == []
    assert transport.patience_s == pytest.approx([OWN_S, OWN_S, OWN_S + running_s], abs=5.0)


def test_no_run_may_take_longer_than_its_slot_may_be_silent() -> None:
    assert is_late(30.1, waited_s=30.1, limits={"wall_time_s": LIMITS.wall_time_s})


def test_session_may_be_silent_for_as_long_as_its_step_may_take() -> None:
    frames = [{"op": "ready"}, {"op": "opened"}, {"op": "end", "lost": "it is over"}]
    transport = Patient(*map(encode, frames))
    session = SlotConnection("native-0", transport).open_session(LIMITS, states=1)
    with pytest.raises(SessionLostError, match="it is over"):
        session.step(0, "", limits=LIMITS)
    assert transport.patience_s[-1] == pytest.approx(OWN_S + 30.0, abs=5.0)


@pytest.mark.parametrize("left_s", [-1.0, 0.05])
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda jail, deadline: jail.receive(1, deadline), id="receive"),
        pytest.param(lambda jail, deadline: jail.send(bytes(1 << 24), deadline), id="send"),
    ],
)
def test_jail_that_does_not_answer_is_unavailable_at_the_deadline(
    act: Callable[[NativeTransport, float], object], left_s: float
) -> None:
    jail = NativeTransport(["sleep", "60"], ExitStack())
    try:
        with pytest.raises(SandboxUnavailableError, match="does not answer"):
            act(jail, time.monotonic() + left_s)
    finally:
        jail.kill()
