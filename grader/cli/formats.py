"""`grader formats`."""

import json
from typing import Annotated

import typer

from grader.cli.console import terminal
from grader.model.errors import ConfigurationError

_EXAMPLE_CHARS = 240


def formats(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only this format, with its example in full."),
    ] = None,
) -> None:
    """List the known label formats, each with an example row.

    A label needs no conversion: its fields identify the format.

    **Examples**

        grader formats
        grader formats humaneval
    """
    from grader.suites import FORMATS

    known = {form.name: form for form in FORMATS}
    if name is not None:
        if name not in known:
            message = f"there is no format {name!r}; expected one of {', '.join(known)}"
            raise ConfigurationError(message)
        typer.echo(json.dumps(known[name].example, indent=2, ensure_ascii=False))
        return
    console = terminal(err=False)
    for form in FORMATS:
        fields = " or ".join(", ".join(sorted(names)) for names in form.fields)
        example = json.dumps(form.example, ensure_ascii=False)
        if len(example) > _EXAMPLE_CHARS:
            example = f"{example[:_EXAMPLE_CHARS]}… (grader formats {form.name})"
        if console is None:
            typer.echo(f"{form.name}: {form.summary}\n  fields: {fields}\n  {example}")
            continue
        from rich.text import Text

        console.print(Text.assemble((form.name, "bold green"), f"  {form.summary}"))
        console.print(Text.assemble(("  fields  ", "dim"), fields))
        console.print(Text.assemble(("  example ", "dim"), (example, "cyan")), "")
