"""`grader doctor`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import printable, terminal
from grader.cli.machine import Finding, Health, examine
from grader.cli.options import choose
from grader.errors import GraderError
from grader.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from grader.sandbox.base import Sandbox

_STYLES = {Health.OK: "green", Health.WARNING: "yellow", Health.MISSING: "red"}


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what this machine offers, what protects you, and what to do about what is missing.

    Looks at Python, cores, memory, namespaces, cgroups and seccomp, at the Docker engine with
    its images and runtimes, and lists the isolation layers that each backend has here.
    """
    settings = choose().settings
    sections = {
        "Machine": examine(),
        "Docker engine": _engine(settings),
        "Sandbox native": _layers(_native, settings),
        "Sandbox docker": _layers(_docker, settings),
    }
    if as_json:
        plain = {title: [asdict(f) for f in found] for title, found in sections.items()}
        typer.echo(json.dumps(plain, indent=2))
        return
    console = terminal(err=False)
    for title, found in sections.items():
        if console is None:
            _print_plain(title, found)
        else:
            _print_table(console, title, found)


# ---------------------------------------------------------------- looking


def _engine(settings: Settings) -> list[Finding]:
    from grader.sandbox.engine import Engine

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
        _runtimes(info.runtimes, info.default_runtime),
        Finding(
            name="security options",
            health=Health.OK if "seccomp" in info.security_options else Health.WARNING,
            state=", ".join(info.security_options) or "none",
        ),
    ]


def _runtimes(known: tuple[str, ...], default: str) -> Finding:
    state = ", ".join(f"{name} (default)" if name == default else name for name in known)
    if "runsc" in known:
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


def _native(settings: Settings) -> "Sandbox":
    from grader.sandbox.native import NativeSandbox

    return NativeSandbox(settings)


def _docker(settings: Settings) -> "Sandbox":
    from grader.sandbox.docker import DockerSandbox

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
    healths = {"missing": Health.MISSING, "off": Health.WARNING}
    return [
        Finding(
            name=name,
            health=next((h for word, h in healths.items() if state.startswith(word)), Health.OK),
            state=state,
        )
        for name, state in layers.items()
    ]


# ---------------------------------------------------------------- showing


def _print_plain(title: str, findings: list[Finding]) -> None:
    typer.echo(f"{title}:")
    for finding in findings:
        typer.echo(f"  {finding.health:8} {finding.name}: {printable(finding.state)}")
        if finding.remedy:
            typer.echo(f"           -> {finding.remedy}")


def _print_table(console: "Console", title: str, findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(width=8)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        state = Text(printable(finding.state))
        if finding.remedy:
            state.append(f"\n→ {finding.remedy}", style="yellow")
        table.add_row(Text(finding.health, style=_STYLES[finding.health]), finding.name, state)
    console.print(table, "")
