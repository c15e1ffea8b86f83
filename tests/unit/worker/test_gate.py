"""Who goes through beside whom."""

import threading
from collections.abc import Callable

import pytest

from worker.gate import Gate

Eventually = Callable[[Callable[[], bool], float], None]


def test_many_go_through_together() -> None:
    gate = Gate()
    with gate.together(), gate.together():
        pass


def test_one_alone_waits_for_those_inside_and_keeps_others_out(eventually: Eventually) -> None:
    gate, trace, leave = Gate(), list[str](), threading.Event()

    def alone() -> None:
        with gate.alone():
            trace.append("alone in")
            leave.wait(5)
            trace.append("alone out")

    def together() -> None:
        with gate.together():
            trace.append("together")

    with gate.together():
        first = threading.Thread(target=alone)
        first.start()
        eventually(lambda: gate._waiting_alone == 1, 5)
        second = threading.Thread(target=together)
        second.start()
        assert trace == []
    eventually(lambda: trace == ["alone in"], 5)
    leave.set()
    first.join()
    second.join()
    assert trace == ["alone in", "alone out", "together"]


@pytest.mark.parametrize("kind", ["alone", "together"])
def test_gate_opens_again_after_an_error(kind: str) -> None:
    gate = Gate()
    with pytest.raises(ZeroDivisionError), getattr(gate, kind)():
        raise ZeroDivisionError
    with gate.alone():
        pass
