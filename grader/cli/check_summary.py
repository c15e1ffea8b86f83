"""The summary of `grader check`: a table on a terminal, plain lines elsewhere, or JSON."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from grader.cli.console import terminal
from grader.text.inert import shorten
from grader.text.integers import counted
from grader.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from grader.offline.checked import CheckSummary, ProblemCheck

_SHOWN = 40
"""Most problems with findings that the summary names; OUT has all of them."""
_FEEDBACK_CHARS = 160


def print_summary(
    tally: "CheckSummary",
    *,
    elapsed_s: float,
    earlier_runs: int,
    min_strength: float | None,
    as_json: bool,
) -> None:
    """Print the summary.

    Args:
        tally: The results of all problems.
        elapsed_s: Seconds that this run took.
        earlier_runs: Submissions that an earlier run graded.
        min_strength: Weaker problems are findings, too.
        as_json: Whether to print one JSON object and nothing else.
    """
    if as_json:
        typer.echo(json.dumps({**tally.as_json(min_strength), "elapsed_s": round(elapsed_s, 1)}))
        return
    findings = tally.findings(min_strength)
    shown = tally.worst(min(findings, _SHOWN))
    lines = list(_lines(tally, elapsed_s, tally.runs - earlier_runs))
    console = terminal(err=False)
    if console is not None:
        _print_table(console, shown)
        console.print("\n".join(lines), style="bold", markup=False)
    else:
        for found in shown:
            typer.echo(f"{found.health:12} {visible(found.id)}: {_short(found)}")
        for line in lines:
            typer.echo(line)
    if findings > len(shown):
        typer.echo(f"{findings - len(shown):,} more with findings; -o OUT writes all of them")


def _lines(tally: "CheckSummary", elapsed_s: float, runs: int) -> Iterator[str]:
    healths = ", ".join(f"{count:,} {health}" for health, count in tally.healths.most_common())
    yield f"{counted(tally.problems, 'problem')}: {healths or 'the file is empty'}"
    if tally.paid:
        paid = (f"{attack} by {count:,}" for attack, count in tally.paid.most_common())
        yield f"attacks that pass: {', '.join(paid)}"
    if tally.tried:
        share = f"{100 * tally.noticed / tally.tried:.1f} %"
        yield f"changes noticed: {tally.noticed:,} of {tally.tried:,} ({share})"
    if tally.cases:
        yield f"cases with a twin: {tally.confirmable:,} of {tally.cases:,}"
    if tally.median_strength is not None:
        yield f"median strength: {tally.median_strength:.2f}"
    yield f"{counted(runs, 'run')} in {elapsed_s:.1f} s"


def _print_table(console: "Console", shown: "list[ProblemCheck]") -> None:
    from rich.table import Table
    from rich.text import Text

    if not shown:
        return
    table = Table(
        *("problem", "health", "strength", "noticed", "twins", "found"),
        box=None,
        header_style="bold",
    )
    for found in shown:
        mutants = found.mutants
        table.add_row(
            Text(visible(found.id)),
            Text(found.health, style="yellow"),
            "" if found.strength is None else f"{found.strength:.2f}",
            "" if mutants is None else f"{mutants.noticed} of {mutants.tried}",
            "" if found.confirmable is None else f"{found.confirmable} of {found.cases}",
            Text(_short(found)),
        )
    console.print(table, "")


def _short(found: "ProblemCheck") -> str:
    text = visible(found.feedback or _missed(found))
    return shorten(" ".join(text.split()), _FEEDBACK_CHARS)


def _missed(found: "ProblemCheck") -> str:
    """Return the changes that the tests of a weak problem miss."""
    if found.mutants is None:
        return "no change of the reference was tried"
    missed = found.mutants.missed
    return "not noticed: " + "; ".join(
        f"line {each.line}: {each.before} → {each.after}" for each in missed
    )
