"""Which backend the settings mean, on this machine."""

from grader.errors import SandboxError
from grader.sandbox.base import Sandbox
from grader.settings import SandboxChoice, Settings


def choose_sandbox(settings: Settings) -> Sandbox:
    """Return the backend that the settings name; for `auto`, the best that works here.

    `auto` takes Docker where an engine answers and has the image, else the native one.
    """
    from grader.sandbox.docker import DockerSandbox

    match settings.sandbox:
        case SandboxChoice.DOCKER:
            return DockerSandbox(settings)
        case SandboxChoice.NATIVE:
            return _native(settings)
        case SandboxChoice.AUTO:
            docker = DockerSandbox(settings)
            try:
                docker.check("python")
            except SandboxError:
                docker.close()
                return _native(settings)
            return docker


def _native(settings: Settings) -> Sandbox:
    from grader.sandbox.native import NativeSandbox

    return NativeSandbox(settings)
