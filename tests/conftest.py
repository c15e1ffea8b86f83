"""Fixtures that every kind of test shares: real backends, recorded data, and the leak check.

A service that is missing skips its tests on a developer's machine and fails them if `CI`
is set: a green CI run has run everything.
"""

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Never, TypeVar

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from grader.config.settings import Settings
    from grader.sandbox.docker.backend import DockerSandbox
    from grader.sandbox.native.backend import NativeSandbox

    _Sandbox = TypeVar("_Sandbox", DockerSandbox, NativeSandbox)

REPO = Path(__file__).resolve().parent.parent

# Without deadlines, since a busy machine is slow; under CI, Hypothesis sets none by itself.
settings.register_profile("no deadlines", deadline=None)
settings.load_profile("no deadlines")

TIMEOUTS_S = {"docker": 120, "slow": 900}
"""How long a test with a marker may take if it does not say so itself; else 60 s."""

LEAK_GRACE_S = 5.0
"""How long what is being torn down may take to vanish."""

PR_SET_CHILD_SUBREAPER = 36


gc.disable()  # what pytest collects lives as long as the tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of a slow kind the time that their kind takes."""
    for item in items:
        if item.get_closest_marker("timeout") is not None:
            continue
        needed = [
            timeout_s for name, timeout_s in TIMEOUTS_S.items() if item.get_closest_marker(name)
        ]
        if needed:
            item.add_marker(pytest.mark.timeout(max(needed)))


def missing(service: str, reason: str) -> Never:
    """Skip the test because a service is missing, or fail it if all services must be there."""
    message = f"{service} is not available: {reason}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


# ---------------------------------------------------------------- places and services


@pytest.fixture(scope="session")
def repo_dir() -> Path:
    """The root of this repository."""
    return REPO


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of recorded data beside the repository; its tests skip if it is absent."""
    folder = REPO.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"no recorded data: {folder.name}/data is not beside the repository")
    return folder


def docker_settings() -> "Settings":
    """Return the defaults, but with the images that the environment names."""
    from grader.config.loading import load_settings
    from grader.config.settings import Settings

    return Settings(images=load_settings().settings.images)


def opened(name: str, make: "Callable[[], _Sandbox]") -> "Iterator[_Sandbox]":
    """Lend a backend that opens slots; if it cannot, it is missing."""
    from grader.config.settings import Settings
    from grader.model.errors import GraderError

    try:
        sandbox = make()
        sandbox.open_slot(image="python", memory_bytes=Settings().limits.memory_bytes).close()
    except GraderError as error:
        missing(name, str(error))
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def docker_sandbox() -> "Iterator[DockerSandbox]":
    """The real Docker backend, with an engine that answers and an image that matches."""
    from grader.sandbox.docker.backend import DockerSandbox

    yield from opened("Docker with the sandbox image", lambda: DockerSandbox(docker_settings()))


@pytest.fixture(scope="session")
def runsc_sandbox() -> "Iterator[DockerSandbox]":
    """The real Docker backend with gVisor's kernel under it, if the engine has that runtime."""
    from grader.config.settings import DockerSettings
    from grader.sandbox.docker.backend import DockerSandbox

    docker = DockerSettings(runtime="runsc")
    yield from opened(
        "Docker with the runsc runtime",
        lambda: DockerSandbox(replace(docker_settings(), docker=docker)),
    )


@pytest.fixture(scope="session")
def native_sandbox() -> "Iterator[NativeSandbox]":
    """The real namespace jail of this machine."""
    from grader.config.settings import Settings
    from grader.sandbox.native.backend import NativeSandbox

    yield from opened("The native sandbox", lambda: NativeSandbox(Settings()))


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], float], None]:
    """Poll a condition to a deadline, for what happens in another process."""

    def wait(condition: Callable[[], bool], timeout_s: float) -> None:
        assert _poll(condition, timeout_s), f"not so within {timeout_s} s"

    return wait


def _poll(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module", autouse=True)
def _garbage_is_of_this_module() -> None:
    """Have the garbage collector pass over what was there before, such as tests and torch.

    Tests run pytest in this process, too, and it collects garbage five times whenever it ends.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _installed_is_imported(request: pytest.FixtureRequest) -> None:
    """Put the modules in place of what `releases.installed` returned."""
    from tests.releases import Later

    for name, value in list(vars(request.module).items()):
        if isinstance(value, Later):
            setattr(request.module, name, value.load())


# ---------------------------------------------------------------- nothing outlives the session


@pytest.fixture(scope="session", autouse=True)
def _nothing_outlives_the_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the session when a process or container that it started is there at its end.

    As a subreaper this process inherits every orphan of its children, so that a daemon which
    forked twice is seen too.
    """
    uses_docker = any(item.get_closest_marker("docker") for item in request.session.items)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    processes, containers = set(_descendants()), _lost_containers() if uses_docker else set()
    yield
    from grader.suites.reading import end_readers

    end_readers()
    _poll(lambda: set(_descendants()) <= processes, LEAK_GRACE_S)
    leaked = {pid: name for pid, name in _descendants().items() if pid not in processes}
    assert not leaked, f"processes outlived the tests: {leaked}"
    if uses_docker:
        _poll(lambda: _lost_containers() <= containers, LEAK_GRACE_S)
        assert _lost_containers() <= containers, "containers outlived the tests"


def _lost_containers() -> set[str]:
    """Return the containers of this process, and those whose process has ended."""
    from grader.model.errors import GraderError
    from grader.sandbox.docker.backend import OWNER_LABEL
    from grader.sandbox.docker.engine import Engine
    from grader.sandbox.owner import Owner

    try:
        engine = Engine.connect()
    except GraderError:
        return set()
    try:
        owners = {
            container: Owner.parse(labels[OWNER_LABEL])
            for container, labels in engine.containers(OWNER_LABEL).items()
        }
    finally:
        engine.close()
    return {
        container
        for container, owner in owners.items()
        if owner is not None and (owner == Owner.current() or owner.is_gone())
    }


def _descendants() -> dict[int, str]:
    """Return the living processes below this one, with their names; the dead are reaped."""
    _reap_orphans()
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
        except OSError:
            continue  # it ended while we looked
        state, parent = tail.split()[:2]
        if state != "Z":
            parents[int(entry.name)] = int(parent)
            names[int(entry.name)] = head.partition("(")[2]
    return {pid: name for pid, name in names.items() if _is_below(pid, os.getpid(), parents)}


def _is_below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def _reap_orphans() -> None:
    """Reap dead children that no code waits for; called when no test is running."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
