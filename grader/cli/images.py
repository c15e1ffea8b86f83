"""`grader images`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import note, terminal
from grader.cli.options import choose

images = typer.Typer(
    help="The images that the Docker backend runs.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


class Variant(StrEnum):
    """Which image."""

    PYTHON = "python"
    SCIENCE = "science"


@images.callback()
def _images() -> None:
    """Keep `build` a subcommand: typer would otherwise merge a single command into its group."""


@images.command()
def build(
    variant: Annotated[Variant, typer.Argument(help="Which image.")] = Variant.PYTHON,
    base: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="The image to build on.")
    ] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Take Python packages from this folder, not from a package index.",
        ),
    ] = None,
) -> None:
    """Build a sandbox image, with or without access to a registry.

    Most problems need only the python image; science adds numpy, pandas and similar packages. If
    the base image cannot be pulled, it is made with debootstrap, as root.

    **Examples**

        grader images build
        grader images build science --wheels ./wheels
    """
    from grader.sandbox.images import build as build_image

    settings = choose().settings
    console = terminal(err=True)
    if console is None:
        name = build_image(
            variant.value, progress=note, settings=settings, base=base, wheels=wheels
        )
    else:
        from rich.markup import escape

        with console.status(f"Building the {variant} image") as status:
            name = build_image(
                variant.value,
                progress=lambda line: status.update(
                    escape(line.splitlines()[0][:100] if line else "")
                ),
                settings=settings,
                base=base,
                wheels=wheels,
            )
    typer.echo(f"{name} is ready")
