"""Every backend behind one fixture: a test here holds for all that run code.

`slot` and `sandbox` come once for the fake, Docker and the native jail. A test that takes
`isolated` besides is about something that only a real wall gives, and leaves the fake out.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import DockerSettings
from grader.model import Limits, MiB, SuiteFile
from grader.sandbox.connection import SlotConnection
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot
from grader.sandbox.docker.backend import OWNER_LABEL
from grader.sandbox.docker.engine import Engine
from grader.sandbox.owner import Owner
from tests.conftest import docker_settings
from tests.fake.backend import FakeSandbox

MEMORY_BYTES = 256 * MiB

BACKENDS = (
    pytest.param("fake", id="fake"),
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
    pytest.param("runsc", id="runsc", marks=pytest.mark.docker),
    pytest.param("native", id="native"),
)

CONTAINERS = ("docker", "runsc")

LIMITS = Limits(
    cpu_time_s=5.0,
    wall_time_s=25.0,  # on a busy machine, other limits are still hit first
    memory_bytes=MEMORY_BYTES,
    output_bytes=64 * 1024,
    processes=16,
    work_bytes=4 * MiB,
    work_files=64,
)


def make_batch(
    source: str,
    *runs: bytes,
    program: Program = Program.STDIN,
    files: dict[str, str] | None = None,
    limits: dict[str, Any] | None = None,
    **fields: Any,
) -> RunBatch:
    """Return a batch; without `runs`, it has one run with empty standard input."""
    return RunBatch(
        program=program,
        source=source,
        runs=runs or (b"",),
        limits=replace(LIMITS, **(limits or {})),
        files=tuple(SuiteFile(path=p, content=c.encode()) for p, c in (files or {}).items()),
        **fields,
    )


def run_one(slot: Slot, batch: RunBatch) -> RunOutcome:
    """Run a batch of one run to its end and return its outcome."""
    (outcome,) = slot.run(batch)
    return outcome


def events(outcome: RunOutcome) -> list[dict[str, Any]]:
    """Return what the runner reported."""
    return [json.loads(line) for line in outcome.report.splitlines()]


def event(outcome: RunOutcome, name: str) -> dict[str, Any]:
    """Return the only event of a kind."""
    (found,) = (entry for entry in events(outcome) if entry["e"] == name)
    return found


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """The name of the backend under test."""
    return str(request.param)


@pytest.fixture(scope="module")
def sandbox(backend: str, request: pytest.FixtureRequest) -> Sandbox:
    """The backend under test."""
    if backend == "fake":
        return FakeSandbox()
    if backend == "native":
        pytest.importorskip("grader.sandbox.native.backend", exc_type=ModuleNotFoundError)
    found: Sandbox = request.getfixturevalue(f"{backend}_sandbox")
    return found


@pytest.fixture
def isolated() -> None:
    """Mark a test as being about isolation, which the fake lacks."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of isolation for the fake: there is nothing to wait for, so no skip.

    Dialogues on gVisor's kernel are slow: each of their many messages takes it a while.
    """
    for item in items:
        if "[runsc" in item.name and "dialogues" in item.path.name:
            item.add_marker(pytest.mark.slow)
    left_out = [item for item in items if _needs_wall(item) and "[fake" in item.name]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _needs_wall(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "isolated" in item.fixturenames


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    """A slot that the tests of a module share, as submissions do."""
    slot = sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    yield slot
    slot.close()


@pytest.fixture
def open_slot(sandbox: Sandbox) -> Iterator[Callable[[], Slot]]:
    """Open slots of the test's own, which it may break."""
    opened: list[Slot] = []

    def open_one() -> Slot:
        opened.append(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES))
        return opened[-1]

    yield open_one
    for slot in opened:
        slot.close()


@pytest.fixture
def new_sandbox(backend: str, sandbox: Sandbox) -> Iterator[Callable[[], Sandbox]]:
    """Make further instances of the backend, which the test may close."""
    made: list[Sandbox] = []

    def make() -> Sandbox:
        kind: Any = type(sandbox)
        docker = DockerSettings(runtime="runsc" if backend == "runsc" else None)
        settings = replace(docker_settings(), docker=docker)
        made.append(kind() if backend == "fake" else kind(settings))
        return made[-1]

    yield make
    for instance in made:
        instance.close()


# ---------------------------------------------------------------- seen from outside


@pytest.fixture
def kill_slot(backend: str) -> Callable[[SlotConnection], None]:
    """Kill a slot as a crash would, behind its owner's back."""

    def kill(slot: SlotConnection) -> None:
        transport: Any = slot._transport
        if backend in CONTAINERS:
            engine = Engine.connect()
            engine.remove(transport.container)
            engine.close()
        else:
            os.kill(transport._warden.pid, signal.SIGKILL)

    return kill


@pytest.fixture
def remains(backend: str) -> Callable[[], set[str]]:
    """Return the processes or containers of this process's slots, as the host sees them."""

    def containers() -> set[str]:
        engine = Engine.connect()
        label = f"{OWNER_LABEL}={Owner.current().label}"
        found = set(engine.containers(label))
        engine.close()
        return found

    def processes() -> set[str]:
        return {
            pid
            for children in Path("/proc/self/task").glob("*/children")
            for pid in children.read_text().split()
        }

    return containers if backend in CONTAINERS else processes
