"""Slots in Docker containers: the backend with the strongest isolation.

A slot is one container, locked down as grader.sandbox.docker.hardening says, whose process 1 is the
harness's supervisor. Frames travel over its attached standard streams, so there is no port and
no shared folder, and the engine may be on another machine.

Nothing is left behind. A container is removed when its slot closes. If this process dies, the
supervisor sees the end of its input and exits, and the engine removes the container. Containers
that are left even so are removed, in a thread, when the next grader on this machine opens its first
slot.
"""

import contextlib
import itertools
import logging
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from grader.config.settings import Settings
from grader.model import MiB
from grader.model.errors import GraderError, ImageNotFoundError, SandboxUnavailableError
from grader.process.exits import keep_from_forks
from grader.sandbox import images
from grader.sandbox.connection import PowerlessSlotError, SlotConnection, has_hung_up, kill_all
from grader.sandbox.docker import hardening
from grader.sandbox.docker.engine import REMOVAL_TIMEOUT_S, Attachment, Engine, EngineInfo
from grader.sandbox.docker.hardening import SlotContainer
from grader.sandbox.owner import Owner
from sandbox_images.harness.kernel.syscalls import CANDIDATE_ALLOWED, SUPERVISOR_EXTRA
from sandbox_images.harness.lock_in.reduced import POWER_CALLS

_log = logging.getLogger(__name__)

OWNER_LABEL = "grader.owner"

_USUAL_RUNTIME = "runc"

_STREAM_HEADER = struct.Struct(">BxxxI")
_STDERR = 2
_CHUNK = 256 * 1024
_LOG_TAIL_BYTES = 8 * 1024
_SOCKET_TIMEOUT_S = 0.5
"""How long one wait on the stream lasts before deadlines and the container are checked."""


class DockerTransport:
    """The byte streams of one slot's container.

    One thread receives; `kill` may come from any other.
    """

    def __init__(
        self, engine: Engine, container: str, stream: Attachment, on_kill: Callable[[bool], None]
    ) -> None:
        self.container = container
        self._pid = os.getpid()
        self._engine = engine
        self._stream = stream
        keep_from_forks(stream.socket)
        self._on_kill = on_kill
        self._stream.socket.settimeout(_SOCKET_TIMEOUT_S)
        self._kill_lock = threading.Lock()
        self._killed = False
        self._buffer = bytearray()
        self._left = 0
        """How many bytes of the current packet of standard output were not returned yet."""
        self._log = bytearray()

    def send(self, data: bytes, deadline: float) -> None:
        """Write all of `data` to the container's standard input; see `Transport.send`."""
        left = memoryview(data)
        while left:
            try:
                left = left[self._stream.socket.send(left) :]
            except TimeoutError:
                # The engine stops reading when a container dies, but keeps the stream open.
                self._check_hang_up()
                _check_time(deadline)
            except OSError as error:
                message = f"the slot's container hung up: {error}"
                raise SandboxUnavailableError(message) from error

    def receive(self, size: int, deadline: float) -> bytes:
        """Wait for the container's standard output; see `Transport.receive`."""
        while not self._left:
            if not self._next_packet(deadline):
                return b""
        if not self._buffer:
            self._fill(min(self._left, size), deadline)
        data = bytes(memoryview(self._buffer)[: min(self._left, size)])
        del self._buffer[: len(data)]
        self._left -= len(data)
        return data

    def is_alive(self) -> bool:
        """Tell whether the stream is open; the engine closes it when the container ends."""
        return not (self._killed or has_hung_up(self._stream.socket))

    def hang_up(self) -> None:
        """Make the supervisor end, so that the engine removes the container. Repeats harmlessly."""
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self._stream.socket.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Remove the container with everything in it. Repeats harmlessly; never raises."""
        if os.getpid() != self._pid:
            return  # This is a forked process, which does not own the container.
        with self._kill_lock:
            if self._killed:
                return
            self._killed = True
            self._stream.close()
            is_gone = _remove(self._engine, self.container)
        self._on_kill(is_gone)

    def log_tail(self) -> str:
        """Return the last of what the supervisor wrote to standard error."""
        return self._log.decode(errors="replace")

    def _check_hang_up(self) -> None:
        if not self.is_alive():
            message = "the slot's container hung up"
            raise SandboxUnavailableError(message)

    def _next_packet(self, deadline: float) -> bool:
        """Skip to the next packet of standard output; False at the end of the stream."""
        while True:
            if not self._fill(_STREAM_HEADER.size, deadline):
                return False
            kind, size = _STREAM_HEADER.unpack_from(self._buffer)
            del self._buffer[: _STREAM_HEADER.size]
            if kind != _STDERR:
                self._left = size
                return True
            complete = self._fill(size, deadline)
            self._log += self._buffer[:size]
            del self._buffer[:size], self._log[:-_LOG_TAIL_BYTES]
            if not complete:
                return False

    def _fill(self, size: int, deadline: float) -> bool:
        """Buffer at least `size` bytes; False if the stream ends before."""
        while len(self._buffer) < size:
            try:
                data = self._stream.socket.recv(_CHUNK)
            except TimeoutError:
                _check_time(deadline)
                continue
            except OSError as error:
                if self._killed:
                    return False
                message = f"the slot's stream broke: {error}"
                raise SandboxUnavailableError(message) from error
            if not data:
                return False
            self._buffer += data
        return True


class DockerSandbox:
    """Opens slots in containers of one Docker engine. Connects when it opens the first."""

    name = "docker"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._connected: tuple[Engine, EngineInfo] | None = None
        self._images: dict[str, str] = {}
        self._environments: dict[str, str] = {}
        self._open: dict[str, DockerTransport] = {}
        self._left_behind: set[str] = set()
        """Containers of dead graders, and those that the engine did not remove in time."""
        self._remover: threading.Thread | None = None
        """Removes what is left behind: for a frozen container, the engine takes for ever."""
        self._numbers = itertools.count()
        self._reduced = False
        """Whether slots have a kernel of their own, without mount namespaces for runs."""

    def open_slot(self, *, image: str, memory_bytes: int) -> SlotConnection:
        """Create and start a container and wait for its supervisor; see `Sandbox.open_slot`."""
        engine, info = self._connect()
        was_reduced = self._reduced
        try:
            return self._start(engine, info, image, memory_bytes)
        except PowerlessSlotError as error:
            if was_reduced or error.kernel == info.kernel:
                raise
            _log.info("slots are reduced: kernel %s of this runtime said: %s", error.kernel, error)
        # Safe, because capabilities in the slot's own kernel are not capabilities in the host's.
        self._reduced = True
        return self._start(engine, info, image, memory_bytes)

    def _start(
        self, engine: Engine, info: EngineInfo, image: str, memory_bytes: int
    ) -> SlotConnection:
        container = self._create(engine, info, image, memory_bytes)
        self._begin_removal(engine)  # because the engine answers
        try:
            stream = engine.attach(container)
        except SandboxUnavailableError:
            _remove(engine, container)
            raise
        transport = DockerTransport(
            engine, container, stream, on_kill=lambda gone: self._forget(container, is_gone=gone)
        )
        with self._lock:
            self._open[container] = transport
        try:
            engine.start(container)
            return SlotConnection(f"{self._kind(info)}-{next(self._numbers)}", transport)
        except BaseException:
            transport.kill()
            raise

    def check(self, image: str) -> None:
        """Make sure that slots of an image variant can be opened, without opening one.

        Raises:
            ImageNotFoundError: The image is missing or has another harness.
            SandboxUnavailableError: The engine does not answer.
        """
        engine, _ = self._connect()
        self._image(engine, image)

    def layers(self) -> Mapping[str, str]:
        """Return each isolation layer with its state here; never raises."""
        try:
            _, info = self._connect()
        except GraderError as error:
            return {"engine": f"missing: {error}"}
        runtime = self._settings.docker.runtime or info.default_runtime
        return {
            "engine": f"Docker {info.version}, runtime {runtime}, cgroup v{info.cgroup_version}",
            **{f"image {variant}": self._image_state(variant) for variant in images.VARIANTS},
            "submissions": self._isolation(),
            **hardening.layers(info.security_options, reduced=self._reduced),
        }

    def _isolation(self) -> str:
        """Open a slot, and return how it isolates submissions."""
        try:
            slot = self.open_slot(image=images.VARIANTS[0], memory_bytes=256 * MiB)
        except GraderError as error:
            return f"missing: {error}"
        slot.close()
        lacks = slot.facts["lacks"]
        return f"reduced: {'; '.join(lacks)}" if lacks else "namespaces of their own, all kinds"

    def environment(self, image: str) -> str:
        """Return the image's id and the runtime; see `Sandbox.environment`."""
        with self._lock:
            if self._connected is None and image in self._environments:
                return self._environments[image]  # closed; do not connect again for this
        try:
            engine, info = self._connect()
            name = f"{self._image(engine, image)} {self._kind(info)}"
        except GraderError as error:
            return f"missing: {error}"
        with self._lock:
            self._environments[image] = name
        return name

    def close(self) -> None:
        """Close every slot that is still open, and the connection. Repeats harmlessly.

        Containers that the engine does not remove in time are left to the next grader.
        """
        with self._lock:
            transports = list(self._open.values())
        kill_all(transports)
        with self._lock:
            connected, self._connected = self._connected, None
        if connected is not None:
            self._begin_removal(connected[0])
            if self._remover is not None:
                self._remover.join(REMOVAL_TIMEOUT_S)
            connected[0].close()

    def _connect(self) -> tuple[Engine, EngineInfo]:
        with self._lock:
            if self._connected is None:
                with contextlib.ExitStack() as undo:
                    engine = Engine.connect(self._settings.docker.host)
                    undo.callback(engine.close)
                    connected = engine, engine.info()
                    self._left_behind |= _orphans(engine)
                    undo.pop_all()
                self._connected = connected
            return self._connected

    def _create(self, engine: Engine, info: EngineInfo, variant: str, memory_bytes: int) -> str:
        image = self._image(engine, variant)
        try:
            return engine.create(self._body(info, image, memory_bytes))
        except ImageNotFoundError:
            # It was rebuilt since its id was read.
            with self._lock:
                self._images.pop(variant, None)
            image = self._image(engine, variant)
            return engine.create(self._body(info, image, memory_bytes))

    def _kind(self, info: EngineInfo) -> str:
        """Return the name of slots in reports, such as "docker" or "docker-runsc-reduced"."""
        runtime = self._settings.docker.runtime or info.default_runtime
        name = self.name if runtime == _USUAL_RUNTIME else f"{self.name}-{runtime}"
        return f"{name}-reduced" if self._reduced else name

    def _body(self, info: EngineInfo, image: str, memory_bytes: int) -> dict[str, Any]:
        calls = CANDIDATE_ALLOWED | SUPERVISOR_EXTRA
        if self._reduced:
            calls |= POWER_CALLS
        return hardening.create_body(
            SlotContainer(
                image=image,
                memory_bytes=memory_bytes,
                uid=hardening.MIN_UID + secrets.randbelow(hardening.MAX_UID - hardening.MIN_UID),
                seccomp_profile=hardening.seccomp_profile(calls),
                labels={OWNER_LABEL: Owner.current().label},
                runtime=self._settings.docker.runtime,
                reduced=self._reduced,
                apparmor_profile="unconfined" if "apparmor" in info.security_options else None,
            )
        )

    def _image(self, engine: Engine, variant: str) -> str:
        """Return the id of a variant's image. Checked once, so that all slots run the same one."""
        with self._lock:
            image = self._images.get(variant)
        if image is None:
            image = images.check(engine, variant, self._settings)
            with self._lock:
                self._images[variant] = image
        return image

    def _image_state(self, variant: str) -> str:
        engine, _ = self._connect()
        try:
            images.check(engine, variant, self._settings)
        except GraderError as error:
            return f"missing: {error}"
        return f"ready: {images.image_name(variant, self._settings)}"

    def _forget(self, container: str, *, is_gone: bool) -> None:
        with self._lock:
            self._open.pop(container, None)
            if not is_gone:
                self._left_behind.add(container)

    def _begin_removal(self, engine: Engine) -> None:
        with self._lock:
            if self._left_behind and (self._remover is None or not self._remover.is_alive()):
                remover = threading.Thread(
                    target=self._remove_left_behind, args=[engine], daemon=True
                )
                with contextlib.suppress(RuntimeError):  # no thread is left; the next slot tries it
                    remover.start()
                    self._remover = remover

    def _remove_left_behind(self, engine: Engine) -> None:
        with self._lock:
            left = set(self._left_behind)
        for container in left:
            if _remove(engine, container):
                with self._lock:
                    self._left_behind.discard(container)


def _check_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        message = "the slot's container does not answer"
        raise SandboxUnavailableError(message)


def _orphans(engine: Engine) -> set[str]:
    """Return the containers of graders on this machine that have died.

    Containers of living processes, and of processes on other machines, are not among them.
    """
    found = set()
    for container, labels in engine.containers(OWNER_LABEL).items():
        owner = Owner.parse(labels[OWNER_LABEL])
        if owner is not None and owner.is_gone():
            _log.warning("removing container %s of a grader that died", container[:12])
            found.add(container)
    return found


def _remove(engine: Engine, container: str) -> bool:
    """Remove a container and wait until it is gone; tell whether it is, and log why not."""
    deadline = time.monotonic() + REMOVAL_TIMEOUT_S
    try:
        engine.remove(container)
        # It may be ending already, because its supervisor ends with its input.
        while engine.exists(container):
            if time.monotonic() > deadline:
                _log.error("container %s is not gone after %s s", container, REMOVAL_TIMEOUT_S)
                return False
            time.sleep(0.02)
            engine.remove(container)
    except SandboxUnavailableError as error:
        _log.error("container %s may be left behind: %s", container, error)
        return False
    return True
