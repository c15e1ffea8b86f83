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

    from grader.cli.machine import Diagnostic

_STYLES = {"ok": "green", "warning": "yellow", "missing": "red"}


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show what this machine offers to sandboxes, and how to get what is missing.

    Checks Python, cores, memory, namespaces, cgroups, seccomp, and the Docker engine with its
    images and runtimes. Lists the isolation layers and the languages that each backend has here.
    The last line says whether submissions can be graded here, and with what.

    **Exit codes**

    - 0: submissions can be graded here
    - 3: they cannot
    """
    from grader.cli.diagnosis import conclude, diagnose
    from grader.cli.machine import DiagnosticStatus

    settings = choose().settings
    sections = diagnose(settings)
    conclusion = conclude(settings)
    if as_json:
        sections["Conclusion"] = [conclusion]
        plain = {title: [asdict(f) for f in found] for title, found in sections.items()}
        typer.echo(json.dumps(plain, indent=2))
    else:
        _print(sections)
        advice = f"; {conclusion.remedy}" if conclusion.remedy else ""
        typer.echo(visible(f"{conclusion.state}{advice}."))
    if conclusion.health is not DiagnosticStatus.OK:
        raise typer.Exit(3)


def _print(sections: "dict[str, list[Diagnostic]]") -> None:
    console = terminal(err=False)
    for title, found in sections.items():
        if console is None:
            _print_plain(title, found)
        else:
            _print_table(console, title, found)


def _print_plain(title: str, diagnostics: "list[Diagnostic]") -> None:
    typer.echo(f"{title}:")
    for diagnostic in diagnostics:
        typer.echo(f"  {diagnostic.health:8} {diagnostic.name}: {visible(diagnostic.state)}")
        if diagnostic.remedy:
            typer.echo(f"           -> {diagnostic.remedy}")


def _print_table(console: "Console", title: str, diagnostics: "list[Diagnostic]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(width=8)
    table.add_column(no_wrap=True)
    table.add_column()
    for diagnostic in diagnostics:
        state = Text(visible(diagnostic.state))
        if diagnostic.remedy:
            state.append(f"\n→ {diagnostic.remedy}", style="yellow")
        table.add_row(
            Text(diagnostic.health, style=_STYLES[diagnostic.health]), diagnostic.name, state
        )
    console.print(table, "")
