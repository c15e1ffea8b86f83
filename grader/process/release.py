"""Which release and build of the grader this process runs."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

_DIGITS = 12
_SOURCES = (".py", ".lua")


@cache
def installed_version() -> str | None:
    """Return the version of the installed package; None if it runs from its source tree alone."""
    try:
        return version("grader-rl")
    except PackageNotFoundError:
        return None


@cache
def build_id() -> str:
    """Return a digest, of 12 hexadecimal digits, of all sources that grade.

    A release has one, and so has every state of a source tree between two releases.
    """
    digest = hashlib.sha256()
    for package in ("grader", "sandbox_images"):
        _add(digest, files(package), package)
    return digest.hexdigest()[:_DIGITS]


def _add(digest: "hashlib._Hash", folder: Traversable, name: str) -> None:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{name}/{each.name}"
        if each.is_dir():
            _add(digest, each, path)
        elif each.name.endswith(_SOURCES):
            content = each.read_bytes()
            digest.update(f"{path} {len(content)}\n".encode() + content)
