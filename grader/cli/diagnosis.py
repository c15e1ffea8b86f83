"""What the backends find here: the Docker engine, and the isolation layers of each sandbox."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.cli.machine import Finding, Health, examine
from grader.config.settings import Settings
from grader.languages import Language, languages, missing
from grader.model.errors import GraderError

if TYPE_CHECKING:
    from grader.sandbox.contract import Sandbox
    from grader.sandbox.docker.engine import EngineInfo


def diagnose(settings: Settings) -> dict[str, list[Finding]]:
    """Look at everything and return what was found, by the title of its section."""
    return {
        "Machine": examine(),
        "Docker engine": _engine(settings),
        "Sandbox native": _layers(_native, settings),
        "Sandbox docker": _layers(_docker, settings),
        "Languages (native)": [find_language(language) for language in languages().values()],
    }


def find_language(language: Language) -> Finding:
    """Say whether this machine can run a language, and which package brings what it lacks."""
    lacking = missing([language])
    if not lacking:
        programs = ", ".join(language.packages)
        return Finding(name=language.title, health=Health.OK, state=f"found {programs}")
    packages = " ".join(dict.fromkeys(lacking.values()))
    return Finding(
        name=language.title,
        health=Health.WARNING,
        state=f"there is no {', '.join(lacking)}",
        remedy=f"to grade {language.title}: apt-get install {packages}",
    )


def _engine(settings: Settings) -> list[Finding]:
    from grader.sandbox.docker.engine import Engine

    name = "engine"
    try:
        engine = Engine.connect(settings.docker.host)
        try:
            info = engine.info()
        finally:
            engine.close()
    except GraderError as error:
        remedy = "install and start Docker, or use --sandbox native"
        return [Finding(name=name, health=Health.MISSING, state=str(error), remedy=remedy)]
    state = f"Docker {info.version}, {info.machine}, cgroup version {info.cgroup_version}"
    return [
        Finding(name=name, health=Health.OK, state=state),
        _runtimes(info),
        Finding(
            name="security options",
            health=Health.OK if "seccomp" in info.security_options else Health.WARNING,
            state=", ".join(info.security_options) or "none",
        ),
    ]


def _runtimes(info: "EngineInfo") -> Finding:
    state = ", ".join(_runtime(info, name) for name in info.runtimes)
    if "runsc" in info.runtimes:
        return Finding(
            name="runtimes",
            health=Health.OK,
            state=f"{state}; gVisor with --set docker.runtime=runsc",
        )
    return Finding(
        name="runtimes",
        health=Health.OK,
        state=state,
        remedy="for gVisor's second kernel: install runsc and register it as a runtime",
    )


def _runtime(info: "EngineInfo", name: str) -> str:
    about = ["default"] if name == info.default_runtime else []
    about += [
        argument.removeprefix("--").replace("=", " ")
        for argument in info.runtimes[name]
        if argument.startswith("--platform=")
    ]
    return f"{name} ({', '.join(about)})" if about else name


def _native(settings: Settings) -> "Sandbox":
    from grader.sandbox.native.backend import NativeSandbox

    return NativeSandbox(settings)


def _docker(settings: Settings) -> "Sandbox":
    from grader.sandbox.docker.backend import DockerSandbox

    return DockerSandbox(settings)


def _layers(make: Callable[[Settings], "Sandbox"], settings: Settings) -> list[Finding]:
    try:
        sandbox = make(settings)
        try:
            return _findings(sandbox.layers())
        finally:
            sandbox.close()
    except GraderError as error:
        return [Finding(name="backend", health=Health.MISSING, state=str(error))]


def _findings(layers: Mapping[str, str]) -> list[Finding]:
    return [_layer(name, state) for name, state in layers.items()]


def _layer(name: str, state: str) -> Finding:
    if state.startswith(_MISSING):
        return Finding(name=name, health=Health.MISSING, state=state.removeprefix(_MISSING))
    health = Health.WARNING if state.startswith(("off", "reduced")) else Health.OK
    return Finding(name=name, health=health, state=state)


_MISSING = "missing: "
"""How a backend begins to tell of a layer that it lacks."""
