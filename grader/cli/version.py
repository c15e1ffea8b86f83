"""`grader version`, and `grader --version`."""

from typing import Annotated

import typer


def version() -> None:
    """Print the version, and the build, which `grader status` shows of every worker."""
    from grader.process.release import build_id, installed_version

    installed = installed_version() or "not installed, run from its source tree"
    typer.echo(f"grader {installed}, build {build_id()}")


def _print_and_exit(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


def before_command(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_and_exit,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Accept the options before a command; the callback of --version does the work."""
