"""`grader images`."""

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


@images.callback()
def _images() -> None:
    """Keep `build` a subcommand: typer would otherwise merge a single command into its group."""


@images.command()
def build(
    variants: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VARIANT",
            help="Which images: python, science, a language such as cpp, or all. Default: python.",
            show_default=False,
        ),
    ] = None,
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
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="PACKAGES",
            help='Further Python packages: names with blanks between them, such as "matplotlib '
            'bs4", or a requirements file. Default VARIANT then: science.',
        ),
    ] = None,
) -> None:
    """Build a sandbox image, with or without access to a registry.

    Most problems need only the python image; science adds numpy, pandas and similar packages. With
    `--with`, it has further packages, and submissions that import one of them run in it. If the
    base image cannot be pulled, it is made with debootstrap, as root.

    **Examples**

        grader images build
        grader images build science --wheels ./wheels
        grader images build --with "matplotlib beautifulsoup4"
        grader images build cpp java
    """
    from grader.sandbox.images import all_variants

    wanted = variants or ["python" if with_ is None else "science"]
    for variant in all_variants() if "all" in wanted else dict.fromkeys(wanted):
        typer.echo(f"{_build(variant, base, wheels, with_)} is ready")


def _build(variant: str, base: str | None, wheels: Path | None, packages: str | None) -> str:
    from grader.sandbox.images import build as build_image

    settings = choose().settings
    console = terminal(err=True)
    if console is None:
        return build_image(
            variant,
            progress=note,
            settings=settings,
            base=base,
            wheels=wheels,
            packages=packages,
        )
    from rich.markup import escape

    with console.status(f"Building the {variant} image") as status:
        return build_image(
            variant,
            progress=lambda line: status.update(escape(line.splitlines()[0][:100] if line else "")),
            settings=settings,
            base=base,
            wheels=wheels,
            packages=packages,
        )
