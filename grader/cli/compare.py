"""`grader compare`."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.runs import RUN_HELP, open_run
from grader.text.integers import counted
from grader.text.visible import visible_line

if TYPE_CHECKING:
    from grader.report.comparison import Delta

_NAME_CHARS = 40


def compare(
    new: Annotated[Path, typer.Argument(metavar="NEW", help=RUN_HELP)],
    old: Annotated[Path, typer.Argument(metavar="OLD", help="What to compare it with.")],
    *,
    problems: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Show at most N problems, and N samples with another verdict.",
        ),
    ] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Compare two runs, two checkpoints, or two stretches of one run.

    Prints every figure of both, regressions first, then data sets, the problems that lost most
    reward, and samples with another verdict. A difference of at most two standard errors is
    `unclear`: it may be chance. `grader report NEW OLD` shows the same as a page, with the
    completions.

    **Examples**

        grader compare new.jsonl old.jsonl

        grader compare run@40:49 run@30:39

    **Exit codes**

    - 0: compared, whatever was found
    - 2: bad usage, or a file that cannot be read
    """
    from grader.report.comparison import compare as compared
    from grader.report.flips import flips_of

    newer, older = open_run(new), open_run(old)
    found = compared(newer.entries, older.entries)
    flips = flips_of(newer.entries, older.entries, older.name)
    if as_json:
        flipped = [
            {"name": f.new.name, "new": f.new.verdict, "old": f.old.verdict, "why": f.reasons}
            for f in flips.found.values()
        ]
        typer.echo(json.dumps({**asdict(found), "flipped": flipped}))
        return
    _print("figure", found.figures)
    _print("reward by data set", found.datasets)
    _print("reward by problem", found.problems[:problems])
    if len(found.problems) > problems:
        typer.echo(f"{len(found.problems) - problems:,} more problems; --problems N shows more")
    typer.echo(
        f"\n{counted(flips.common, 'sample')} in both: {flips.changed:,} with another verdict, "
        f"{flips.gained:,} now pass, {flips.lost:,} no longer do"
    )
    losses_first = sorted(flips.found.values(), key=lambda f: f.new.reward - f.old.reward)
    for flip in losses_first[:problems]:
        verdicts = f"{flip.old.verdict} → {flip.new.verdict}"
        name = visible_line(flip.new.name)
        typer.echo(f"{name}: {verdicts} ({', '.join(flip.reasons)})")


def _print(what: str, deltas: "Iterable[Delta]") -> None:
    rows = [
        (
            visible_line(delta.name)[:_NAME_CHARS],
            f"{delta.old.value:.3g}",
            f"{delta.new.value:.3g}",
            f"{delta.difference:+.3g}",
            delta.effect,
        )
        for delta in deltas
    ]
    if not rows:
        return
    width = max(len(what), *(len(row[0]) for row in rows))
    typer.echo(f"\n{what:{width}}  {'old':>8}  {'new':>8}  {'change':>8}")
    for name, old, new, difference, effect in rows:
        typer.echo(f"{name:{width}}  {old:>8}  {new:>8}  {difference:>8}  {effect}")
