"""`grader grade`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import show_log
from grader.cli.grading import GradeCommand
from grader.cli.options import (
    BrokerOption,
    ForceOption,
    IntegrityOption,
    OutPath,
    SandboxOption,
    SetOption,
    SlotsOption,
    TaskOption,
    UrlOption,
    VerboseOption,
    choose,
)
from grader.cli.stopping import run_stoppable
from grader.model.errors import ConfigurationError


def grade(
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES",
            help="Rows to grade: JSONL, a JSON array or CSV (with gzip, too), Parquet, Arrow, or a "
            "folder of these; - is standard input.",
        ),
    ],
    out: OutPath,
    *,
    problems: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Problems with tests, found by the rows' ids."),
    ] = None,
    task: TaskOption = None,
    broker: BrokerOption = None,
    url: UrlOption = None,
    sandbox: SandboxOption = None,
    slots: SlotsOption = None,
    require_integrity: IntegrityOption = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How verdicts become a reward: graded, binary, fraction, ladder, or a function of "
            "your own as file.py:function. "
            "[default: graded]",
        ),
    ] = None,
    stop_early: Annotated[
        bool | None,
        typer.Option(
            "--stop-early/--all-cases",
            help="Stop a submission at its first failing case, or run all cases. "
            "[default: as the policy needs]",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue OUT where an earlier run stopped.")
    ] = False,
    retry_ungraded: Annotated[
        bool,
        typer.Option(
            "--retry-ungraded",
            help="Like --resume, and also grade again the rows that could not be graded.",
        ),
    ] = False,
    force: ForceOption = False,
    completion_key: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The field with the completion. "
            "[default: the first of completion, response, solution, query]",
        ),
    ] = None,
    label_key: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The field with the label. [default: label; for math and conversations the "
            "first of label, answer, ground_truth]",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Grade only the first N rows.")
    ] = None,
    set_: SetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Grade completions against their tests, or their answers, or by a model.

    Each row of SAMPLES is an object with a completion, an id, and its tests: a label in any
    format that `grader formats` lists, or the id of a problem of `--problems`. Each row of OUT
    is the same object with a report added: verdict, score, reward, cases, feedback. A
    completion that is a list counts as several samples, each with a row of its own in OUT.

    A label may also ask for an answer, as `{"math": "42"}`, for a model's judgement, as
    `{"conversation": true}`, or for several at once; `--task` says what a plain label is.

    Rows are written in the order in which they finish. A row that cannot be graded gets a report
    that says why, and the run goes on.

    **Examples**

        grader grade samples.jsonl -o graded.jsonl
        grader grade samples.jsonl -o graded.jsonl --problems problems.jsonl
        grader grade samples.jsonl -o graded.jsonl --resume
        grader grade samples.jsonl -o graded.jsonl --retry-ungraded
        grader grade samples.parquet -o graded.jsonl --set cpu_time_s=5
        grader grade answers.jsonl -o graded.jsonl --task math --label-key answer

    **Exit codes**

    - 0: graded, whatever the verdicts
    - 2: bad usage, or a file that cannot be read
    - 3: some rows could not be graded (internal errors, rows without completion or tests), or
      there was no row
    - 130: stopped with Ctrl-C; `--resume` continues
    """
    show_log(verbose=verbose)
    resume = resume or retry_ungraded
    if resume and force:
        message = "--resume keeps the rows of OUT and --force replaces them; choose one"
        raise ConfigurationError(message)
    chosen = choose(
        set_,
        broker=broker,
        url=url,
        sandbox=sandbox,
        slots=slots,
        require_integrity=require_integrity,
        policy=policy,
        stop_early=stop_early,
        problems=problems,
        task=task,
    )
    # Here, so that other commands do not import what only grading needs.
    from grader.offline.source import STDIN, open_rows

    if samples == STDIN and resume:
        message = "--resume has to read SAMPLES twice, which standard input does not allow"
        raise ConfigurationError(message)
    command = GradeCommand(
        chosen=chosen,
        rows=open_rows(samples),
        samples=samples,
        out=out,
        completion_key=completion_key,
        label_key=label_key,
        limit=limit,
    )
    work = partial(command.run, resume=resume, force=force, retry_ungraded=retry_ungraded)
    if not run_stoppable(work, advice=_advice(out)):
        raise typer.Exit(3)


def _advice(out: Path) -> str:
    from grader.offline.output import STDOUT

    if out == STDOUT:
        return "The rows printed so far are complete."
    return f"Every row in {out} is complete; the same command with --resume continues it."
