"""Fixtures of the tests that run whole parts of the project."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from grader.sandbox.native import NativeSandbox


@pytest.fixture(scope="module")
def native_rewards(native_sandbox: "NativeSandbox") -> Iterator[pytest.MonkeyPatch]:
    """Have this process's reward core grade in two native slots; yields what sets variables."""
    from grader.rewards.core import forget_shared_core

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SANDBOX", native_sandbox.name)
        patch.setenv("GRADER_SLOTS", "2")
        patch.setenv("GRADER_REWARD_DEADLINE_S", "60")
        forget_shared_core()
        yield patch
        forget_shared_core()
