"""Chooses the backend by the settings and this machine."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from grader.config.settings import DockerSettings, SandboxChoice, Settings
from grader.model.errors import SandboxError
from grader.sandbox.contract import Sandbox

if TYPE_CHECKING:
    from grader.sandbox.docker.backend import DockerSandbox
    from grader.sandbox.native.backend import NativeSandbox


def choose_sandbox(settings: Settings) -> Sandbox:
    """Return the backend that the settings name; for `auto`, the best that works here.

    `auto` means Docker if its SDK is installed and an engine with the image answers, else native.
    """
    match settings.sandbox:
        case SandboxChoice.DOCKER:
            return _docker(settings)
        case SandboxChoice.NATIVE:
            return _native(settings)
        case SandboxChoice.AUTO:
            if settings.docker == DockerSettings() and not _has_docker_sdk():
                return _native(settings)
            docker = _docker(settings)
            try:
                docker.check("python")
            except SandboxError:
                docker.close()
                return _native(settings)
            return docker


def _has_docker_sdk() -> bool:
    # A folder of that name in the working directory is found, too, but has no origin.
    spec = find_spec("docker")
    return spec is not None and spec.origin is not None


# A backend is imported only if it is chosen, because that takes a while.


def _docker(settings: Settings) -> "DockerSandbox":
    from grader.sandbox.docker.backend import DockerSandbox

    return DockerSandbox(settings)


def _native(settings: Settings) -> "NativeSandbox":
    from grader.sandbox.native.backend import NativeSandbox

    return NativeSandbox(settings)
