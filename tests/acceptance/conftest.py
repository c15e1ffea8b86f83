"""What the acceptance runs share: the recorded data, and one real grader per backend."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model.errors import GraderError
from grader.sandbox.docker.backend import DockerSandbox
from tests.conftest import docker_settings, missing


@pytest.fixture(scope="session")
def data_dir(shared_dir: Path) -> Path:
    """The folder of recorded problems and model outputs."""
    return shared_dir / "data"


@pytest.fixture(scope="session")
def native_grader(native_sandbox: object) -> Iterator[Grader]:
    """A grader on the native backend, with the default settings."""
    assert native_sandbox is not None, "the machine can have one"
    with Grader(Settings(sandbox=SandboxChoice.NATIVE)) as grader:
        yield grader


@pytest.fixture(scope="session")
def docker_grader(docker_sandbox: DockerSandbox) -> Iterator[Grader]:
    """A grader on the Docker backend, with the default settings and both images."""
    try:
        docker_sandbox.check("science")
    except GraderError as error:
        missing("The science image", str(error))
    with Grader(replace(docker_settings(), sandbox=SandboxChoice.DOCKER)) as grader:
        yield grader


@pytest.fixture(
    params=[
        pytest.param("native", id="native"),
        pytest.param("docker", id="docker", marks=(pytest.mark.docker, pytest.mark.slow)),
    ]
)
def grader(request: pytest.FixtureRequest) -> Grader:
    """A grader on each backend in turn; on Docker only in `make acceptance`.

    What Docker adds is the container, which tests/contract, tests/hostile, the red team and the
    examples have in every run of the tests.
    """
    found: Grader = request.getfixturevalue(f"{request.param}_grader")
    return found


@pytest.fixture
def stopping_grader(grader: Grader) -> Iterator[Grader]:
    """A grader on each backend that stops a submission at its first failing case."""
    with Grader(replace(grader.settings, stop_early=True)) as stopping:
        yield stopping
