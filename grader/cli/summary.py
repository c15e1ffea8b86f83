"""The summary of a run: tables on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from grader.cli.console import terminal
from grader.model.verdict import Verdict
from grader.text.inert import shorten
from grader.text.integers import counted
from grader.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from grader.scoring.statistics import Summary

_BAR_CELLS = 30
_STYLES = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.INTERNAL_ERROR: "bold magenta"}
_OTHER_STYLE = "yellow"
_FEEDBACK_CHARS = 120


def verdict_style(verdict: Verdict) -> str:
    """Return the style of a verdict on a terminal."""
    return _STYLES.get(verdict, _OTHER_STYLE)


def print_summary(summary: "Summary", *, earlier: int, elapsed_s: float, err: bool) -> None:
    """Print a summary.

    Args:
        summary: The summary of the whole output.
        earlier: Number of its rows that an earlier run graded.
        elapsed_s: Seconds that this run took.
        err: Whether to print to standard error, because the rows go to standard output.
    """
    console = terminal(err=err)
    if console is None:
        for line in _lines(summary, earlier, elapsed_s):
            typer.echo(line, err=err)
    else:
        _print_tables(console, summary, earlier, elapsed_s)


def _facts(summary: "Summary", earlier: int, elapsed_s: float) -> Iterator[tuple[str, str]]:
    rows = summary.reports - earlier
    rate = rows / elapsed_s if elapsed_s > 0 else 0.0
    before = f", {earlier:,} more before" if earlier else ""
    yield "rows", f"{rows:,} in {elapsed_s:.1f} s ({rate:,.1f}/s){before}"
    if summary.pass_rate is not None:
        yield "pass rate", f"{100 * summary.pass_rate:.1f} %"
        yield "mean score", f"{summary.mean_score:.3f}"
        yield "mean reward", f"{summary.mean_reward:+.3f}"
    graded = summary.reports - summary.internal_errors
    if graded > summary.problems:
        for at in summary.pass_at:
            yield f"pass@{at.k}", f"{100 * at.value:.1f} %  ({counted(at.problems, 'problem')})"
    yield "CPU time", f"{summary.cpu_time_s:.1f} s in all submissions together{_limited(summary)}"
    if summary.suspicion:
        signs = ", ".join(f"{sign} {count:,}" for sign, count in summary.suspicion.items())
        yield "suspicion", signs
    if summary.internal_errors:
        count = f"{summary.internal_errors:,} of {counted(summary.reports, 'row')}"
        yield "not graded", f"{count}: our errors or bad rows, see `feedback`"


def _lines(summary: "Summary", earlier: int, elapsed_s: float) -> Iterator[str]:
    for verdict, count in summary.verdicts.items():
        share = 100 * count / summary.reports
        yield f"{verdict.code:3} {verdict:15} {count:8,} {share:6.1f} %"
    for name, value in _facts(summary, earlier, elapsed_s):
        yield f"{name}: {value}"
    for row in summary.slowest:
        yield f"slowest: {visible(row.id)}: {row.cpu_time_s:.2f} s CPU, {row.verdict}"
    for failed in summary.first_errors:
        yield f"not graded: {visible(failed.id)}: {_short(failed.feedback)}"


def _limited(summary: "Summary") -> str:
    """Say which share of the CPU time went to samples that reached a limit.

    It explains a low rate.
    """
    if not summary.limited_cpu_time_s:
        return ""
    share = 100 * summary.limited_cpu_time_s / summary.cpu_time_s
    return f", {share:.0f} % of it in those that reached a limit"


def _short(feedback: str) -> str:
    return shorten(" ".join(visible(feedback).split()), _FEEDBACK_CHARS)


# ---------------------------------------------------------------- on a terminal


def _print_tables(console: "Console", summary: "Summary", earlier: int, elapsed_s: float) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(_verdicts(summary))
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    facts.add_column(style="bold")
    for name, value in _facts(summary, earlier, elapsed_s):
        facts.add_row(name, value)
    console.print("", facts)
    if summary.slowest:
        slowest = Table("slowest", "CPU time", "verdict", box=None, header_style="bold")
        for row in summary.slowest:
            slowest.add_row(Text(visible(row.id)), f"{row.cpu_time_s:.2f} s", row.verdict)
        console.print("", slowest)
    if summary.first_errors:
        failed = Table("not graded", "why", box=None, header_style="bold magenta")
        for error in summary.first_errors:
            failed.add_row(Text(visible(error.id)), Text(_short(error.feedback)))
        console.print("", failed)


def _verdicts(summary: "Summary") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False)
    table.add_column()
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column()
    for verdict, count in summary.verdicts.items():
        share = count / summary.reports
        style = verdict_style(verdict)
        bar = Text("█" * max(1, round(_BAR_CELLS * share)), style=style)
        table.add_row(
            Text(verdict.code, style=style), verdict, f"{count:,}", f"{100 * share:.1f} %", bar
        )
    return table
