"""What locks a slot's container down, as the body of the Engine API's create call. Pure.

Layers, outermost first; a submission would have to get through all of them:

    no network, read-only root, nothing writable anywhere, no devices beyond Docker's own few
    an ordinary user, no capabilities, no-new-privileges
    seccomp: an allow list, everything else answers "no such system call"
    cgroup: memory without swap, number of processes, CPUs where asked for

Inside, the supervisor gives every submission namespaces, limits and a seccomp filter of its
own. It needs two things that Docker's defaults forbid: to make namespaces (in the allow list)
and to mount a fresh /proc (`MaskedPaths`); docs/adr/0005-docker-slots.md has the why.
"""

import errno
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.model import MiB
from sandbox_images.harness.lock_in.confinement import CORE_BYTES
from sandbox_images.harness.lock_in.reduced import POWER

MEMORY_OVERHEAD_BYTES = 256 * MiB
"""Granted on top of a submission's memory for what is not the submission. Supervisor and zygotes
take 45 MiB, an input of 20 MB five times its size for a moment; the rest is for zygotes that
hold numpy and pandas."""

REDUCED_OVERHEAD_BYTES = 1024 * MiB
"""Granted besides where a kernel of the slot's own takes from it, and where running out would
end that kernel and not the submission: room for what a submission takes between two looks."""

MAX_PROCESSES = 1024
"""Of the whole slot. A batch's own limit is far lower; this one protects the host."""

MIN_UID = 20_000
MAX_UID = 60_000
"""Slots take users in between: no user of the host, and few slots that share one."""

_PROBED = frozenset(("clone3", "epoll_pwait2", "fchmodat2", "futex_waitv", "openat2"))

_SEALED = "ro,noexec,nosuid,nodev,size=4096,nr_inodes=1,mode=555"
"""Mount options of an empty read-only folder, over a place that Docker leaves writable."""

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
    """Whether the supervisor locks runs in as `sandbox_images.harness.lock_in.reduced` does it,
    with power over a kernel that must not be the host's."""
    apparmor_profile: str | None = None
    """None where the host has no AppArmor."""


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
        # When our end goes away, so does the supervisor's input, and with it the container.
        "StdinOnce": True,
        "HostConfig": host,
    }


def layers(security_options: Collection[str], *, reduced: bool) -> dict[str, str]:
    """Return what `create_body` asks for, layer by layer, with what this engine makes of it."""
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

    Everything else fails with ENOSYS and not EPERM: libraries take that for an old kernel and
    fall back, such as from clone3 to clone.
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
