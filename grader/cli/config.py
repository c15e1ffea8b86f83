"""`grader config`."""

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from grader.cli.console import terminal
from grader.config.loading import LoadedSettings, load_settings, value_of, variable
from grader.config.settings import DESCRIPTIONS
from grader.text.redaction import HIDDEN, redacted

_SECRETS = frozenset({"server.token"})
_ADDRESSES = frozenset({"broker", "url"})


def config(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show every setting: its value, where that came from, and what it means.

    A setting comes from its default, the file grader.toml (or the one that GRADER_CONFIG
    names), its GRADER_ variable, or an option of the command; the last of these wins.
    """
    loaded = load_settings()
    if as_json:
        values = {key: _plain(key, value_of(loaded.settings, key)) for key in DESCRIPTIONS}
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
    for key, meaning in DESCRIPTIONS.items():
        value = _plain(key, value_of(loaded.settings, key))
        shown = "-" if value is None else str(value)
        yield key, shown, loaded.origins.get(key, "default"), meaning


def _plain(key: str, value: Any) -> Any:
    if key in _SECRETS and value is not None:
        return HIDDEN
    if key in _ADDRESSES and value is not None:
        return redacted(value)
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
