"""The files of a problem package, read from a folder or a zip file. Neither is trusted."""

import posixpath
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from grader.model import MiB
from grader.model.errors import InputError

MOST_BYTES = 1 << 30
MOST_FILES = 50_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""No tool uses the others by default, and their size is only known once they are unpacked."""
_DAMAGES = (
    *(OSError, EOFError, ValueError, OverflowError, RuntimeError, struct.error, zlib.error),
    zipfile.BadZipFile,
)
"""What `zipfile` raises, depending on where a file is damaged. A `RuntimeError` is about
encryption, or a feature that it lacks."""


def read_files(path: Path) -> dict[str, bytes]:
    """Return the files of a package by their names in it. Links to other files are followed.

    Args:
        path: A folder or a zip file.

    Raises:
        InputError: It cannot be read; a name or a link leads out of it; two files have one name; or
            there are more than `MOST_FILES` files or `MOST_BYTES`.
    """
    try:
        return _of_zip(path) if path.suffix == ".zip" else _of_folder(path)
    except _DAMAGES as error:
        message = f"{path}: the package cannot be read: {error}"
        raise InputError(message) from error


def _of_folder(folder: Path) -> dict[str, bytes]:
    root = folder.resolve()
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if not path.resolve().is_relative_to(root):
            message = f"{name} is a link out of the folder"
            raise OSError(message)
        left -= path.stat().st_size
        _require_room(left, len(found) + 1)
        found[name] = path.read_bytes()
    return found


def _of_zip(path: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    links: dict[str, bytes] = {}
    left = MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        _require_room(left, len(entries))
        for entry in entries:
            name = entry.filename.replace("\\", "/")
            if name.startswith("/") or ".." in name.split("/"):
                message = f"the name {name[:200]!r} leads out of the package"
                raise OSError(message)
            if name in found or name in links:
                message = f"two files have the name {name[:200]!r}"
                raise OSError(message)
            if entry.compress_type not in _PACKINGS:
                message = f"{name[:200]!r} is packed by another method than deflate"
                raise OSError(message)
            left -= entry.file_size
            _require_room(left, len(entries))
            # At most the size that was counted above, since the entry may be larger than it says.
            with archive.open(entry) as file:
                content = file.read(entry.file_size)
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            (links if is_link else found)[name] = content
    return found | _linked(links, found)


def _linked(links: Mapping[str, bytes], found: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the content of symbolic links, each of which must lead to a file."""
    content: dict[str, bytes] = {}
    for name, target in links.items():
        path = posixpath.join(posixpath.dirname(name), target.decode("utf-8", "replace"))
        path = posixpath.normpath(path)
        if path not in found:
            message = f"{name[:200]!r} is a link to {path[:200]!r}, where the package has no file"
            raise OSError(message)
        content[name] = found[path]
    return content


def _require_room(left_bytes: int, files: int) -> None:
    if left_bytes < 0 or files > MOST_FILES:
        message = f"it has more than {MOST_FILES:,} files or {MOST_BYTES // MiB:,} MiB"
        raise OSError(message)
