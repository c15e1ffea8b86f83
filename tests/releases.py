"""Releases of the trainers: wheels that pip fetches, unpacked outside of the repository."""

import os
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing

DOWNLOAD_TIMEOUT_S = 120


def release(name: str, version: str) -> Path:
    """Return the folder of an unpacked wheel, never installed; skips where pip cannot get it."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = home / "grader-tests" / name
    folder = cache / version
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(cache), f"{name}=={version}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        missing(f"{name} {version}", "pip did not answer in time")
    if done.returncode:
        missing(f"{name} {version}", done.stderr.strip().rpartition("\n")[2])
    (wheel,) = cache.glob(f"{name}-{version}-*.whl")
    unpacked = cache / f".{version}.{os.getpid()}"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    unpacked.rename(folder)
    return folder


def installed(*modules: str) -> Any:
    """Return the first of these modules; skips the tests of this file where one is missing.

    Where TEST_TRAINERS is set, as by `make trainers`, they fail instead.
    """
    try:
        found = [import_module(name) for name in modules]
    except ImportError as error:
        if os.environ.get("TEST_TRAINERS"):
            raise
        pytest.skip(f"`make trainers` installs what this needs: {error}", allow_module_level=True)
    return found[0]
