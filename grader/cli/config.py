"""`grader config`."""

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from grader.cli.console import terminal
from grader.config.loading import LoadedSettings, load_settings, value_of, variable
from grader.config.settings import SETTINGS


def config(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show every setting: its value, where the value came from, and what it means.

    A value comes from the default, the file grader.toml (or the file that GRADER_CONFIG names),
    the setting's GRADER_ variable, or an option of the command; the last of these wins.
    """
    loaded = load_settings()
    if as_json:
        values = {key: _plain(key, value_of(loaded.settings, key)) for key in SETTINGS}
        typer.echo(json.dumps(values, indent=2))
        return
    console = terminal(err=False)
    if console is None:
        for key, value, origin, meaning in _rows(loaded):
            typer.echo(f"{key} = {value}  ({origin}; {meaning}; {variable(key)})")
        return
    from rich.table import Table

    table = Table("setting", "value", "from", "meaning", box=None, header_style="bold")
    for key, value, origin, meaning in _rows(loaded):
        style = "" if origin == "default" else "green"
        table.add_row(key, value, origin, meaning, style=style)
    console.print(table)


def _rows(loaded: LoadedSettings) -> Iterator[tuple[str, str, str, str]]:
    for key, setting in SETTINGS.items():
        value = _plain(key, value_of(loaded.settings, key))
        shown = "-" if value is None else str(value)
        yield key, shown, loaded.origins.get(key, "default"), setting.description


def _plain(key: str, value: Any) -> Any:
    shown = SETTINGS[key].shown
    if shown is not None and value is not None:
        return shown(value)
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
