"""Real Redis servers and real workers for tests, each a process that a test may treat badly."""

import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.model.wire import WIRE_VERSION
from grader.queueing import names
from tests.conftest import missing
from tests.traces import Known, family, mounts

if TYPE_CHECKING:
    from redis import Redis

REPO = Path(__file__).resolve().parent.parent

STOPPED_WORKER_TIMEOUT_S = 30.0

LASTING_KEYS = (
    "_kombu.binding",
    names.Key.STATS,
    names.Key.ERRORS,
    names.Key.REAPED,
    names.Key.VIRTUAL,
    names.Key.SLOTS,
    names.Key.SHARE,
    names.Key.HINTS,
    names.Key.SUITE,
    names.Key.SUITES_USED,
    names.Key.VERDICTS,
    names.Key.EDITIONS,
)
"""What docs/operations.md says may be there when all is done; beginnings of names."""


def redis_program() -> str | None:
    """Return where Redis is, or None."""
    return shutil.which("redis-server")


def wait_until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Poll a condition to a deadline."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            message = f"not within {timeout_s} s: {what}"
            raise AssertionError(message)
        time.sleep(0.02)


def free_port() -> int:
    """Return a port of the loopback address that is free now.

    Below those that Linux gives to connections: one of another test could get it before the server
    does that it is for, or while that server restarts.
    """
    while True:
        port = random.randrange(20_000, 32_768)  # noqa: S311 - not for security
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Process:
    """A child process that can be killed, stopped, and started again the same way."""

    def __init__(self, command: list[str], log: Path, environ: dict[str, str]) -> None:
        self._command = command
        self._log = log
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None
        self.family: set[Known] = set()
        """What it was, and what had descended from it whenever it was sent a signal."""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=REPO,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def send(self, number: signal.Signals) -> None:
        self.family |= family(self.pid)
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it at once, and wait until it is gone."""
        if self._process is not None:
            self.family |= family(self.pid)
            self._process.kill()
            self._process.wait()

    def wait(self, timeout_s: float) -> int:
        assert self._process is not None
        return self._process.wait(timeout_s)

    def log(self) -> str:
        return self._log.read_text(errors="replace")


class RedisServer(Process):
    """A Redis with an append-only file, on a port of its own."""

    def __init__(
        self, folder: Path, address: str = "", password: str = "", options: Sequence[str] = ()
    ) -> None:
        if redis_program() is None:
            missing("Redis", "there is no redis-server")
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._password = password
        self.url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"
        command = ["redis-server", "--bind", "127.0.0.1", *filter(None, [address])]
        command += ["--port", str(self.port), "--protected-mode", "no"]
        if password:
            command += ["--requirepass", password]
        command += ["--save", "", "--appendonly", "yes", "--dir", str(folder), *options]
        super().__init__(command, folder / "redis.log", dict(os.environ))

    def start(self) -> None:
        super().start()
        wait_until(self._answers, 20, "Redis answers")

    def connect(self) -> "Redis":
        from redis import Redis

        return Redis(
            host="127.0.0.1",
            port=self.port,
            password=self._password or None,
            decode_responses=True,
            protocol=2,
        )

    def key_names(self) -> set[str]:
        with self.connect() as client:
            return set(client.keys("*"))

    def stats(self) -> dict[str, int]:
        with self.connect() as client:
            return {name: int(value) for name, value in client.hgetall(names.Key.STATS).items()}

    def _answers(self) -> bool:
        from redis.exceptions import RedisError

        try:
            with self.connect() as client:
                return bool(client.ping())
        except RedisError:
            return False


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a worker runs, if not on this machine."""

    prefix: Sequence[str] = ()
    """A command that becomes the worker."""
    environ: Mapping[str, str] = field(default_factory=dict)


class Worker(Process):
    """A worker as `python -m worker` starts it."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        place: Place | None = None,
        **settings: Any,
    ) -> None:
        place = place or Place()
        environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
        environ |= {"TMPDIR": str(folder / "tmp"), **place.environ}
        for key, value in {"sandbox": "native", "slots": 2, **settings}.items():
            environ[f"GRADER_{key.upper()}"] = str(value)
        self.name = name
        command = [*place.prefix, sys.executable, "-m", "worker", "--hostname", f"{name}@test"]
        super().__init__(command, folder / f"{name}.log", environ)

    def stop(self, within_s: float = STOPPED_WORKER_TIMEOUT_S) -> None:
        """Stop it in order."""
        if not self.is_running:
            return
        self.send(signal.SIGTERM)
        try:
            self.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            message = f"{self.name} did not stop; its log ends: {self.log()[-3000:]}"
            raise AssertionError(message) from None

    def slots(self) -> list[int]:
        """Return the process ids of its native slots."""
        found: list[int] = []
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(OSError):  # if the thread has just ended
                found += map(int, (thread / "children").read_text().split())
        return found

    def kill_slots(self) -> None:
        for slot in self.slots():
            with suppress(ProcessLookupError):
                os.kill(slot, signal.SIGKILL)

    @contextmanager
    def without_sandbox(self) -> Iterator[None]:
        """Kill its slots, and leave it too few descriptors to open others meanwhile."""
        limits = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (8, limits[1]))
        try:
            self.kill_slots()
            yield
        finally:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, limits)

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log; each must be an object."""
        # Celery greets a signal with a line on standard output.
        lines = (line for line in self.log().splitlines() if line[:8] not in ("", "worker: "))
        return [json.loads(line) for line in lines]


class Deployment:
    """One Redis and its workers."""

    def __init__(
        self,
        folder: Path,
        *,
        redis_folder: Path | None = None,
        address: str = "",
        password: str = "",
        options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.redis = RedisServer(redis_folder or folder / "redis", address, password, options)
        self.broker = self.redis.url
        """The address that workers and clients get."""
        self.workers: list[Worker] = []
        self.temporary_files = folder / "tmp"
        """Where workers would put some."""
        self.temporary_files.mkdir(parents=True, exist_ok=True)
        self.mounts_before = mounts()
        self.threads_before = frozenset(threading.enumerate())
        """Those of this process."""
        self.redis.start()

    def add_worker(self, place: Place | None = None, **settings: Any) -> Worker:
        """Start a worker; it need not serve yet."""
        defaults = {"broker": self.broker, "queue_lease_s": 2, "queue_drain_s": 5}
        name = f"worker{len(self.workers)}"
        worker = Worker(name, self.folder, place=place, **{**defaults, **settings})
        worker.start()
        self.workers.append(worker)
        return worker

    @contextmanager
    def supervised(self) -> Iterator[None]:
        """Start workers again that end, as compose, systemd and Kubernetes do."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                for worker in self.workers:
                    if not worker.is_running:
                        worker.start()

        thread = threading.Thread(target=watch, name="supervisor")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers have told the ledger that they serve."""

        def serving() -> bool:
            with self.redis.connect() as client:
                return int(client.zcard(names.Key.WORKERS)) >= count

        wait_until(serving, 60, f"{count} workers serve")

    def add_workers(self, count: int) -> None:
        """Start workers, and wait until they serve."""
        for _ in range(count):
            self.add_worker()
        self.wait_for_workers(len(self.workers))

    def close(self) -> None:
        """Stop everything in order."""
        try:
            for worker in self.workers:
                worker.stop()
        finally:
            for worker in self.workers:
                worker.kill()
            self.redis.kill()

    def leftovers(self) -> set[str]:
        """Return the keys that should not be there when no client waits and no worker runs."""
        found = self.redis.key_names()
        # Tests of upgrades have workers of an older wire version.
        as_ours = {key: re.sub(r"^grader:\d+:", f"grader:{WIRE_VERSION}:", key) for key in found}
        return {key for key in found if not as_ours[key].startswith(LASTING_KEYS)}
