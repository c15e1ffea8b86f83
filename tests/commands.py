"""What tests of the command line share: rows in, rows out."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs the command in an empty folder with native slots; see tests/integration/conftest.py."""


def write_rows(path: Path, rows: list[Any]) -> None:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
