"""A run of `grader check`: reads problems, checks them, writes the results, shows progress."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.cli.check_summary import print_summary
from grader.cli.console import note
from grader.cli.options import Chosen
from grader.cli.progress import progress
from grader.cli.stopping import Stop
from grader.model.errors import ConfigurationError
from grader.text.integers import counted
from grader.text.visible import visible

if TYPE_CHECKING:
    from grader.offline.checked import CheckSummary, ProblemCheck
    from grader.scoring.calibration import Measured
    from grader.suites import ProblemIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCommand:
    """One run of the command; the fields are its options."""

    problems: Path
    out: Path | None
    attacks: bool
    mutants: int
    min_strength: float | None
    keep: Path | None
    report: Path | None
    as_json: bool
    limit: int | None
    calibrate: bool
    resume: bool
    force: bool

    def check_options(self) -> None:
        """Refuse options that contradict each other, and outputs that cannot be made.

        Raises:
            ConfigurationError: The message names the options, and says what to do instead.
        """
        if (self.keep is None) is not (self.min_strength is None):
            message = (
                "--keep names the file for strong problems, and --min-strength defines strong; "
                "give both or neither"
            )
            raise ConfigurationError(message)
        if self.min_strength and not self.mutants:
            message = "--min-strength needs changes of the reference; raise --mutants above 0"
            raise ConfigurationError(message)
        if self.resume and (self.out is None or self.force):
            message = "--resume continues OUT: name OUT with -o, and leave --force out"
            raise ConfigurationError(message)
        written = [path for path in (self.out, self.keep, self.report) if path is not None]
        if len({path.resolve() for path in written}) < len(written):
            message = "-o, --keep and --report name the same file; give each its own"
            raise ConfigurationError(message)
        for path in written:
            if path.exists() and self.problems.exists() and path.samefile(self.problems):
                message = f"{path} is the file of problems; write to another"
                raise ConfigurationError(message)
        for path in written:
            # Most of them are written at the end, when the work would be lost.
            if not path.parent.is_dir():
                message = f"cannot write {path}: there is no folder {path.parent}"
                raise ConfigurationError(message)
            if path is not self.out and path.exists() and not (self.force or self.resume):
                message = f"{path} exists; replace it with --force, or name another file"
                raise ConfigurationError(message)
        if self.report is not None:
            from grader.report.drawing import new_chart

            new_chart("Bar")  # Says what is missing before the work, not after it.

    def advice(self) -> str:
        """Return what to do after the run was stopped."""
        if self.out is None:
            return "There is nothing to clean up."
        return f"Every row in {self.out} is complete; the same command with --resume continues it."

    def run(self, chosen: Chosen, stop: Stop) -> bool:
        """Check, and print the summary; return whether there were problems and each was checked."""
        from grader.grading.grader import Grader
        from grader.offline.check import check_problems
        from grader.offline.checked import Effort, ProblemHealth, check_key, row_of
        from grader.offline.output import Output
        from grader.offline.problems import load_problems

        # Limits from earlier measurements must not affect the new ones.
        uncalibrated = replace(chosen.settings.calibration, file=None)
        settings = replace(
            chosen.settings, stop_early=False, problems=None, calibration=uncalibrated
        )
        effort = Effort(attacks=self.attacks, mutants=self.mutants)
        run = check_key(settings, effort)
        with ExitStack() as stack:
            index = stack.enter_context(load_problems(self.problems, by_id=False))
            output = None
            if self.out is not None:
                output = Output(self.out, resume=self.resume, force=self.force)
                stack.enter_context(output)
                stop.add(output.remove_if_unused)
            total = min(len(index), self.limit or len(index))
            seen = _CheckedProblems(total)
            done = seen.read(self.out, run, index) if self.resume and self.out else frozenset()
            note(f"{counted(total - len(done), 'problem')}, up to {effort.most_runs} runs each")
            grader = stack.enter_context(Grader(settings))
            stop.add(grader.close)
            stack.callback(self._print_summary, seen)
            stack.enter_context(seen.progress.shown())
            left = (each for each in islice(index, self.limit) if each not in done)
            for found in check_problems(
                index,
                left,
                grader=grader,
                limits=settings.limits,
                effort=effort,
                winning=chosen.limits,
            ):
                stop.check()
                if output is not None:
                    output.write(row_of(found, index.text(found.id) or b"", run))
                seen.now(found)
            said = [*self._written(seen.tally, index), *self._calibrated(seen, chosen)]
        for line in said:
            typer.echo(line, err=self.as_json)
        return seen.tally.problems > 0 and not seen.tally.healths[ProblemHealth.UNCHECKED]

    def _print_summary(self, seen: "_CheckedProblems") -> None:
        print_summary(
            seen.tally,
            elapsed_s=time.monotonic() - seen.start,
            earlier_runs=seen.earlier_runs,
            min_strength=self.min_strength,
            as_json=self.as_json,
        )

    def _written(self, tally: "CheckSummary", index: "ProblemIndex") -> Iterator[str]:
        """Write the requested files, and yield a line about each."""
        from grader.offline.output import write_whole

        if self.keep is not None and self.min_strength is not None:
            kept = tally.kept(self.min_strength)
            lines = ((index.text(each) or b"").strip() + b"\n" for each in index if each in kept)
            write_whole(self.keep, lines)
            yield (
                f"Kept {len(kept):,} of {counted(tally.problems, 'problem')}, those with a "
                f"strength of {self.min_strength:g} or more: {visible(str(self.keep))}"
            )
        if self.report is not None:
            from grader.report.checked import page

            write_whole(self.report, [page(self.problems.name, tally).encode()])
            yield f"The page of {counted(tally.problems, 'problem')}: {visible(str(self.report))}"

    def _calibrated(self, seen: "_CheckedProblems", chosen: Chosen) -> Iterator[str]:
        from grader.scoring import calibration

        if self.calibrate:
            path = chosen.settings.calibration.file or calibration.beside(self.problems)
            calibration.save(path, seen.measured)
            yield f"Measured {len(seen.measured):,} references: {visible(str(path))}"


class _CheckedProblems:
    """The results so far."""

    def __init__(self, total: int) -> None:
        from grader.offline.checked import CheckSummary

        self.tally = CheckSummary()
        self.measured: dict[str, Measured] = {}
        self.start = time.monotonic()
        self.earlier_runs = 0
        """Submissions that an earlier run graded."""
        self.progress = progress("Checking", thing="problem", good="ok")
        self._total = total

    def read(self, out: Path, run: str, index: "ProblemIndex") -> frozenset[str]:
        """Add the results of an earlier run; return its problems."""
        from grader.offline.checked import read_checked

        done = read_checked(out, run, index, self._add)
        self.earlier_runs = self.tally.runs
        return done

    def now(self, found: "ProblemCheck") -> None:
        """Add a problem that was just checked."""
        from grader.offline.checked import ProblemHealth

        self._add(found)
        behind = self.tally.problems / self._total
        self.progress.advance(behind=behind, good=found.health is ProblemHealth.OK)

    def _add(self, found: "ProblemCheck") -> None:
        self.tally.add(found)
        if found.measured is not None:
            self.measured[found.tests] = found.measured
