"""Releases of the trainers: wheels that pip fetches, unpacked outside of the repository.

A test of a trainer's own code says by `cells` which releases and which way of calling us it is
about. CI runs those that differ from each other; `make trainers` runs all of them and makes the
table in docs/trainers/index.md of what came out.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing

DOWNLOAD_TIMEOUT_S = 120

RELEASES = {
    "OpenRLHF": (
        *(f"0.8.{patch}" for patch in range(12)),
        *(f"0.9.{patch}" for patch in range(11)),
        *(f"0.10.{patch}" for patch in range(5)),
        *(f"0.11.{patch}" for patch in range(3)),
    ),
    "ms-swift": ("3.12.6", "4.0.4", "4.6.0"),
    "NeMo-Gym": ("0.4.0",),
    "TRL": (*(f"1.{minor}.0" for minor in range(17)),),
    "verifiers": ("0.1.5", "0.1.8", "0.1.14", "0.2.1", "0.3.1", "0.4.0"),
    "verl": ("0.5.0", "0.6.0", "0.6.1", "0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
}
"""In the order in which they came; corrections such as 0.9.1.post1 are left out."""
PUBLISHED = "November 2026"
"""As which source of trainers is meant that are on no package index."""


def order(version: str) -> tuple[int, ...]:
    """Return what versions are compared by."""
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Releases that call us in one way."""

    first: str = "0"
    last: str = "9999"
    differing: tuple[str, ...] = ()
    """Releases that stand for the others if not all are run; none: the last."""


def cells(trainer: str, mode: str, span: Span, *, cannot: str = "") -> list[Any]:
    """Return the releases of a trainer to run a test with, as parameters of a test.

    Args:
        trainer: One of `RELEASES`.
        mode: How it calls us: a column of the table.
        span: Which releases the test is about.
        cannot: Why they cannot be served, if the test shows that.
    """
    within = [
        version
        for version in RELEASES[trainer]
        if order(span.first) <= order(version) <= order(span.last)
    ]
    run_all = os.environ.get("TEST_TRAINERS") == "all"
    chosen = within if run_all else span.differing or within[-1:]
    return [
        pytest.param(version, marks=pytest.mark.trainer(trainer, version, mode, cannot))
        for version in chosen
    ]


def release(name: str, version: str, *, python: str = "") -> Path:
    """Return the folder of an unpacked wheel, never installed; skips if pip cannot get it.

    Args:
        name: Of the package, as in its wheel's name.
        version: Of the package.
        python: The version of Python that it asks for, if that is not this one: what tests
            import of it has to work with this one.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = home / "grader-tests" / name
    folder = cache / version
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(cache), f"{name}=={version}"]
    if python:
        command += ["--python-version", python, "--only-binary", ":all:"]
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
    try:
        unpacked.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(unpacked)  # another process of the test run was quicker
    return folder


@dataclass(frozen=True, slots=True)
class Later:
    """Modules that are imported before the first test of the file that needs them.

    Every process of a test run collects every file. If collecting imported torch, each of them
    would take the time and the memory for it.
    """

    names: tuple[str, ...]

    def load(self) -> Any:
        """Import the modules, and return the first."""
        first, *_ = [import_module(name) for name in self.names]
        return first


def installed(*modules: str) -> Any:
    """Return what a fixture replaces by the first of these modules before the file's first test.

    Skips the tests of the file if one is missing. If TEST_TRAINERS is set, as by `make trainers`,
    they fail instead.
    """
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        reason = f"`make trainers` installs what this needs: {', '.join(lacking)}"
        if os.environ.get("TEST_TRAINERS"):
            raise ModuleNotFoundError(reason)
        pytest.skip(reason, allow_module_level=True)
    return Later(modules)
