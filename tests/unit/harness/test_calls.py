"""Lists of system calls, made by a loop or from a table."""

import os
from pathlib import Path

import pytest

from sandbox_images.harness.kernel import calls as module
from sandbox_images.harness.kernel.calls import AT_FDCWD, Calls


@pytest.fixture(params=["loop", "table", "no instructions"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """An empty list that is made in one of the possible ways."""
    if request.param == "no instructions":
        monkeypatch.setattr(module, "find_function", lambda: None)
    return Calls() if request.param == "loop" else _WrittenDown()


class _WrittenDown(Calls):
    def make(self) -> None:
        self.write_down()
        super().make()


def test_calls_are_made_in_order(calls: Calls, tmp_path: Path) -> None:
    for name in ("a", "a/b", "a/b/c"):
        calls.add("mkdirat", AT_FDCWD, os.fsencode(tmp_path / name), 0o700)
    calls.make()
    assert (tmp_path / "a/b/c").is_dir()


def test_call_that_fails_is_named_and_those_after_it_are_not_made(
    calls: Calls, tmp_path: Path
) -> None:
    made, missing, not_made = (tmp_path / name for name in ("made", "missing/folder", "not_made"))
    for path in (made, missing, not_made):
        calls.add("mkdirat", AT_FDCWD, os.fsencode(path), 0o700, of=path.name)
    with pytest.raises(FileNotFoundError, match="mkdirat folder: No such file or directory"):
        calls.make()
    assert made.is_dir()
    assert not not_made.exists()


def test_call_that_returns_less_than_it_has_to_has_failed(calls: Calls, tmp_path: Path) -> None:
    calls.add("mkdirat", AT_FDCWD, os.fsencode(tmp_path / "made"), 0o700, least=1, of="made")
    with pytest.raises(OSError, match="mkdirat made"):
        calls.make()


def test_table_is_made_by_machine_instructions_if_there_are_some() -> None:
    calls = Calls()
    calls.add("getpid")
    table = calls.write_down()
    calls.make()
    returned = table[len(table) // 2 - 1]  # there are two rows, and the second ends the table
    assert (returned == os.getpid()) == (os.uname().machine in module._INSTRUCTIONS)
