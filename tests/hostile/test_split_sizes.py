"""Values that are too large to cross are refused early, and refused is not passed."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from grader.model import MiB
from grader.sandbox.base import Sandbox, Slot
from grader.verdict import Verdict
from sandbox_images.harness.split.codec import Encoder
from sandbox_images.harness.values import UnencodableError
from tests.hostile import splitting
from tests.hostile.splitting import Suite, run

LIMITS = replace(splitting.LIMITS, cpu_time_s=8.0, memory_bytes=1024 * MiB)

MANY: dict[str, list[Any]] = {
    "texts": [("a" * 1_000,) * 1_000] * 40,
    "truths": [[True] * 1_000] * 20_000,
    "keys": [dict.fromkeys(map(str, range(1_000)))] * 10_000,
    "a text": ["x" * 1_000_000] * 40,
}
"""Cheap to make, since the parts are the same; in a message each would stand in full."""


@pytest.mark.parametrize("what", sorted(set(MANY) - {"truths", "keys"}))
def test_value_that_no_message_holds_is_given_up(what: str) -> None:
    with pytest.raises(UnencodableError, match="too large for a message"):
        Encoder(lambda _: None).encode(MANY[what])


@pytest.mark.parametrize("what", ["truths", "keys"])
def test_parts_that_are_one_object_cross_once(what: str) -> None:
    """What can be changed is named again by a number."""
    encoded = Encoder(lambda _: None).encode(MANY[what])
    assert encoded[1:] == [{"@": 1}] * (len(MANY[what]) - 1)


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all values."""
    with closing(
        native_sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)
    ) as opened:
        yield opened


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("[('a' * 1000,) * 1000] * 40", id="more items than a message holds"),
        pytest.param("chr(0) * 7_000_000", id="characters that take six each in JSON"),
    ],
)
def test_answer_that_is_too_large_is_refused_and_the_next_is_not(slot: Slot, value: str) -> None:
    code = f"def large():\n    return {value}\n\ndef small():\n    return 1\n"
    cases = ["assert large() == 0", "assert large()", "assert small() == 1"]

    found, outcome = run(slot, Suite(right=code, cases=cases), code, limits=LIMITS)

    assert [case.verdict for case in found][:2] == [Verdict.RUNTIME_ERROR] * 2, outcome
    assert "too l" in found[0].feedback


def test_argument_that_is_too_large_is_refused(slot: Slot) -> None:
    code = "def size(text):\n    return len(text)\n"
    cases = ["assert size(chr(0) * 7_000_000) == 7_000_000"]

    (found,), outcome = run(slot, Suite(right=code, cases=cases), code, limits=LIMITS)

    assert found.verdict is Verdict.RUNTIME_ERROR, outcome
    assert "too long" in found.feedback
