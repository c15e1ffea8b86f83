"""Cgroups for native slots: found, made, limited and removed by this process.

Every slot gets a group below one named "grader", with limits on memory without swap and on
processes, so that the kernel counts and limits a submission as a whole. If that is impossible,
`find_home` says why, and the supervisor in the slot polls instead.

A group's name says which grader made it, so that a later grader can remove those of a dead one.
"""

import contextlib
import itertools
import logging
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.model.errors import SandboxUnavailableError
from grader.sandbox.owner import Owner

_log = logging.getLogger(__name__)

_NAME = "grader"
_CONTROLLERS_V1 = ("memory", "pids", "cpuacct")
_CONTROLLERS_V2 = ("memory", "pids")
_INSIDE = "/sys/fs/cgroup"
_REMOVAL_TIMEOUT_S = 5.0
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupHome:
    """The place for slots' groups: one folder named "grader" per hierarchy."""

    version: int
    folders: Mapping[str, Path]
    """By the path of the slot's group in a jail. Version 1 has one per controller."""

    def create(self, *, memory_bytes: int, processes: int) -> "SlotCgroup":
        """Make a slot's group.

        Raises:
            SandboxUnavailableError: The kernel refused.
        """
        name = f"{_encode(Owner.current())}.{next(_numbers)}"
        group = SlotCgroup(folders={inside: home / name for inside, home in self.folders.items()})
        try:
            for home in self.folders.values():
                _prepare(home, self.version)
            for folder in group.folders.values():
                folder.mkdir()
                _set_limits(folder, memory_bytes, processes)
        except OSError as error:
            group.remove()
            message = f"cannot make a cgroup for a slot: {error}"
            raise SandboxUnavailableError(message) from error
        return group

    def sweep(self) -> None:
        """Remove the groups of graders that have died, with whatever still runs in them."""
        for home in self.folders.values():
            for folder in _subfolders(home):
                owner = _decode(folder.name)
                if owner is not None and owner.is_gone():
                    _remove(folder)

    def close(self) -> None:
        """Remove the folders named "grader", unless another grader has groups in them."""
        for home in self.folders.values():
            with contextlib.suppress(OSError):
                home.rmdir()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCgroup:
    """One slot's group."""

    folders: Mapping[str, Path]
    """By their paths in the jail."""

    def remove(self) -> None:
        """Kill what still runs in the group and remove it. Repeats harmlessly; never raises."""
        for folder in self.folders.values():
            _remove(folder)


def find_home(
    mountinfo: Path = Path("/proc/self/mountinfo"), membership: Path = Path("/proc/self/cgroup")
) -> CgroupHome | str:
    """Find where this process may make groups; if nowhere, return a sentence that says why.

    The paths are parameters so that tests can read recorded machines.
    """
    mounts = list(_cgroup_mounts(mountinfo))
    by_controller = {
        name: mount.folder
        for mount in mounts
        if mount.version == 1
        for name in mount.options
        if name in _CONTROLLERS_V1
    }
    if len(by_controller) == len(_CONTROLLERS_V1):
        folders = {f"{_INSIDE}/{name}": by_controller[name] / _NAME for name in _CONTROLLERS_V1}
        return _try_home(CgroupHome(version=1, folders=folders))
    for mount in mounts:
        controllers = _words(mount.folder / "cgroup.controllers")
        if mount.version == 2 and {*_CONTROLLERS_V2} <= controllers:
            return _find_home_v2(mount.folder, membership)
    return "no cgroup hierarchy with memory and pids controllers is mounted"


def _find_home_v2(root: Path, membership: Path) -> CgroupHome | str:
    """Take the topmost group on the way to our own in which we may make groups."""
    own = next(
        (line[3:] for line in membership.read_text().splitlines() if line.startswith("0::")), "/"
    )
    reason = "none of the groups of this process is delegated to it"
    place = root
    for part in ("", *own.strip("/").split("/")):
        place = place / part
        # To move a process, the kernel wants write access to the common ancestor.
        if os.access(place / "cgroup.procs", os.W_OK) and os.access(place, os.W_OK):
            found = _try_home(CgroupHome(version=2, folders={_INSIDE: place / _NAME}))
            if isinstance(found, CgroupHome):
                return found
            reason = found
    return reason


def _try_home(home: CgroupHome) -> CgroupHome | str:
    try:
        for folder in home.folders.values():
            _prepare(folder, home.version)
    except OSError as error:
        home.close()
        return f"{error.filename}: {error.strerror}"
    for folder in home.folders.values():
        # It may exist already, made by a grader of another user.
        if not os.access(folder, os.W_OK):
            return f"{folder}: not writable"
    return home


def _prepare(home: Path, version: int) -> None:
    """Prepare a folder named "grader" for slots' groups."""
    if version == 2:
        _enable_controllers(home.parent)
    home.mkdir(exist_ok=True)
    if version == 2:
        _enable_controllers(home)


def _enable_controllers(folder: Path) -> None:
    control = folder / "cgroup.subtree_control"
    if not {*_CONTROLLERS_V2} <= _words(control):
        control.write_text(" ".join(f"+{name}" for name in _CONTROLLERS_V2))


def _set_limits(folder: Path, memory_bytes: int, processes: int) -> None:
    """Set the limits of a new group, as far as its controllers have them.

    If a kernel's controllers cannot limit swap, only memory is limited.
    """
    values = {
        "memory.max": memory_bytes,
        "memory.swap.max": 0,
        "memory.limit_in_bytes": memory_bytes,
        "memory.memsw.limit_in_bytes": memory_bytes,
        "memory.swappiness": 0,
        "pids.max": processes,
    }
    for name, value in values.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value))


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    while folder.exists():
        try:
            folder.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                _log.warning("cannot remove the cgroup %s: %s", folder, error)
                return
            # 0 is a process outside our pid namespace; to kill() it would mean this process group.
            for pid in _words(folder / "cgroup.procs") - {"0"}:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.01)


# ---------------------------------------------------------------- reading the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class _CgroupMount:
    version: int
    folder: Path
    options: frozenset[str]


def _cgroup_mounts(mountinfo: Path) -> Iterator[_CgroupMount]:
    """Read the mounted hierarchies; proc_pid_mountinfo(5) has the format."""
    for line in mountinfo.read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _source, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            yield _CgroupMount(
                version=2 if kind == "cgroup2" else 1,
                folder=Path(before.split()[4]),
                options=frozenset(options.split(",")),
            )


def _words(file: Path) -> set[str]:
    try:
        return set(file.read_text().split())
    except OSError:
        return set()


def _subfolders(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _encode(owner: Owner) -> str:
    return owner.label.replace("/", ",")


def _decode(name: str) -> Owner | None:
    label, _, number = name.rpartition(".")
    return Owner.parse(label.replace(",", "/")) if number.isdecimal() else None
