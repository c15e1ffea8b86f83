"""Containers that the engine does not remove, such as frozen ones, hold up nothing else."""

import threading
from typing import cast

import pytest

from grader.config.settings import Settings
from grader.model.errors import SandboxUnavailableError
from grader.sandbox.docker import backend
from grader.sandbox.docker.backend import DockerSandbox
from grader.sandbox.docker.engine import Engine, EngineInfo


class _Engine:
    """Removes a container only if nothing holds it."""

    def __init__(self, *containers: str) -> None:
        self.containers = set(containers)
        self.asked = threading.Semaphore(0)
        self.thawed = threading.Event()

    def remove(self, container: str) -> None:
        self.asked.release()
        self.thawed.wait()
        self.containers.discard(container)

    def exists(self, container: str) -> bool:
        return container in self.containers

    def close(self) -> None:
        pass


class _Refusing(_Engine):
    def remove(self, container: str) -> None:
        raise SandboxUnavailableError(container)


def begin(engine: _Engine) -> DockerSandbox:
    """Return a sandbox with containers that an earlier attempt could not remove."""
    sandbox = DockerSandbox(Settings())
    for container in engine.containers:
        sandbox._forget(container, is_gone=False)
    sandbox._begin_removal(cast("Engine", engine))
    return sandbox


def test_container_that_was_left_is_removed_while_others_go_on() -> None:
    engine = _Engine("frozen")
    sandbox = begin(engine)
    assert engine.asked.acquire(timeout=10)  # the removal has begun, and this thread went on
    sandbox._begin_removal(cast("Engine", engine))
    engine.thawed.set()
    assert sandbox._remover is not None
    sandbox._remover.join(10)
    assert engine.containers == sandbox._left_behind == set()
    assert not engine.asked.acquire(blocking=False)  # it was asked for once


def test_container_that_is_refused_is_tried_again() -> None:
    sandbox = begin(_Refusing("kept", "other"))
    assert sandbox._remover is not None
    sandbox._remover.join(10)
    assert sandbox._left_behind == {"kept", "other"}


def test_closing_waits_for_a_removal_no_longer_than_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backend, "REMOVAL_TIMEOUT_S", 0.01)
    engine = _Engine("frozen")
    sandbox = begin(engine)
    sandbox._connected = cast("tuple[Engine, EngineInfo]", (engine, None))
    sandbox.close()
    assert engine.containers == {"frozen"}
    engine.thawed.set()
