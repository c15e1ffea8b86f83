"""Kernel users for slots: one number, one owner."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader.model.errors import SandboxUnavailableError
from grader.sandbox.native import users
from grader.sandbox.native.users import FIRST_UID, SlotUser


def test_two_slots_get_two_users_and_a_free_one_is_given_again(tmp_path: Path) -> None:
    locks = tmp_path / "locks"
    first, second = SlotUser(locks), SlotUser(locks)
    assert (first.uid, second.uid) == (FIRST_UID, FIRST_UID + 1)
    first.close()
    first.close()
    third = SlotUser(locks)
    assert third.uid == FIRST_UID
    second.close()
    third.close()


def test_user_taken_by_another_process_is_not_given(tmp_path: Path, repo_dir: Path) -> None:
    locks = tmp_path / "locks"
    program = (
        "import pathlib, sys; from grader.sandbox.native.users import SlotUser;"
        "user = SlotUser(pathlib.Path(sys.argv[1])); print(user.uid, flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(locks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=repo_dir,
    )
    with other:
        assert other.stdout is not None
        assert int(other.stdout.readline()) == FIRST_UID
        mine = SlotUser(locks)
        assert mine.uid == FIRST_UID + 1
        mine.close()
        other.kill()
    again = SlotUser(locks)
    assert again.uid == FIRST_UID
    again.close()


def test_no_user_left_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "COUNT", 1)
    user = SlotUser(tmp_path / "locks")
    with pytest.raises(SandboxUnavailableError, match="all 1 slot users"):
        SlotUser(tmp_path / "locks")
    user.close()


def test_locks_that_cannot_be_opened_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match="cannot open the locks"):
        SlotUser(tmp_path / "missing" / "locks")


@pytest.mark.parametrize(
    ("uid_map", "expected"),
    [
        pytest.param("         0          0 4294967295\n", True, id="machine"),
        pytest.param("         0     100000      65536\n", False, id="container of a user"),
        pytest.param("0 1000 1\n1 100000 65536\n", False, id="two ranges, both low"),
        pytest.param("0 0 1900000001\n", False, id="ends within the range"),
    ],
)
def test_users_can_be_given_where_the_namespace_knows_them(
    tmp_path: Path, uid_map: str, expected: bool
) -> None:
    (tmp_path / "uid_map").write_text(uid_map)
    assert users.can_be_given(tmp_path / "uid_map") is expected
