"""`grader export`."""

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import note
from grader.cli.options import ForceOption
from grader.cli.runs import RUN_HELP, open_run
from grader.model.errors import ConfigurationError
from grader.report.trackers import Tracker
from grader.text.integers import counted


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help=RUN_HELP)],
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The table to write: FILE.csv, FILE.parquet or FILE.jsonl. For TensorBoard, the "
            "folder.",
        ),
    ] = None,
    tracker: Annotated[
        Tracker | None,
        typer.Option("--to", help="Write the figures of each step to it instead of a table."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Add the columns completion and code to the table.")
    ] = False,
    force: ForceOption = False,
) -> None:
    """Write a run as a table for a data frame, or its figures to an experiment tracker.

    A table has a row for each sample. With `--to`, the tracker gets the mean reward, score and
    times of each training step, and the shares of verdicts and of signs of an attack, under names
    that begin with `grader/`. If rows name no steps, the run is divided into up to 60 stretches of
    time, which are numbered instead. WANDB_PROJECT, MLFLOW_TRACKING_URI and the other variables of
    these libraries say where the figures go.

    **Examples**

        grader export run/ -o run.parquet

        grader export graded.jsonl -o graded.csv --texts

        grader export run/ --to wandb

        grader export run/ --to tensorboard -o logs/

    **Exit codes**

    - 0: written
    - 2: bad usage, or a file that cannot be read or written
    - 3: the disk is full
    """
    if tracker is not None:
        _track(run, tracker, to)
        return
    if to is None:
        message = "expected -o FILE, to write a table, or --to, to write to a tracker"
        raise ConfigurationError(message)
    if to.exists() and not force:
        message = f"{to} exists; replace it with --force, or name another file with -o"
        raise ConfigurationError(message)
    from grader.report.export import export as write

    file = open_run(run)
    write(file, to, texts=texts)
    note(f"{to}: {counted(len(file.entries), 'sample')}")


def _track(run: Path, tracker: Tracker, folder: Path | None) -> None:
    from grader.report.trackers import track
    from grader.report.trends import trends_of

    trends = trends_of(open_run(run).entries, every_step=True)
    if trends is None:
        message = (
            f"all rows of {run} have one step and one time, or none; a tracker shows figures over "
            "at least two steps or times"
        )
        raise ConfigurationError(message)
    track(trends, tracker, folder)
    note(f"{tracker}: the figures of {len(trends.moments):,} steps")
