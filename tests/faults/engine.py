"""A Docker engine of a test's own, on a disk of its own, which a test may treat badly."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.deployment import Process, wait_until

_DISK_BYTES = 1500 * 1024**2
_ALL_BUT_DEAD = [
    f"--filter=status={status}"
    for status in ("created", "restarting", "running", "removing", "paused", "exited")
]


class Engine(Process):
    """dockerd in a network namespace of its own: it leaves the machine's bridges alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/sock"
        self.disk = folder / "disk"
        # Apart from the engine, as systemd has them: it survives when that is killed.
        supervisor = ["containerd", f"--address={folder}/containerd", f"--root={self.disk}/root"]
        supervisor += [f"--state={folder}/state", "--log-level=warn"]
        self._containerd = Process(supervisor, folder / "containerd.log", dict(os.environ))
        command = ["unshare", "--net", "dockerd", "--bridge=none", "--iptables=false"]
        command += ["--ip6tables=false", f"--host={self.address}", f"--pidfile={folder}/pid"]
        command += [f"--data-root={self.disk}/data", f"--exec-root={folder}/exec"]
        command += [f"--containerd={folder}/containerd"]
        super().__init__(command, folder / "log", dict(os.environ))

    def __enter__(self) -> Self:
        self.disk.mkdir(parents=True)
        image = self.folder / "disk.img"
        with image.open("wb") as file:
            file.truncate(_DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(self.disk)], check=True)
        self._containerd.start()
        wait_until((self.folder / "containerd").exists, 30, "containerd listens")
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        for process in (self, self._containerd):
            process.send(signal.SIGTERM)
            process.wait(60)
        # A killed engine leaves a mount of its own on it.
        subprocess.run(["umount", "--recursive", str(self.disk)], check=True)

    def start(self) -> None:
        # What a killed one leaves would keep it from starting.
        (self.folder / "pid").unlink(missing_ok=True)
        super().start()
        wait_until(lambda: self._answers() or not self.is_running, 60, "the engine answers")
        assert self.is_running, self.log()[-3000:]

    def docker(self, *arguments: str) -> str:
        command = ["docker", "--host", self.address, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def load(self, image: str) -> None:
        """Copy an image from the machine's own engine."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as source:
            command = ["docker", "--host", self.address, "load", "--quiet"]
            subprocess.run(command, stdin=source.stdout, check=True, capture_output=True)

    def containers(self) -> list[str]:
        """Return those that exist.

        Engine 20.10 goes on to list, as dead, what it removed while it was started.
        """
        return self.docker("ps", "--quiet", "--no-trunc", *_ALL_BUT_DEAD).split()

    def shims(self) -> list[int]:
        """Return the processes that hold containers."""
        own = f"-address\0{self.folder}/containerd\0".encode()
        return [
            int(folder.name)
            for folder in Path("/proc").glob("[0-9]*")
            if own in _read(folder / "cmdline")
        ]

    def fill_disk(self) -> None:
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as filler:
            while True:
                filler.write(b"\0" * (1 << 20))

    def free_disk(self) -> None:
        self._filler.unlink()

    @property
    def _filler(self) -> Path:
        return self.disk / "filler"

    def _answers(self) -> bool:
        command = ["docker", "--host", self.address, "version"]
        return subprocess.run(command, capture_output=True).returncode == 0


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # It has ended.


def obstacle() -> str | None:
    """Return why no engine can be started here; None if one can."""
    if os.geteuid() != 0:
        return "it needs root"
    lacking = [p for p in ("dockerd", "unshare", "mkfs.ext4") if shutil.which(p) is None]
    return f"{', '.join(lacking)} not found" if lacking else None
