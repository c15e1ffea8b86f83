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

from grader.languages import Language

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
        folder = _cache() / _key([each.command for each in wanted.values()])
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path, prebuilt in wanted.items():
                if not (folder / path).exists():
                    _make(prebuilt.command, folder / path)
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


def _key(commands: list[tuple[str, ...]]) -> str:
    """Return a name for what some commands make with the compilers that are installed now."""
    digest = hashlib.sha256()
    for command in commands:
        program = Path(shutil.which(command[0], path=_PATH) or command[0]).resolve()
        status = program.stat()
        digest.update(repr((command, program, status.st_mtime_ns, status.st_size)).encode())
    return digest.hexdigest()[:16]


def _make(command: tuple[str, ...], path: Path) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent.parent, prefix=".") as folder:
        made = Path(folder, "made")
        subprocess.run(
            [part.replace("{file}", str(made)) for part in command],
            env={"PATH": _PATH, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=_BUILD_S,
        )
        made.chmod(0o644)
        made.replace(path)
