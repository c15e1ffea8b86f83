"""Copies of a session's files, so that each state of the session has its own.

All states of a session see the same folders. Before a step the folders are made to hold what they
held in the state that the step starts from. No other process of the session runs meanwhile.
"""

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

ROOTS = (b"/work", b"/tmp", b"/dev/shm")
_NEEDED = {stat.S_IFREG: 0o600, stat.S_IFDIR: 0o700}
"""The permissions that the owner needs to copy an entry, by its type."""

_Extents = tuple[tuple[int, bytes], ...]
_Opened = dict[tuple[int, int], tuple[bytes, int]]
"""One of the paths of a file, and its mode, by device and inode: a file may have several paths."""


class UncopyableError(Exception):
    """The folders hold something that cannot be copied; the message says what."""


class Entry(NamedTuple):
    """A file, folder or symbolic link."""

    mode: int
    modified_ns: int
    size: int
    extents: _Extents
    """A file's bytes without its holes, each run of bytes with its offset."""
    target: bytes
    """What a symbolic link points to."""


Tree = dict[bytes, Entry]
"""Entries by path, each folder before what is in it."""


def save(known: Tree, most_bytes: int) -> Tree:
    """Copy the folders.

    Args:
        known: An earlier copy. The content of files that did not change is shared with it.
        most_bytes: What the files may hold in all.

    Raises:
        UncopyableError: They hold more, or folders are nested too deeply.
    """
    tree: Tree = {}
    left = most_bytes
    opened: _Opened = {}
    try:
        for path, status in _walk(opened):
            _, mode = opened.get(_inode(status), (path, status.st_mode))
            entry = _copy(path, mode, status, known.get(path))
            if entry is None:
                continue
            left -= sum(len(data) for _offset, data in entry.extents)
            if left < 0:
                message = f"the files of the session hold more than {most_bytes} bytes"
                raise UncopyableError(message)
            tree[path] = entry
    finally:
        for path, mode in reversed(opened.values()):
            os.chmod(path, stat.S_IMODE(mode))
    return tree


def restore(tree: Tree) -> None:
    """Make the folders hold what a copy says, touching only what differs."""
    waiting = list(ROOTS)
    for root in ROOTS:
        os.chmod(root, _NEEDED[stat.S_IFDIR])
    while waiting:
        folder = waiting.pop()
        for path in (os.path.join(folder, name) for name in os.listdir(folder)):
            status = os.lstat(path)
            wanted = tree.get(path)
            kind = stat.S_IFMT(status.st_mode)
            is_shared = kind == stat.S_IFREG and status.st_nlink > 1
            if wanted is None or stat.S_IFMT(wanted.mode) != kind or is_shared:
                _remove(path, status)
                continue
            if kind in _NEEDED:
                os.chmod(path, _NEEDED[kind])
            if kind == stat.S_IFDIR:
                waiting.append(path)
    try:
        _fill(tree)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # The old and the new files do not fit together: make room first.
        for path, entry in tree.items():
            if stat.S_ISREG(entry.mode) and os.path.exists(path):
                os.truncate(path, 0)
        _fill(tree)


def _fill(tree: Tree) -> None:
    """Write every entry. Nothing of another type may be in its way."""
    for path, entry in tree.items():
        _write(path, entry)
    for path, entry in reversed(tree.items()):
        if not stat.S_ISLNK(entry.mode):
            os.chmod(path, stat.S_IMODE(entry.mode))
            os.utime(path, ns=(entry.modified_ns, entry.modified_ns))


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _walk(opened: _Opened) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield the roots and every entry below them; folders before what is in them.

    Folders and files that the cell made inaccessible to itself are opened up. `opened` gets the
    modes that they had.
    """
    waiting = list(reversed(ROOTS))
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            needed = _NEEDED.get(stat.S_IFMT(status.st_mode), 0)
            if status.st_mode & needed != needed:
                os.chmod(path, stat.S_IMODE(status.st_mode) | needed)
                opened[_inode(status)] = path, status.st_mode
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting += (os.path.join(path, name) for name in sorted(os.listdir(path)))
        except OSError as error:
            message = f"the files of the session cannot be read: {error.strerror}"
            raise UncopyableError(message) from error


def _copy(path: bytes, mode: int, status: os.stat_result, known: Entry | None) -> Entry | None:
    """Return a copy of a file, folder or symbolic link; None for anything else.

    Args:
        path: Of the original.
        mode: The one that the cell gave it; it may have been opened up since.
        status: Of the original.
        known: An earlier copy, if there is one.
    """
    extents: _Extents = ()
    target = b""
    if stat.S_ISREG(status.st_mode):
        extents = _read(path, status.st_size)
        if known is not None and known.extents == extents:
            extents = known.extents
    elif stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
    elif not stat.S_ISDIR(status.st_mode):
        return None
    return Entry(mode, status.st_mtime_ns, status.st_size, extents, target)


def _read(path: bytes, size: int) -> _Extents:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        found = []
        end = 0
        while end < size:
            try:
                start = os.lseek(descriptor, end, os.SEEK_DATA)
                end = os.lseek(descriptor, start, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:  # there is only a hole left
                    break
                start, end = end, size  # gVisor does not know of holes
            found.append((start, os.pread(descriptor, end - start, start)))
        return tuple(found)
    finally:
        os.close(descriptor)


def _remove(path: bytes, status: os.stat_result) -> None:
    """Remove a file, or a folder with all that is in it, however deeply that is nested."""
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(path)
        return
    # Every folder in it is first moved up, so that no path gets too long.
    root = next(root for root in ROOTS if path.startswith(root + b"/"))
    numbers = itertools.count()
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        os.chmod(folder, _NEEDED[stat.S_IFDIR])
        for inner in (os.path.join(folder, name) for name in os.listdir(folder)):
            if stat.S_ISDIR(os.lstat(inner).st_mode):
                os.chmod(inner, _NEEDED[stat.S_IFDIR])
                tops = (os.path.join(root, b"%d" % number) for number in numbers)
                free = next(top for top in tops if not os.path.lexists(top))
                os.rename(inner, free)
                waiting.append(free)
            else:
                os.unlink(inner)
        os.rmdir(folder)


def _write(path: bytes, entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    elif stat.S_ISLNK(entry.mode):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.symlink(entry.target, path)
    else:
        _write_file(path, entry)


def _write_file(path: bytes, entry: Entry) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        status = os.fstat(descriptor)
        if status.st_size == entry.size and _read(path, entry.size) == entry.extents:
            return
        # In place: a state that has the file open goes on with the same file.
        os.ftruncate(descriptor, 0)
        os.ftruncate(descriptor, entry.size)
        for offset, data in entry.extents:
            view = memoryview(data)
            while view:
                written = os.pwrite(descriptor, view, offset)
                view, offset = view[written:], offset + written
    finally:
        os.close(descriptor)


def put(path: str, content: bytes) -> None:
    """Write a file of the work area, in place of what is at its path, and make its folders.

    Raises:
        OSError: A part of its path is not a folder, or there is no room.
    """
    whole = os.path.join(ROOTS[0], os.fsencode(path))
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(whole)
    with open(whole, "wb") as file:
        file.write(content)


def get(tree: Tree, paths: list[str], most_bytes: int) -> tuple[list[str], list[bytes]]:
    """Return the paths that are files of the work area in a copy, and their contents.

    Raises:
        UncopyableError: They have more bytes, holes included.
    """
    found: dict[str, bytes] = {}
    left = most_bytes
    for path in paths:
        entry = tree.get(os.path.join(ROOTS[0], os.fsencode(path)))
        if entry is None or not stat.S_ISREG(entry.mode) or path in found:
            continue
        left -= entry.size
        if left < 0:
            message = f"the files that are asked for have more than {most_bytes} bytes"
            raise UncopyableError(message)
        content = bytearray(entry.size)
        for offset, data in entry.extents:
            content[offset : offset + len(data)] = data
        found[path] = bytes(content)
    return list(found), list(found.values())


def sizes(tree: Tree) -> dict[str, int]:
    """Return the size of every file of the work area in a copy, by its path."""
    return {
        os.fsdecode(os.path.relpath(path, ROOTS[0])): entry.size
        for path, entry in tree.items()
        if stat.S_ISREG(entry.mode) and path.startswith(ROOTS[0] + b"/")
    }
