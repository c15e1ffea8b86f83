"""The diagnostics of `grader doctor`: machine, Docker engine, isolation layers, languages."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.cli.machine import Diagnostic, DiagnosticStatus, examine
from grader.config.settings import SandboxChoice, Settings
from grader.languages import Language, languages, missing
from grader.model import MiB
from grader.model.errors import GraderError, ImageNotFoundError

if TYPE_CHECKING:
    from grader.sandbox.contract import Sandbox
    from grader.sandbox.docker.engine import EngineInfo


def diagnose(settings: Settings) -> dict[str, list[Diagnostic]]:
    """Run all checks; return the diagnostics by the title of their section."""
    sections = {
        "Machine": examine(),
        "Docker engine": _engine(settings),
        "Sandbox native": _layers(settings, SandboxChoice.NATIVE),
        "Sandbox docker": _layers(settings, SandboxChoice.DOCKER),
    }
    if sys.platform == "linux":
        sections["Languages (native)"] = [find_language(each) for each in languages().values()]
    sections["Languages (docker)"] = list(_language_images(settings))
    return sections


def conclude(settings: Settings) -> Diagnostic:
    """Open a slot as a grading would, and say in one sentence whether submissions can run here."""
    name = "grading"
    try:
        with _opened(settings) as sandbox:
            sandbox.open_slot(image="python", memory_bytes=256 * MiB).close()
    except GraderError as error:
        remedy = "see what is missing above; or grade elsewhere, by --url or --broker"
        state = f"Not ready: {error}"
        return Diagnostic(name=name, health=DiagnosticStatus.MISSING, state=state, remedy=remedy)
    slots = f"{settings.slots} slot{'s' if settings.slots != 1 else ''}"
    state = f"Ready: {sandbox.name}, {slots}"
    return Diagnostic(name=name, state=state)


def find_language(language: Language) -> Diagnostic:
    """Check whether this machine can run a language, and name the packages that it lacks."""
    lacking = missing([language])
    if not lacking:
        state = f"found {', '.join(language.packages)}"
        absent = " ".join(name for name, test in language.extras.items() if not _succeeds(test))
        if not absent:
            return Diagnostic(name=language.title, state=state)
        return Diagnostic(
            name=language.title,
            health=DiagnosticStatus.WARNING,
            state=f"{state}; missing, which some programs use: {absent}",
            remedy=f"apt-get install {absent}",
        )
    packages = " ".join(dict.fromkeys(lacking.values()))
    return Diagnostic(
        name=language.title,
        health=DiagnosticStatus.WARNING,
        state=f"missing: {', '.join(lacking)}",
        remedy=f"to grade {language.title}: apt-get install {packages}",
    )


def _succeeds(command: tuple[str, ...]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _language_images(settings: Settings) -> Iterator[Diagnostic]:
    from grader.sandbox import images
    from grader.sandbox.docker.engine import Engine

    variants = [each for each in images.all_variants() if each not in images.VARIANTS]
    absent = []
    try:
        with closing(Engine.connect(settings.docker.host)) as engine:
            for variant in variants:
                name = images.image_name(variant, settings)
                state, health = f"ready: {name}", DiagnosticStatus.OK
                try:
                    images.check(engine, variant, settings)
                except ImageNotFoundError as error:
                    if engine.image(name) is None:
                        absent.append(variant)
                        continue
                    state, health = str(error), DiagnosticStatus.WARNING
                yield Diagnostic(name=variant, health=health, state=state)
    except GraderError as error:
        yield Diagnostic(name="engine", health=DiagnosticStatus.MISSING, state=str(error))
    if absent:
        remedy = f"to grade one of them in Docker: grader images build {absent[0]}"
        yield Diagnostic(name="not built", state=", ".join(absent), remedy=remedy)


def _engine(settings: Settings) -> list[Diagnostic]:
    from grader.sandbox.docker.engine import Engine

    name = "engine"
    try:
        engine = Engine.connect(settings.docker.host)
        try:
            info = engine.info()
        finally:
            engine.close()
    except GraderError as error:
        remedy = "install and start Docker"
        if sys.platform == "linux":
            remedy += ", or use --sandbox native"
        return [
            Diagnostic(name=name, health=DiagnosticStatus.MISSING, state=str(error), remedy=remedy)
        ]
    state = f"Docker {info.version}, {info.machine}, cgroup version {info.cgroup_version}"
    return [
        Diagnostic(name=name, state=state),
        _runtimes(info),
        Diagnostic(
            name="security options",
            health=DiagnosticStatus.OK
            if "seccomp" in info.security_options
            else DiagnosticStatus.WARNING,
            state=", ".join(info.security_options) or "none",
        ),
    ]


def _runtimes(info: "EngineInfo") -> Diagnostic:
    state = ", ".join(_runtime(info, name) for name in info.runtimes)
    if "runsc" in info.runtimes:
        return Diagnostic(
            name="runtimes",
            state=f"{state}; gVisor with --set docker.runtime=runsc",
        )
    return Diagnostic(
        name="runtimes",
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


def _opened(settings: Settings) -> "AbstractContextManager[Sandbox]":
    from grader.sandbox.choice import choose_sandbox

    return closing(choose_sandbox(settings))


def _layers(settings: Settings, choice: SandboxChoice) -> list[Diagnostic]:
    try:
        with _opened(replace(settings, sandbox=choice)) as sandbox:
            return [_layer(name, state) for name, state in sandbox.layers().items()]
    except GraderError as error:
        return [Diagnostic(name="backend", health=DiagnosticStatus.MISSING, state=str(error))]


def _layer(name: str, state: str) -> Diagnostic:
    if state.startswith(_MISSING):
        return Diagnostic(
            name=name, health=DiagnosticStatus.MISSING, state=state.removeprefix(_MISSING)
        )
    health = (
        DiagnosticStatus.WARNING if state.startswith(("off", "reduced")) else DiagnosticStatus.OK
    )
    return Diagnostic(name=name, health=health, state=state)


_MISSING = "missing: "
"""How a backend's text about a missing layer begins."""
