"""The clock of time limits, which stands still while the slot is suspended."""

import pytest

from sandbox_images.harness.kernel.clock import AwakeClock


def test_time_in_which_nobody_asked_is_missing() -> None:
    times = iter([100.0, 100.025, 100.05, 130.05, 130.075, 130.5])
    clock = AwakeClock(lambda: next(times))
    began = clock.now()
    ages = [clock.now() - began for _ in range(4)]
    assert ages == pytest.approx([0.025, 0.025, 0.05, 0.475])
