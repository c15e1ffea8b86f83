"""`grader check`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.check_package import PackageCommand
from grader.cli.checking import CheckCommand
from grader.cli.console import show_log
from grader.cli.options import (
    ForceOption,
    IntegrityOption,
    SandboxOption,
    SetOption,
    SlotsOption,
    VerboseOption,
    choose,
)
from grader.cli.stopping import run_stoppable
from grader.model.errors import ConfigurationError

_MUTANTS = 10
"""With all attacks, a problem of HumanEval then takes 0.4 s of CPU time, one of Exercism 0.9 s."""


def check(
    problems: Annotated[
        Path,
        typer.Argument(
            metavar="PROBLEMS", help="Problems with reference solutions, or a problem package."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Also write a row per problem, as JSONL."),
    ] = None,
    *,
    attacks: Annotated[
        bool,
        typer.Option(
            "--attacks/--no-attacks",
            help="Try submissions that solve nothing: 17 runs a problem at most, else 2.",
        ),
    ] = True,
    mutants: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Try up to N small changes of a reference, a run each."
        ),
    ] = _MUTANTS,
    min_strength: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0,
            max=1,
            help="The least strength of a problem for --keep, from 0 to 1.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the problems that are strong enough, unchanged, as JSONL. Of a package, "
            "write the tests, as one row.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page that shows the results.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
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
            help="Write the times of the references to a file beside PROBLEMS; the limits of "
            "submissions then follow from it.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue OUT where an earlier run stopped.")
    ] = False,
    force: ForceOption = False,
    set_: SetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Find the problems in a file that would spoil a training run.

    Grades each problem's reference solution twice. If it passes, also grades submissions that
    solve nothing, none of which should pass, and small changes of the reference, most of which
    should not pass. Reports which problems are

    - broken: the tests cannot be read, or the reference does not pass them
    - flaky: two runs of the reference differ
    - exploitable: a submission that solves nothing passes
    - slow: the reference needs more than half of the CPU time limit
    - vacuous: some tests assert nothing and pass whatever the answer

    The strength of a problem is the share of changes that its tests notice, and 0 if it is
    exploitable. `--keep` writes the problems whose strength is at least `--min-strength`.

    If PROBLEMS is a problem package of the ICPC's format or of Polygon, a folder or a zip file, its
    submissions are graded instead. A table compares their verdicts with those that the package
    expects. `--keep` writes the package's tests as a row for `grader grade --problems`.

    A problem takes up to 29 runs; with `--no-attacks --mutants 0`, it takes 4.

    **Examples**

        grader check problems.jsonl
        grader check problems.jsonl -o checked.jsonl --report check.html
        grader check problems.jsonl --keep strong.jsonl --min-strength 0.8
        grader check problems.jsonl -o checked.jsonl --resume
        grader check problems.jsonl --calibrate --no-attacks --mutants 0
        grader check factors.zip

    **Exit codes**

    - 0: checked, whatever was found
    - 2: bad usage, or a file that cannot be read
    - 3: some problems could not be checked (internal errors), or there was none
    - 130: stopped with Ctrl-C; with OUT, `--resume` continues
    """
    show_log(verbose=verbose)
    command = CheckCommand(
        problems=problems,
        out=out,
        attacks=attacks,
        mutants=mutants,
        min_strength=min_strength,
        keep=keep,
        report=report,
        as_json=as_json,
        limit=limit,
        calibrate=calibrate,
        resume=resume,
        force=force,
    )
    chosen = choose(set_, sandbox=sandbox, slots=slots, require_integrity=require_integrity)
    from grader.offline.packages import is_package

    if is_package(problems):
        if any((out, report, min_strength is not None, limit, calibrate, resume)):
            message = (
                f"{problems} is a problem package; the only options for it are --keep, --force, "
                "--json, --sandbox, --slots, --require-integrity and --set"
            )
            raise ConfigurationError(message)
        package = PackageCommand(package=problems, keep=keep, as_json=as_json, force=force)
        if not run_stoppable(partial(package.run, chosen), advice="There is nothing to clean up."):
            raise typer.Exit(3)
        return
    command.check_options()
    if not run_stoppable(partial(command.run, chosen), advice=command.advice()):
        raise typer.Exit(3)
