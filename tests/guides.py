"""What tests of guides share: the blocks of a page, and a shell that runs its commands in order."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from tests.commands import read_rows

REPO = Path(__file__).resolve().parent.parent
EXAMPLES = 3


def section(page: Path, heading: str = "") -> str:
    """Return the text under a heading of the second level; "": all of the page."""
    text = page.read_text()
    if not heading:
        return text
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, f"{page} has no heading {heading!r}"
    return rest.partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks in a language, also those in lists."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [dedent(block) for _, block in found]


def run_python(program: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a program in a folder and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


def walk(
    text: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    instead: Mapping[str, str] | None = None,
    programs: Mapping[str, str] | None = None,
    module: str = "grader",
) -> str:
    """Run all commands of a text in one shell, which stops at the first that fails.

    Args:
        text: What has the blocks.
        folder: Where the commands run.
        environment: The variables that they start with.
        instead: Words of the commands, with those that stand for them here.
        programs: Scripts that stand for programs which this machine may lack, by name.
        module: What `grader` runs, with arguments.

    Returns:
        What the commands printed, errors too.
    """
    commands = "".join(blocks(text, "sh"))
    for words, others in (instead or {}).items():
        assert words in commands, f"no command has {words!r}"
        commands = commands.replace(words, others)
    bin_dir = folder / "bin"
    bin_dir.mkdir()
    grader = f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n'
    for name, script in {"grader": grader, **(programs or {})}.items():
        (bin_dir / name).write_text(script)
        (bin_dir / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-euxc", commands],
        cwd=folder,
        env={**environment, "PATH": f"{bin_dir}:{environment['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def write_examples(folder: Path) -> None:
    """Write some of the examples under the names that the pages use."""
    for name in ("problems.jsonl", "samples.jsonl"):
        rows = (REPO / "examples" / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(rows[:EXAMPLES]))


def assert_as_expected(graded: Path) -> None:
    """Assert that each of these examples has the verdict that it expects."""
    rows = read_rows(graded)
    assert len(rows) == EXAMPLES
    assert [r["id"] for r in rows if r["report"]["verdict"] != r["expect"]] == []
