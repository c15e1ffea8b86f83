"""`grader version`, and `grader --version`."""

from typing import Annotated

import typer


def version() -> None:
    """Print the version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        typer.echo(f"grader {installed('grader-rl')}")
    except PackageNotFoundError:
        typer.echo("grader, not installed, run from its source tree")


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
