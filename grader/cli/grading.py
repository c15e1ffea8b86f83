"""A run of `grader grade`: reads rows, grades them, writes the output, shows progress."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.console import note
from grader.cli.graders import Graders
from grader.cli.options import Chosen
from grader.cli.progress import Progress, progress
from grader.cli.stopping import Stop
from grader.cli.summary import print_summary
from grader.model.errors import ConfigurationError
from grader.model.verdict import Verdict

if TYPE_CHECKING:
    from grader.model import GradeReport
    from grader.offline.resume import DoneRow
    from grader.offline.rows import RowRules, RowSample
    from grader.offline.source import RowSource

_NOTES_SHOWN = 10
"""Most rows named during the run because they could not be graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeCommand:
    """One run of the command, with valid arguments."""

    chosen: Chosen
    rows: "RowSource"
    samples: Path
    """The file of the rows."""
    out: Path
    completion_key: str | None
    label_key: str | None
    limit: int | None
    """Most rows that are graded."""

    def run(self, stop: Stop, *, resume: bool, force: bool, retry_ungraded: bool) -> bool:
        """Grade, and print the summary; return whether there were rows and each was graded."""
        from grader.offline.output import STDOUT, Output
        from grader.scoring.own import load_policy

        settings = self.chosen.settings
        load_policy(settings.policy)
        self._refuse_own_input()
        with ExitStack() as stack:
            output = stack.enter_context(Output(self.out, resume=resume, force=force))
            stop.add(output.remove_if_unused)
            # A slot starts while the imports below run.
            graders = Graders(settings)
            stack.callback(graders.close)
            stop.add(graders.close)
            from grader.model import wire
            from grader.offline.finder import SuiteFinder
            from grader.offline.problems import load_problems
            from grader.offline.resume import continue_output
            from grader.offline.run import grade_rows

            problems = (
                None
                if settings.problems is None
                else stack.enter_context(load_problems(settings.problems))
            )
            wire.prepare()
            graders.check()
            rules = self._rules()
            seen = _GradedRows(progress("Grading", thing="row", good="passed"))
            done = (
                continue_output(
                    output, self.rows, rules.run, seen.before, retry_ungraded=retry_ungraded
                )
                if resume
                else None
            )

            def write(line: bytes) -> None:
                stop.check()
                output.write(line)

            stack.callback(seen.print_summary, err=self.out == STDOUT)
            stack.enter_context(seen.progress.shown())
            grade_rows(
                islice(self.rows, self.limit),
                grader=graders,
                rater=graders,
                finder=SuiteFinder(problems),
                rules=rules,
                policy=settings.policy,
                write=write,
                observe=seen.now,
                done=done,
            )
            seen.note_emptiness(self.samples)
            return seen.all_graded

    def _rules(self) -> "RowRules":
        from grader.offline.resume import run_key
        from grader.offline.rows import RowRules

        settings, limits = self.chosen.settings, self.chosen.limits
        key = run_key(
            settings,
            limits=limits,
            completion_key=self.completion_key,
            label_key=self.label_key,
            problems=settings.problems,
        )
        return RowRules(
            run=key,
            completion_key=self.completion_key,
            label_key=self.label_key,
            task=settings.task,
            limits=limits,
        )

    def _refuse_own_input(self) -> None:
        """Refuse to write over an input file."""
        from grader.offline.output import STDOUT

        if self.out == STDOUT or not self.out.exists():
            return
        for path in (self.samples, self.chosen.settings.problems):
            if path is not None and path.exists() and path.samefile(self.out):
                message = f"OUT is {path}, which is read; name another file with -o"
                raise ConfigurationError(message)


class _GradedRows:
    """The rows so far: updates the progress, the notes and the summary."""

    def __init__(self, progress: Progress) -> None:
        from grader.scoring.statistics import RunningSummary

        self.progress = progress
        self.ungraded = 0
        """Number of ungraded rows in the whole output, with those of an earlier run."""
        self._all = RunningSummary()
        self._earlier = 0
        self._start = time.monotonic()

    def before(self, row: "DoneRow") -> None:
        """Add a row of an earlier run."""
        self._earlier += 1
        self._add(row.report, row.id, row.problem_id)

    def now(self, sample: "RowSample", report: "GradeReport") -> None:
        """Add a row that was just written."""
        self._add(report, sample.id, sample.problem_id)
        if not report.graded and self.ungraded <= _NOTES_SHOWN:
            self.progress.note(f"not graded: {sample.id}: {report.feedback}")
            if self.ungraded == _NOTES_SHOWN:
                self.progress.note("further rows that are not graded are named only in OUT")
        self.progress.advance(behind=sample.row.progress, good=report.verdict is Verdict.PASSED)

    @property
    def all_graded(self) -> bool:
        """Whether there are rows, and each was graded."""
        return self._all.summary().reports > 0 and not self.ungraded

    def note_emptiness(self, samples: Path) -> None:
        """Note that there was nothing to grade; the summary prints nothing then."""
        from grader.offline.source import name_of

        if not self._all.summary().reports:
            note(f"{name_of(samples)} has no rows: nothing was graded")

    def print_summary(self, *, err: bool) -> None:
        """Print the summary of the whole output; nothing if there are no rows."""
        summary = self._all.summary()
        if not summary.reports:
            return
        elapsed_s = time.monotonic() - self._start
        print_summary(summary, earlier=self._earlier, elapsed_s=elapsed_s, err=err)

    def _add(self, report: "GradeReport", row_id: str, problem_id: str | None) -> None:
        self._all.add(report, id=row_id, problem_id=problem_id)
        self.ungraded += not report.graded
