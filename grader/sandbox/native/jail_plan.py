"""What a native jail shows of this machine: makes plans for sandbox_images.harness.lock_in.jail.

It shows only what Python needs to run: the system's programs and libraries, this interpreter, the
folder that holds pytest, and the harness. It does not show the host's homes, /etc, /var, /run or
sockets.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import sandbox_images.harness
from grader import languages
from grader.model.errors import ImageNotFoundError, SandboxUnavailableError
from grader.sandbox.native.prebuilt import prebuilt_folder
from sandbox_images.harness.lock_in.jail import JailPlan

HARNESS = Path(sandbox_images.harness.__file__).parent
_HARNESS_INSIDE = "/opt/grader/sandbox_images"

_FOLDERS = ("/box", "/work", "/tmp", "/dev/shm", "/usr/local/bin")  # noqa: S108 - in the jail
"""Empty folders in the jail. Each run mounts its own over the first four."""

_SYSTEM_FOLDERS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""In / and in /usr. On most systems, those in / are links to those in /usr."""

_SYSTEM_EXTRAS = (
    "/etc/alternatives",  # where links such as /usr/bin/awk and libblas.so.3 lead
    "/etc/ld.so.cache",
    "/usr/libexec",
    "/usr/share/zoneinfo",
)

_FILES = {
    "/etc/passwd": (
        "root:x:0:0:root:/:/bin/sh\n"
        "submission:x:20000:20000:submission:/work:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/:/bin/sh\n"
    ),
    "/etc/group": "root:x:0:\nsubmission:x:20000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/etc/localtime": "/usr/share/zoneinfo/Etc/UTC",  # as in the images, wherever the host is
}

_STAGES = ("/mnt", "/media", "/srv", "/boot", "/home", "/tmp")  # noqa: S108 - only mounted over
"""Folders that most systems have. The jail's root is mounted over one of them."""

_TAKEN = ("/box", "/work", "/tmp", "/dev", "/proc", "/sys", "/etc", "/opt/grader")  # noqa: S108
"""Places in the jail at which no folder of the host may be shown."""

_PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_NEEDED = {"python": _PYTEST, "science": (*_PYTEST, "numpy")}
"""By image variant for Python, the modules that this Python must have."""


def make_plan(*, image: str, uid: int | None, cgroups: Mapping[str, str]) -> JailPlan:
    """Return the plan of a slot's jail.

    Args:
        image: The image variant.
        uid: The kernel user for the slot; None if the jail is built in a user namespace.
        cgroups: Folders of the slot's cgroups, by their paths in the jail.

    Raises:
        ImageNotFoundError: There is no such variant, or this machine lacks a package of it.
        SandboxUnavailableError: No jail can be built on this machine.
    """
    binds, links = _system_parts()
    _add_languages(binds, image)
    python = _add_interpreter(binds)
    site_folders = [
        _add(binds, folder, f"/opt/site-packages/{number}")
        for number, folder in enumerate(_site_folders(image))
    ]
    binds[f"{_HARNESS_INSIDE}/__init__.py"] = str(HARNESS.parent / "__init__.py")
    binds[f"{_HARNESS_INSIDE}/harness"] = str(HARNESS)
    stage = _find_stage(binds)
    if "/usr/local" not in binds:
        links |= {f"/usr/local/bin/{name}": python for name in ("python", "python3")}
    program = f"{_HARNESS_INSIDE}/harness/__main__.py"
    return JailPlan(
        command=[python, "-I", "-S", program, "supervisor", *site_folders],
        environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
        stage=stage,
        folders=list(_FOLDERS),
        files=_FILES,
        links={**_LINKS, **links},
        binds={**binds, **cgroups},
        devices=list(_DEVICES),
        cgroups=list(cgroups.values()),
        uid=uid,
    )


def warden_command(plan: JailPlan) -> list[str]:
    """Return the command that builds the jail, outside of it and with this interpreter."""
    program = str(HARNESS / "__main__.py")
    return [sys.executable, "-I", "-S", program, "jail", json.dumps(asdict(plan))]


def _system_parts() -> tuple[dict[str, str], dict[str, str]]:
    """Return the binds and links for the system's programs and libraries."""
    binds: dict[str, str] = {}
    links: dict[str, str] = {}
    for parent in ("/usr", "/"):
        for name in _SYSTEM_FOLDERS:
            folder = Path(parent, name)
            if folder.is_symlink():
                links[str(folder)] = str(folder.readlink())
            elif folder.is_dir():
                binds[str(folder)] = str(folder)
    for extra in _SYSTEM_EXTRAS:
        if Path(extra).exists():
            binds[extra] = extra
    return binds, links


def _add_languages(binds: dict[str, str], image: str) -> None:
    """Show the folders that the languages of an image variant need.

    Raises:
        ImageNotFoundError: This machine lacks a program.
    """
    found = languages.in_image(image)
    if lacking := languages.missing(found):
        titles = " and ".join(language.title for language in found)
        message = (
            f"{titles} cannot be run here: there is no {', '.join(lacking)}; "
            f"on Debian: apt-get install {' '.join(dict.fromkeys(lacking.values()))}"
        )
        raise ImageNotFoundError(message)
    for pattern in dict.fromkeys(folder for language in found for folder in language.folders):
        for folder in sorted(Path("/").glob(pattern.lstrip("/"))):
            binds[str(folder)] = str(folder)
    if (prebuilt := prebuilt_folder(found)) is not None:
        binds[languages.PREBUILT] = str(prebuilt)


def _add_interpreter(binds: dict[str, str]) -> str:
    """Show this Python, without its virtual environment; return its path in the jail."""
    base = Path(sys.base_prefix).resolve()
    interpreter = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if not interpreter.is_relative_to(base):
        message = f"the interpreter {interpreter} is not below its own prefix {base}"
        raise SandboxUnavailableError(message)
    if base == Path("/usr"):
        # Debian's Python keeps a part of its configuration here.
        binds |= {str(folder): str(folder) for folder in sorted(Path("/etc").glob("python3*"))}
        return str(interpreter)
    return str(Path(_add(binds, base, "/opt/python"), interpreter.relative_to(base)))


def _site_folders(image: str) -> list[Path]:
    """Return the folders of the packages that an image variant has."""
    parts = languages.parts(image)
    if not all(part in _NEEDED or languages.in_image(part) for part in parts):
        known = [*_NEEDED, *dict.fromkeys(each.image for each in languages.languages().values())]
        message = f"there is no image variant {image!r}; expected one of {', '.join(known)}"
        raise ImageNotFoundError(message)
    folders: dict[Path, None] = {}
    for name in dict.fromkeys(name for part in parts for name in _NEEDED.get(part, _PYTEST)):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            message = f"the native sandbox {image!r} needs {name}: pip install {name}"
            raise ImageNotFoundError(message)
        origin = Path(spec.origin).resolve()
        folders[origin.parents[1] if spec.submodule_search_locations else origin.parent] = None
    return list(folders)


def _add(binds: dict[str, str], folder: Path, elsewhere: str) -> str:
    """Show a folder at its own path, or `elsewhere` if that is taken; return the path."""
    if any(folder.is_relative_to(inside) for inside, outside in binds.items() if inside == outside):
        return str(folder)
    in_the_way = any(
        folder.is_relative_to(taken) or Path(taken).is_relative_to(folder) for taken in _TAKEN
    )
    inside = elsewhere if in_the_way else str(folder)
    binds[inside] = str(folder)
    return inside


def _find_stage(binds: Mapping[str, str]) -> str:
    """Return a folder to mount the root over. Nothing in `binds` may lie in it."""
    for stage in _STAGES:
        clear = not any(Path(outside).is_relative_to(stage) for outside in binds.values())
        if clear and Path(stage).is_dir() and not Path(stage).is_symlink():
            return stage
    message = f"none of the folders {', '.join(_STAGES)} can be mounted over"
    raise SandboxUnavailableError(message)
