"""How a slot's container is locked down, as the body of the Engine API's create call. Pure.

Layers, outermost first; a submission would have to get through all of them:

    no network, read-only root, nothing writable anywhere, no devices beyond Docker's own few
    an ordinary user, no capabilities, no-new-privileges
    seccomp: an allow list; all other calls answer "no such system call"
    cgroup: memory without swap, number of processes, CPUs if asked for

Inside, the supervisor gives every submission namespaces, limits and a seccomp filter of its
own. For that, it does two things that Docker's defaults forbid: it makes namespaces (in the allow
list) and mounts a fresh /proc (`MaskedPaths`). docs/adr/0005-docker-slots.md has the reasons.
"""

import errno
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.model import MiB
from grader.sandbox.contract import MAX_PROCESSES, MEMORY_OVERHEAD_BYTES
from sandbox_images.harness.lock_in.confinement import CORE_BYTES
from sandbox_images.harness.lock_in.reduced import POWER

REDUCED_OVERHEAD_BYTES = 1024 * MiB
"""Further memory if the slot has a kernel of its own, which takes memory itself. If it ran out,
that kernel would end and not the submission: there is room for what a submission takes between two
looks."""

MIN_UID = 20_000
MAX_UID = 60_000
"""Slots run as users between these, which the host seldom has and slots seldom share."""

_PROBED = frozenset(("clone3", "epoll_pwait2", "fchmodat2", "futex_waitv", "openat2"))

_SEALED = "ro,noexec,nosuid,nodev,size=4096,nr_inodes=1,mode=555"
"""Mount options of an empty read-only folder, for places that Docker leaves writable."""

_SEALED_FOLDERS = ("/dev/mqueue", "/dev/pts", "/dev/shm")  # noqa: S108 - sealing them

_COMMAND = ("python3", "-I", "-S", "/opt/grader/sandbox_images/harness/__main__.py", "supervisor")

_ENVIRONMENT = (
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "LANG=C.UTF-8",
    "HOME=/nonexistent",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotContainer:
    """What differs from one slot's container to the next."""

    image: str
    memory_bytes: int
    """The most that any batch of the slot may use."""
    uid: int
    """The container's user and group; no name needs to exist for it."""
    seccomp_profile: str
    """JSON, from `seccomp_profile`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    runtime: str | None = None
    """Such as "runsc"; None for the engine's default."""
    cpus: float | None = None
    """None: as many as the host has."""
    reduced: bool = False
    """Whether `sandbox_images.harness.lock_in.reduced` locks in the runs. The supervisor then has
    capabilities, so its kernel must not be the host's."""
    apparmor_profile: str | None = None
    """None if the host has no AppArmor."""


def create_body(container: SlotContainer) -> dict[str, Any]:
    """Return the JSON body for `POST /containers/create`."""
    memory_bytes = container.memory_bytes + MEMORY_OVERHEAD_BYTES
    if container.reduced:
        memory_bytes += REDUCED_OVERHEAD_BYTES
    host: dict[str, Any] = {
        "AutoRemove": True,
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": _security_options(container),
        "MaskedPaths": [],
        "ReadonlyPaths": [],
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "Tmpfs": dict.fromkeys(_SEALED_FOLDERS, _SEALED),
        "Memory": memory_bytes,
        "MemorySwap": memory_bytes,
        "PidsLimit": MAX_PROCESSES,
        "Ulimits": [
            {"Name": "core", "Soft": CORE_BYTES, "Hard": CORE_BYTES},
            {"Name": "nofile", "Soft": 1024, "Hard": 4096},
        ],
        "LogConfig": {"Type": "none"},
    }
    if container.cpus is not None:
        host["NanoCpus"] = round(container.cpus * 1e9)
    if container.runtime is not None:
        host["Runtime"] = container.runtime
    if container.reduced:
        host["CapAdd"] = list(POWER)
    return {
        "Image": container.image,
        "Cmd": list(_COMMAND),
        "Entrypoint": [],
        "User": "0:0" if container.reduced else f"{container.uid}:{container.uid}",
        "Env": list(_ENVIRONMENT),
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "NetworkDisabled": True,
        "Labels": dict(container.labels),
        "Healthcheck": {"Test": ["NONE"]},
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        # If our end is gone, the supervisor's input ends, and with it the container.
        "StdinOnce": True,
        "HostConfig": host,
    }


def layers(security_options: Collection[str], *, reduced: bool) -> dict[str, str]:
    """Return the layers that `create_body` asks for, each with its state on this engine."""
    overhead = MEMORY_OVERHEAD_BYTES + (REDUCED_OVERHEAD_BYTES if reduced else 0)
    seccomp = "an allow list" if "seccomp" in security_options else "missing: not in this kernel"
    apparmor = (
        "off for slots, whose supervisor has to mount"
        if "apparmor" in security_options
        else "not on this host"
    )
    return {
        "network": "none",
        "root file system": "read-only, nothing writable",
        "user": "one per submission; supervisor: some capabilities, in the slot's own kernel only"
        if reduced
        else f"an ordinary one ({MIN_UID}-{MAX_UID}), no capabilities, no new privileges",
        "system calls": seccomp,
        "apparmor": apparmor,
        "memory": f"the limit of the batches and {overhead // MiB} MiB, no swap",
        "processes": f"at most {MAX_PROCESSES} in a slot",
    }


def _security_options(container: SlotContainer) -> list[str]:
    options = ["no-new-privileges:true", f"seccomp={container.seccomp_profile}"]
    if container.apparmor_profile is not None:
        options.append(f"apparmor={container.apparmor_profile}")
    return options


def seccomp_profile(allowed: Iterable[str]) -> str:
    """Return a seccomp profile, as JSON, that knows only the given system calls.

    All other calls fail with ENOSYS instead of EPERM: libraries then assume an old kernel and use
    an older call, such as clone instead of clone3.
    """
    names = set(allowed)
    refuse = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS}
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.ENOSYS,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": [
            {"names": sorted(names), "action": "SCMP_ACT_ALLOW"},
            # Docker 20.10 does not know the default errno; these are what libraries probe for.
            {"names": sorted(_PROBED - names), **refuse},
        ],
    }
    return json.dumps(profile, separators=(",", ":"))
