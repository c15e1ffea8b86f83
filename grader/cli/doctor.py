"""`grader doctor`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import terminal
from grader.cli.options import choose
from grader.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from grader.cli.machine import Finding

_STYLES = {"ok": "green", "warning": "yellow", "missing": "red"}


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what this machine offers, what protects you, and what to do about what is missing.

    Looks at Python, cores, memory, namespaces, cgroups and seccomp, at the Docker engine with
    its images and runtimes, and lists the isolation layers that each backend has here.
    """
    from grader.cli.diagnosis import diagnose

    sections = diagnose(choose().settings)
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


def _print_plain(title: str, findings: "list[Finding]") -> None:
    typer.echo(f"{title}:")
    for finding in findings:
        typer.echo(f"  {finding.health:8} {finding.name}: {visible(finding.state)}")
        if finding.remedy:
            typer.echo(f"           -> {finding.remedy}")


def _print_table(console: "Console", title: str, findings: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(width=8)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        state = Text(visible(finding.state))
        if finding.remedy:
            state.append(f"\n→ {finding.remedy}", style="yellow")
        table.add_row(Text(finding.health, style=_STYLES[finding.health]), finding.name, state)
    console.print(table, "")
