"""`grader grade`."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import note, show_log, stoppable
from grader.cli.graders import Graders
from grader.cli.options import (
    BrokerOption,
    Chosen,
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
from grader.cli.progress import Progress, progress
from grader.cli.summary import print_summary
from grader.errors import ConfigurationError
from grader.verdict import Verdict

if TYPE_CHECKING:
    from grader.model import GradeReport
    from grader.offline.resume import DoneRow, DoneRows
    from grader.offline.rows import RowRules, Sample
    from grader.offline.source import RowSource

_NOTES_SHOWN = 10
"""How many rows that could not be graded are named while the run goes on."""


def grade(
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES",
            help="Rows to grade: JSONL, JSONL with gzip, or Parquet; - is standard input.",
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
            help="How verdicts become a reward: graded, binary, fraction or ladder. "
            "[default: graded]",
        ),
    ] = None,
    stop_early: Annotated[
        bool | None,
        typer.Option(
            "--stop-early/--all-cases",
            help="Stop a submission at its first failing case, or run all of them. "
            "[default: as the policy needs]",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue OUT where an earlier run stopped.")
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

    Rows are written as they finish. A row that cannot be graded gets a report that says why,
    and the others go on.

    **Examples**

        grader grade samples.jsonl -o graded.jsonl
        grader grade samples.jsonl -o graded.jsonl --problems problems.jsonl
        grader grade samples.jsonl -o graded.jsonl --resume
        grader grade samples.parquet -o graded.jsonl --set cpu_time_s=5
        grader grade answers.jsonl -o graded.jsonl --task math --label-key answer

    **Exit codes**

    - 0: graded, whatever the verdicts
    - 2: bad usage, or a file that cannot be read
    - 3: some rows could not be graded: internal errors, rows without completion or tests
    - 130: stopped with Ctrl-C; `--resume` continues
    """
    show_log(verbose=verbose)
    if resume and force:
        message = "--resume keeps what OUT holds and --force replaces it; choose one"
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
    # Importing the commands that do nothing must not cost what grading needs.
    from grader.offline.source import STDIN, open_rows

    if samples == STDIN and resume:
        message = "--resume has to read SAMPLES twice, which standard input does not allow"
        raise ConfigurationError(message)
    job = _Job(
        chosen=chosen,
        rows=open_rows(samples),
        samples=samples,
        out=out,
        completion_key=completion_key,
        label_key=label_key,
        limit=limit,
    )
    with stoppable(_advice(out)) as cut_off:
        ungraded = job.run(resume=resume, force=force, cut_off=cut_off)
    if ungraded:
        raise typer.Exit(3)


def _advice(out: Path) -> str:
    from grader.offline.output import STDOUT

    if out == STDOUT:
        return "The rows printed so far are whole."
    return f"Every row in {out} is whole; the same command with --resume continues it."


class _Job:
    """One run of the command, once its arguments make sense."""

    def __init__(
        self,
        *,
        chosen: Chosen,
        rows: "RowSource",
        samples: Path,
        out: Path,
        completion_key: str | None,
        label_key: str | None,
        limit: int | None,
    ) -> None:
        self._chosen = chosen
        self._rows = rows
        self._samples = samples
        self._out = out
        self._completion_key = completion_key
        self._label_key = label_key
        self._limit = limit

    def run(
        self, *, resume: bool, force: bool, cut_off: Callable[[Callable[[], None]], None]
    ) -> int:
        """Grade and print the summary; return how many rows could not be graded."""
        from grader.offline.output import STDOUT, Output
        from grader.score import find_policy

        settings = self._chosen.settings
        find_policy(settings.policy)
        self._refuse_own_input()
        with ExitStack() as stack:
            output = stack.enter_context(Output(self._out, resume=resume, force=force))
            # A slot starts while what reads tests and encodes reports is loaded.
            graders = Graders(settings)
            stack.callback(graders.close)
            cut_off(graders.close)
            from grader import wire
            from grader.offline.finder import SuiteFinder
            from grader.offline.problems import load_problems
            from grader.offline.run import grade_rows

            problems = (
                None
                if settings.problems is None
                else stack.enter_context(load_problems(settings.problems))
            )
            wire.prepare()
            graders.check()
            rules = self._rules()
            seen = _Seen(progress("Grading", things="rows", good="passed"))
            done = self._done(rules, seen) if resume else None
            stack.callback(seen.print_summary, err=self._out == STDOUT)
            stack.enter_context(seen.progress.shown())
            grade_rows(
                islice(self._rows, self._limit),
                grader=graders,
                rater=graders,
                finder=SuiteFinder(problems),
                rules=rules,
                policy=settings.policy,
                output=output,
                observe=seen.now,
                done=done,
            )
            seen.note_emptiness(self._samples)
            return seen.ungraded

    def _rules(self) -> "RowRules":
        from grader.offline.resume import run_key
        from grader.offline.rows import RowRules

        settings, limits = self._chosen.settings, self._chosen.limits
        key = run_key(
            settings,
            limits=limits,
            completion_key=self._completion_key,
            label_key=self._label_key,
            problems=settings.problems,
        )
        return RowRules(
            run=key,
            completion_key=self._completion_key,
            label_key=self._label_key,
            task=settings.task,
            limits=limits,
        )

    def _done(self, rules: "RowRules", seen: "_Seen") -> "DoneRows":
        """Return the rows of an earlier run, once they are sure to be of this one."""
        from grader.offline.resume import read_done

        done = read_done(self._out, rules.run, seen.before)
        done.check(self._rows, self._out)
        return done

    def _refuse_own_input(self) -> None:
        """Refuse to write over what is read."""
        if not self._out.exists():
            return
        for path in (self._samples, self._chosen.settings.problems):
            if path is not None and path.exists() and path.samefile(self._out):
                message = f"OUT is {path}, which is read; name another file with -o"
                raise ConfigurationError(message)


class _Seen:
    """What came out so far: for the progress, the notes and the summary."""

    def __init__(self, progress: Progress) -> None:
        from grader.stats import RunningSummary

        self.progress = progress
        self.ungraded = 0
        """Rows of the whole output, those of an earlier run included."""
        self._all = RunningSummary()
        self._earlier = 0
        self._start = time.monotonic()

    def before(self, row: "DoneRow") -> None:
        """Take in a row of an earlier run."""
        self._earlier += 1
        self._add(row.report, row.id, row.problem_id)

    def now(self, sample: "Sample", report: "GradeReport") -> None:
        """Take in a row that was just written."""
        self._add(report, sample.id, sample.problem_id)
        if not report.graded and self.ungraded <= _NOTES_SHOWN:
            self.progress.note(f"not graded: {sample.id}: {report.feedback}")
            if self.ungraded == _NOTES_SHOWN:
                self.progress.note("more of these are only written to OUT")
        self.progress.advance(behind=sample.row.progress, good=report.verdict is Verdict.PASSED)

    def note_emptiness(self, samples: Path) -> None:
        """Say so where there was nothing to grade: no summary will."""
        if not self._all.summary().reports:
            note(f"{samples} holds no rows: nothing was graded")

    def print_summary(self, *, err: bool) -> None:
        """Print what it all comes to; nothing where there is nothing."""
        summary = self._all.summary()
        if not summary.reports:
            return
        elapsed_s = time.monotonic() - self._start
        print_summary(summary, earlier=self._earlier, elapsed_s=elapsed_s, err=err)

    def _add(self, report: "GradeReport", row_id: str, problem_id: str | None) -> None:
        self._all.add(report, id=row_id, problem_id=problem_id)
        self.ungraded += not report.graded
