"""Which backend the settings mean, on this machine."""

from typing import TYPE_CHECKING

from grader.errors import SandboxError
from grader.sandbox.base import Sandbox
from grader.settings import SandboxChoice, Settings

if TYPE_CHECKING:
    from grader.sandbox.docker import DockerSandbox
    from grader.sandbox.native import NativeSandbox


def choose_sandbox(settings: Settings) -> Sandbox:
    """Return the backend that the settings name; for `auto`, the best that works here.

    `auto` takes Docker where an engine answers and has the image, else the native one.
    """
    match settings.sandbox:
        case SandboxChoice.DOCKER:
            return _docker(settings)
        case SandboxChoice.NATIVE:
            return _native(settings)
        case SandboxChoice.AUTO:
            docker = _docker(settings)
            try:
                docker.check("python")
            except SandboxError:
                docker.close()
                return _native(settings)
            return docker


# Imported only where chosen: either backend's modules take a while.


def _docker(settings: Settings) -> "DockerSandbox":
    from grader.sandbox.docker import DockerSandbox

    return DockerSandbox(settings)


def _native(settings: Settings) -> "NativeSandbox":
    from grader.sandbox.native import NativeSandbox

    return NativeSandbox(settings)
