"""Python packages for sandbox images, fetched on the host, since a build may reach no network."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.model.errors import ConfigurationError, SandboxError
from sandbox_images.lock import platform_options

_PINNED = re.compile(r"^[\w.-]+==[\w.]+", re.MULTILINE)
"""A package and its version in a lock."""
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:[<>=!~]=?[\w.*+,<>=!~]+)?")
"""A requirement without blanks. It cannot begin like an option of pip, and names no address."""


def install_locked(packages: Path, lock: Path, machine: str, wheels: Path | None) -> None:
    """Unpack the wheels of a lock into a folder, for the image's Python.

    Args:
        packages: The folder.
        lock: Lists packages with versions and hashes.
        machine: The processor of the image, such as "x86_64".
        wheels: A folder of wheels to take instead of those of a package index.

    Raises:
        ConfigurationError: This Python has no pip.
        SandboxError: A package could not be fetched.
    """
    options = ["--no-deps", "--require-hashes", f"--requirement={lock}"]
    _run_pip(f"the packages of {lock}", packages, machine, wheels, options)


def install_further(
    packages: Path,
    further: Sequence[str],
    *,
    locks: Sequence[Path],
    machine: str,
    wheels: Path | None,
) -> None:
    """Unpack further packages, and what they need, into a folder.

    Args:
        packages: The folder.
        further: What `parse_packages` returned.
        locks: Whatever these list stays at its version.
        machine: As for `install_locked`.
        wheels: As for `install_locked`.

    Raises:
        ConfigurationError: This Python has no pip.
        SandboxError: A package could not be fetched, or needs another version of a locked one.
    """
    pinned = _PINNED.findall("".join(lock.read_text() for lock in locks))
    with tempfile.NamedTemporaryFile("w", prefix="grader-pinned-", suffix=".txt") as constraints:
        constraints.write("\n".join(pinned))
        constraints.flush()
        options = [f"--constraint={constraints.name}", *further]
        _run_pip(" ".join(further), packages, machine, wheels, options)


def parse_packages(packages: str) -> list[str]:
    """Return pip's arguments for packages that a user names.

    Args:
        packages: Names with blanks between them, perhaps with versions, or the path of a
            requirements file.

    Raises:
        ConfigurationError: They are neither.
    """
    if Path(packages).is_file():
        return [f"--requirement={packages}"]
    names = packages.split()
    # A file that is missing would be looked up as a package.
    wrong = [name for name in names if name.endswith(".txt") or not _REQUIREMENT.fullmatch(name)]
    if wrong or not names:
        found = f"{wrong[0]!r}, which is neither" if wrong else "nothing"
        message = (
            "expected packages, such as 'matplotlib bs4==0.0.2', or a requirements file; "
            f"found {found}"
        )
        raise ConfigurationError(message)
    return names


def _run_pip(
    what: str, target: Path, machine: str, wheels: Path | None, options: Sequence[str]
) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-compile", f"--target={target}", *platform_options(machine)]
    if wheels is not None:
        command += ["--no-index", f"--find-links={wheels}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, errors="replace")
    if done.returncode:
        if "No module named pip" in done.stderr:
            message = f"{sys.executable} has no pip to fetch packages with: install it there"
            raise ConfigurationError(message)
        message = f"pip could not fetch {what}: {done.stderr.strip()}"
        raise SandboxError(message)
