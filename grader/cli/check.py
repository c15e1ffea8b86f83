"""`grader check`."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grader.cli.console import show_log, stoppable, terminal
from grader.cli.options import (
    ForceOption,
    IntegrityOption,
    SandboxOption,
    SetOption,
    SlotsOption,
    VerboseOption,
    choose,
)
from grader.cli.progress import progress
from grader.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from grader.calibration import Measured
    from grader.offline.check import ProblemCheck

_SHOWN = 40
"""How many problems with findings the summary names; OUT has all of them."""
_FEEDBACK_CHARS = 160


def check(
    problems: Annotated[
        Path, typer.Argument(metavar="PROBLEMS", help="Problems with reference solutions.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Also write a row per problem, as JSONL."),
    ] = None,
    *,
    sandbox: SandboxOption = None,
    slots: SlotsOption = None,
    require_integrity: IntegrityOption = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Check only the first N problems.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Keep what references took beside PROBLEMS; the limits of submissions to them "
            "then follow from it.",
        ),
    ] = False,
    force: ForceOption = False,
    set_: SetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Find the problems of a file that would spoil a training run.

    Grades each problem's own reference solution twice, and two stubs that have its names but
    do nothing. Says which problems are

    - broken: the tests cannot be read, or the reference does not pass them
    - flaky: two runs of the reference differ
    - slow: the reference needs more than half of the CPU time limit
    - vacuous: some tests assert nothing, they pass whatever is answered

    **Examples**

        grader check problems.jsonl
        grader check problems.jsonl -o checked.jsonl --set cpu_time_s=30
        grader check problems.jsonl --calibrate

    **Exit codes**

    - 0: checked, whatever was found
    - 2: bad usage, or a file that cannot be read
    - 3: some problems could not be checked: internal errors
    """
    show_log(verbose=verbose)
    chosen = choose(set_, sandbox=sandbox, slots=slots, require_integrity=require_integrity)
    from grader import calibration
    from grader.engine import Grader
    from grader.offline.check import Health, check_problems
    from grader.offline.output import Output
    from grader.offline.problems import load_problems
    from grader.wire import json_bytes

    # What was measured before must not decide what is measured now.
    uncalibrated = replace(chosen.settings.calibration, file=None)
    settings = replace(chosen.settings, stop_early=False, problems=None, calibration=uncalibrated)
    measured: dict[str, Measured] = {}
    found: list[ProblemCheck] = []
    counts: Counter[Health] = Counter()
    with stoppable("Nothing is left to clean up.") as cut_off, ExitStack() as stack:
        index = stack.enter_context(load_problems(problems))
        total = min(len(index), limit or len(index))
        output = stack.enter_context(Output(out, force=force)) if out is not None else None
        grader = stack.enter_context(Grader(settings))
        cut_off(grader.close)
        showing = progress("Checking", things="problems", good="ok")
        stack.enter_context(showing.shown())
        checks = check_problems(index, islice(index, limit), grader=grader, limits=settings.limits)
        for result in checks:
            counts[result.health] += 1
            if result.measured is not None:
                measured[result.tests] = result.measured
            if output is not None:
                output.write(json_bytes(_row(result)) + b"\n")
            if result.health is not Health.OK and len(found) < _SHOWN:
                found.append(result)
            showing.advance(behind=counts.total() / total, good=result.health is Health.OK)
    _print_summary(counts, found)
    if calibrate:
        path = chosen.settings.calibration.file or calibration.beside(problems)
        calibration.save(path, measured)
        typer.echo(f"Measured {len(measured):,} references: {visible(str(path))}")
    if counts[Health.UNCHECKED]:
        raise typer.Exit(3)


def _row(result: "ProblemCheck") -> dict[str, Any]:
    return {
        "id": result.problem_id,
        "health": result.health,
        "feedback": result.feedback,
        "format": result.format,
        "verdicts": [run.verdict for run in result.runs],
        "cpu_time_s": result.cpu_time_s,
        "vacuous_cases": result.vacuous,
    }


# ---------------------------------------------------------------- summary


def _print_summary(counts: "Counter[Any]", found: "list[ProblemCheck]") -> None:
    console = terminal(err=False)
    healths = (f"{count:,} {health}" for health, count in counts.most_common())
    line = f"{counts.total():,} problems: {', '.join(healths) or 'the file is empty'}"
    hidden = counts.total() - counts["ok"] - len(found)
    if console is not None:
        _print_table(console, found)
        console.print(line, style="bold")
    else:
        for result in found:
            typer.echo(f"{result.health:12} {visible(result.problem_id)}: {_short(result)}")
        typer.echo(line)
    if hidden:
        typer.echo(f"{hidden:,} more with findings; -o OUT writes all of them")


def _print_table(console: "Console", found: "list[ProblemCheck]") -> None:
    from rich.table import Table
    from rich.text import Text

    if not found:
        return
    table = Table("problem", "health", "found", box=None, header_style="bold")
    for result in found:
        table.add_row(
            Text(visible(result.problem_id)),
            Text(result.health, style="yellow"),
            Text(_short(result)),
        )
    console.print(table, "")


def _short(result: "ProblemCheck") -> str:
    text = " ".join(visible(result.feedback).split())
    return text if len(text) <= _FEEDBACK_CHARS else f"{text[:_FEEDBACK_CHARS]}…"
