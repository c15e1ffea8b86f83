"""Copies of a session's files restore the files, whatever happened to them."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandbox_images.harness.runners import work_area

NAMES = st.sampled_from(["a", "b", "c", "a/x", "a/y", "b/x/z"])
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from("write grow folder link hard-link pipe remove close".split()),
        NAMES,
        st.binary(max_size=20),
    ),
    max_size=12,
)


def act(root: Path, action: str, name: str, data: bytes) -> None:
    """Change the files, as far as that is possible."""
    path = root / name
    is_special = os.path.lexists(path) and (path.is_symlink() or path.is_fifo())
    if is_special and action in ("write", "grow", "close"):
        return  # reading a pipe would block
    try:
        match action:
            case "write":
                path.write_bytes(data)
            case "grow":
                os.truncate(path, 100_000)
            case "folder":
                path.mkdir(parents=True)
            case "link":
                path.symlink_to(f"nowhere-{data.hex()}")
            case "hard-link":
                path.hardlink_to(root / "a")
            case "pipe":
                os.mkfifo(path)
            case "remove":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            case "close":
                path.chmod(0)
            case _:
                raise AssertionError(action)
    except OSError:
        pass


def look(root: Path) -> dict[str, object]:
    """Return what a program sees of the files."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            if path.is_symlink():
                found[str(path)] = path.readlink()
            elif stat.S_ISREG(status.st_mode):
                found[str(path)] = (stat.S_IMODE(status.st_mode), path.read_bytes())
            elif stat.S_ISDIR(status.st_mode):
                found[str(path)] = stat.S_IMODE(status.st_mode)
    return found


@settings(max_examples=150, deadline=None)
@given(before=ACTIONS, after=ACTIONS)
@example(before=[("write", "a", b""), ("hard-link", "b", b""), ("close", "a", b"")], after=[])
def test_restored_files_are_those_that_were_copied(
    before: list[tuple[str, str, bytes]], after: list[tuple[str, str, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        root = Path(folder, "work")
        root.mkdir()
        patch.setattr(work_area, "ROOTS", (os.fsencode(root),))
        for step in before:
            act(root, *step)
        tree = work_area.save({}, 10_000_000)
        seen = look(root)
        for step in after:
            act(root, *step)
        work_area.restore(tree)
        assert look(root) == seen
        again = work_area.save(tree, 10_000_000)
        assert {path: entry[3:] for path, entry in again.items()} == {
            path: entry[3:] for path, entry in tree.items()
        }


def test_unchanged_content_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_area, "ROOTS", (os.fsencode(tmp_path),))
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"one")
    first = work_area.save({}, 100)
    (tmp_path / "b").write_bytes(b"two")
    second = work_area.save(first, 100)
    name = os.fsencode(tmp_path / "a")
    assert second[name].extents is first[name].extents
    assert work_area.get(first, ["a", "b"], 100) == (["a", "b"], [b"same", b"one"])
    assert work_area.get(second, ["b", "none"], 100) == (["b"], [b"two"])


def test_more_than_there_is_room_for_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_area, "ROOTS", (os.fsencode(tmp_path),))
    (tmp_path / "a").write_bytes(bytes(11))
    with pytest.raises(work_area.UncopyableError, match="more than 10 bytes"):
        work_area.save({}, 10)
    tree = work_area.save({}, 11)
    with pytest.raises(work_area.UncopyableError, match="more than 10 bytes"):
        work_area.get(tree, ["a"], 10)


def test_hole_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_area, "ROOTS", (os.fsencode(tmp_path),))
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 30)
    tree = work_area.save({}, 1000)
    (tmp_path / "a").unlink()
    work_area.restore(tree)
    assert (tmp_path / "a").stat().st_size == 1 << 30
