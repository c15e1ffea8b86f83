"""What a compiler may find made beforehand, such as precompiled headers, in a cache of this user.

Everything works without it, only slower; so whatever goes wrong here is logged and nothing more.
"""

import fcntl
import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from grader.languages import Language, Prebuilt

_log = logging.getLogger(__name__)

_BUILD_S = 60.0
_PATH = "/usr/local/bin:/usr/bin:/bin"


def prebuilt_folder(found: Iterable[Language]) -> Path | None:
    """Return the folder with what is made beforehand for some languages; make what is missing.

    The first call on a machine takes some seconds per language. Calls of several threads and
    processes wait for each other.

    Args:
        found: The languages; of one image, since all share the folder.

    Returns:
        The folder, readable by every user; None if there is nothing, or if it cannot be made.
    """
    wanted = {language.prebuilt.path: language.prebuilt for language in found if language.prebuilt}
    if not wanted:
        return None
    try:
        folder = _cache() / _key(wanted.values())
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path, prebuilt in wanted.items():
                if not (folder / path).exists():
                    _make(prebuilt, folder)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        _log.warning("nothing is made beforehand for compilers: %s", error)
        return None
    return folder


def _cache() -> Path:
    """Return the cache of this user.

    Raises:
        RuntimeError: The user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "grader/prebuilt"


def _key(wanted: Iterable[Prebuilt]) -> str:
    """Return a name for what is made with the compilers that are installed now."""
    digest = hashlib.sha256()
    for each in wanted:
        name = each.command[0]
        program = Path(shutil.which(name, path=_PATH) or name).resolve()
        status = program.stat()
        digest.update(repr((each, program, status.st_mtime_ns, status.st_size)).encode())
    return digest.hexdigest()[:16]


def _make(prebuilt: Prebuilt, folder: Path) -> None:
    path, source = folder / prebuilt.path, folder / prebuilt.source_path
    for each in (path, source):
        each.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(prebuilt.source)
    source.chmod(0o644)
    # The user of a slot must be able to read them, whatever the umask is.
    for each in (folder, path.parent, source.parent):
        each.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as aside:
        made = Path(aside, "made")
        subprocess.run(
            prebuilt.command_for(file=str(made), source=str(source)),
            env={"PATH": _PATH, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=_BUILD_S,
        )
        made.chmod(0o644)
        made.replace(path)
