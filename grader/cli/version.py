"""`grader version`."""

from typing import Annotated

import typer


def version() -> None:
    """Print the version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        typer.echo(f"grader {installed('grader-rl')}")
    except PackageNotFoundError:
        typer.echo("grader, run from its source tree without being installed")


def version_option(
    show: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Handle what stands before a command."""
    if show:
        version()
        raise typer.Exit
