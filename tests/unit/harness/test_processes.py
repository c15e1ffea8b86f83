"""Which processes there are, from a listing of /proc."""

import os

import pytest

from sandbox_images.harness.kernel import processes


def test_number_that_gvisor_gives_a_process_that_is_being_reaped_is_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "listdir", lambda _folder: ["1", "self", "0", "117", "meminfo"])
    assert processes.all_pids() == {1, 117}
