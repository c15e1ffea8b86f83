"""Trying again what a sandbox failed to do."""

import math

import pytest

from grader.model.errors import ImageNotFoundError, SandboxError, SandboxUnavailableError
from grader.sandbox.retrying import retrying


@pytest.mark.parametrize(
    ("error", "within_s", "tries"),
    [
        pytest.param(SandboxUnavailableError("gone"), math.inf, 3, id="as often as it may"),
        pytest.param(ImageNotFoundError("none"), math.inf, 1, id="what fails each time"),
        pytest.param(SandboxUnavailableError("slow"), -1.0, 1, id="not after so long"),
    ],
)
def test_what_fails_is_tried_again(error: SandboxError, within_s: float, tries: int) -> None:
    tried: list[int] = []

    def fail() -> None:
        tried.append(len(tried))
        raise error

    with pytest.raises(type(error)):
        retrying(fail, retries=2, within_s=within_s)
    assert len(tried) == tries


def test_second_try_that_works_counts() -> None:
    answers: list[Exception | str] = [SandboxUnavailableError("gone"), "done"]

    def work() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert retrying(work, retries=2) == "done"
