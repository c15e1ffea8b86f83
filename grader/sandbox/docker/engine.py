"""The Docker Engine, as far as we use it. The only module that imports the Docker SDK.

Importing the SDK takes 100 ms, so it happens on the first connection. One `Engine` may be used from
many threads. Errors of the SDK are raised as our own.
"""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from grader.model.errors import (
    ConfigurationError,
    ImageNotFoundError,
    SandboxError,
    SandboxUnavailableError,
)
from grader.sandbox.failure import explain

if TYPE_CHECKING:
    import docker

_TIMEOUT_S = 60
REMOVAL_TIMEOUT_S = 10
"""How long the engine may take to remove a container. It never does if the container is frozen."""
_NOT_FOUND = 404
_CONFLICT = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What an engine says about itself and its host."""

    version: str
    machine: str
    """As `platform.machine()` names it: "x86_64"."""
    kernel: str
    """The release of the host's kernel."""
    default_runtime: str
    runtimes: Mapping[str, tuple[str, ...]]
    """By name, the arguments that the engine starts the runtime with."""
    cgroup_version: str
    security_options: tuple[str, ...]
    """By name: "seccomp", "apparmor", "userns", "rootless"."""


class Attachment:
    """Standard input and output of a container, as one socket of the engine's stream protocol."""

    def __init__(self, stream: Any) -> None:
        # The SDK returns the raw reader around the socket, or the socket itself with TLS; the
        # reader holds on to the HTTP response that it belongs to.
        self._stream = stream
        self._response = getattr(stream, "_response", None)
        self.socket: socket.socket = getattr(stream, "_sock", stream)

    def close(self) -> None:
        """Close the stream. Repeats harmlessly; a blocked receive elsewhere returns."""
        with suppress(OSError):  # the engine may have closed its end already
            self.socket.shutdown(socket.SHUT_RDWR)
        if self._response is not None:
            self._response.close()
        self._stream.close()
        self.socket.close()


class Engine:
    """A connection to one Docker Engine. Safe to use from many threads."""

    def __init__(self, client: "docker.APIClient", remover: "docker.APIClient") -> None:
        """Take over two connections; `remover` waits for `REMOVAL_TIMEOUT_S` only."""
        self._client = client
        self._remover = remover

    @classmethod
    def connect(cls, host: str | None = None) -> "Engine":
        """Connect to the engine at `host`; None: where the Docker client would look for it.

        Raises:
            ConfigurationError: The Docker SDK is not installed.
            SandboxUnavailableError: No engine answers.
        """
        try:
            import docker
            import docker.utils
        except ImportError as error:
            message = "the docker sandbox needs the Docker SDK: pip install 'grader-rl[docker]'"
            raise ConfigurationError(message) from error
        with _errors("connect"):
            where = docker.utils.kwargs_from_env()
            if host is not None:
                where["base_url"] = host
            _reach(str(docker.utils.parse_host(where.get("base_url"))))
            client = docker.APIClient(**where, timeout=_TIMEOUT_S)
            version = client.api_version  # else it would ask for it again
            remover = docker.APIClient(version=version, timeout=REMOVAL_TIMEOUT_S, **where)
            return cls(client, remover)

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()
        self._remover.close()

    def info(self) -> EngineInfo:
        """Ask the engine about itself.

        Raises:
            SandboxUnavailableError: It does not answer.
        """
        with _errors("describe itself"):
            told = self._client.info()
        options = (option.split(",")[0] for option in told.get("SecurityOptions") or ())
        return EngineInfo(
            version=told.get("ServerVersion", "unknown"),
            machine=told.get("Architecture", "unknown"),
            kernel=told.get("KernelVersion", "unknown"),
            default_runtime=told.get("DefaultRuntime", "runc"),
            runtimes={
                name: tuple(runtime.get("runtimeArgs") or ())
                for name, runtime in sorted((told.get("Runtimes") or {}).items())
            },
            cgroup_version=told.get("CgroupVersion", "1"),
            security_options=tuple(option.removeprefix("name=") for option in options),
        )

    # ------------------------------------------------------------ containers

    def create(self, body: Mapping[str, Any]) -> str:
        """Create a container from the body of the API's create call and return its id.

        Raises:
            ImageNotFoundError: The engine has no such image.
            SandboxUnavailableError: The engine refused.
        """
        with _errors("create a container"):
            created = self._client.create_container_from_config(  # type: ignore[no-untyped-call]
                dict(body)
            )
        return str(created["Id"])

    def attach(self, container: str) -> Attachment:
        """Attach to a created container's streams. Called before it starts, to miss no byte.

        Raises:
            SandboxUnavailableError: The engine refused.
        """
        with _errors("attach to a container"):
            params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            return Attachment(self._client.attach_socket(container, params=params))

    def start(self, container: str) -> None:
        """Start a created container.

        Raises:
            SandboxUnavailableError: The engine refused.
        """
        with _errors("start a container"):
            self._client.start(container)

    def remove(self, container: str) -> None:
        """Kill and remove a container with its volumes, if it still exists.

        Raises:
            SandboxUnavailableError: The engine refused, or has not done it in time.
        """
        with _errors("remove a container", forgive=(_NOT_FOUND, _CONFLICT)):
            self._remover.remove_container(container, force=True, v=True)

    def exists(self, container: str) -> bool:
        """Tell whether a container still exists, running or not.

        Raises:
            SandboxUnavailableError: The engine does not answer in time.
        """
        with _errors("inspect a container", forgive=(_NOT_FOUND,)):
            self._remover.inspect_container(container)
            return True
        return False

    def containers(self, label: str) -> dict[str, dict[str, str]]:
        """Return the labels of every container, running or not, that carries a label.

        Raises:
            SandboxUnavailableError: The engine does not answer.
        """
        with _errors("list containers"):
            found = self._client.containers(all=True, filters={"label": label})
        return {entry["Id"]: entry["Labels"] for entry in found}

    # ------------------------------------------------------------ images

    def image(self, name: str) -> tuple[str, dict[str, str]] | None:
        """Return an image's id and labels; None if there is no such image.

        Raises:
            SandboxUnavailableError: The engine does not answer.
        """
        with _errors("inspect an image", forgive=(_NOT_FOUND,)):
            found = self._client.inspect_image(name)  # type: ignore[no-untyped-call]
            return str(found["Id"]), dict(found["Config"].get("Labels") or {})
        return None

    def pull(self, name: str) -> None:
        """Pull an image from its registry.

        Raises:
            SandboxUnavailableError: No registry answers, or it has no such image.
        """
        with _errors(f"pull {name}"):
            self._client.pull(name)

    def import_archive(self, path: str, name: str) -> None:
        """Make an image from a root file system in a tar archive.

        Raises:
            SandboxUnavailableError: The engine refused.
        """
        repository, _, tag = name.rpartition(":")
        with _errors(f"import {name}"):
            self._client.import_image_from_file(path, repository=repository, tag=tag)

    def build(
        self,
        context: IO[bytes],
        *,
        name: str,
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> Iterator[str]:
        """Build an image from a tar archive that holds a Dockerfile; yield what the build prints.

        Raises:
            SandboxError: A step of the build failed. The message is the builder's.
            SandboxUnavailableError: The engine does not answer.
        """
        with _errors(f"build {name}"):
            events = self._client.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                buildargs=dict(arguments),
                labels=dict(labels),
                rm=True,
                forcerm=True,
                decode=True,
                timeout=3600,
            )
            for event in events:
                if "error" in event:
                    message = f"building {name} failed: {event['error'].strip()}"
                    raise SandboxError(message)
                if text := event.get("stream", "").strip():
                    yield text

    def remove_image(self, image: str) -> None:
        """Remove an image unless something uses it.

        Raises:
            SandboxUnavailableError: The engine does not answer.
        """
        with _errors("remove an image", forgive=(_NOT_FOUND, _CONFLICT)):
            self._client.remove_image(image)


@contextmanager
def _errors(action: str, forgive: tuple[int, ...] = ()) -> Iterator[None]:
    """Turn an error of the SDK into one of ours; suppress it if its status is forgiven."""
    import docker.errors
    import requests

    try:
        yield
    except docker.errors.ImageNotFound as error:
        if _NOT_FOUND in forgive:
            return
        raise ImageNotFoundError(_message(action, error.explanation or str(error))) from error
    except docker.errors.APIError as error:
        if error.response is not None and error.response.status_code in forgive:
            return
        raise SandboxUnavailableError(_message(action, error.explanation or str(error))) from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise SandboxUnavailableError(_message(action, str(error))) from error


def _reach(address: str) -> None:
    """Connect to an engine once if its address is a socket's path.

    If that fails, the SDK would not close its socket.

    Raises:
        SandboxUnavailableError: Nothing answers there.
    """
    scheme, _, path = address.partition("://")
    if scheme != "http+unix":
        return
    with closing(socket.socket(socket.AF_UNIX)) as probe:
        probe.settimeout(_TIMEOUT_S)
        try:
            probe.connect(path)
        except OSError as error:
            raise SandboxUnavailableError(_message("connect", repr(error))) from error


def _message(action: str, said: str) -> str:
    with suppress(ValueError, TypeError, KeyError):  # most are the message, without JSON
        said = json.loads(said)["message"]
    return f"the Docker engine did not {action}: {explain(said)}"
