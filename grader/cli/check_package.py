"""`grader check` of a problem package: its own submissions against what the package expects."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.cli.console import terminal
from grader.cli.options import Chosen
from grader.cli.stopping import Stop
from grader.model.errors import ConfigurationError
from grader.text.visible import visible

if TYPE_CHECKING:
    from grader.offline.package_check import CheckedSubmission

_FEEDBACK_CHARS = 100
_COLUMNS = ("submission", "language", "expected", "verdict", "", "feedback")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageCommand:
    """One run of the command."""

    package: Path
    keep: Path | None
    as_json: bool
    force: bool

    def run(self, chosen: Chosen, stop: Stop) -> bool:
        """Grade the submissions, and print a table.

        Returns:
            Whether there was a submission, and each that was graded has a verdict.

        Raises:
            InputError: The package cannot be read.
            ConfigurationError: The file for its row exists, or cannot be made.
        """
        from grader.grading.grader import Grader
        from grader.model.verdict import Verdict
        from grader.offline.output import write_whole
        from grader.offline.package_check import check_submissions, with_time_limit
        from grader.offline.package_rows import row_of
        from grader.offline.packages import read_package

        if self.keep is not None and self.keep.exists() and not self.force:
            message = f"{self.keep} exists; replace it with --force, or name another file"
            raise ConfigurationError(message)
        package = read_package(self.package)
        uncalibrated = replace(chosen.settings.calibration, file=None)
        settings = replace(chosen.settings, problems=None, calibration=uncalibrated)
        with Grader(settings) as grader:
            stop.add(grader.close)
            package = with_time_limit(package, grader, chosen.limits)
            found = check_submissions(package, grader, chosen.limits)
        stop.check()
        if self.keep is not None:
            write_whole(self.keep, [json.dumps(row_of(package)).encode() + b"\n"])
        if self.as_json:
            rows = [each.as_json() for each in found]
            typer.echo(json.dumps({"package": package.name, "submissions": rows}))
        else:
            _print(package.name, found)
        return bool(found) and all(each.verdict is not Verdict.INTERNAL_ERROR for each in found)


def _print(name: str, found: "list[CheckedSubmission]") -> None:
    rows = [_cells(each) for each in found]
    console = terminal(err=False)
    if console is None:
        for row in rows:
            typer.echo("  ".join(filter(None, row)))
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table(*_COLUMNS, box=None, header_style="bold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table, "")
    judged = [each.agrees for each in found if each.agrees is not None]
    typer.echo(
        f"{visible(name)}: {sum(judged):,} of {len(judged):,} submissions agree with the package; "
        f"{len(found) - len(judged):,} more without an expected verdict, or not graded"
    )


def _cells(each: "CheckedSubmission") -> tuple[str, ...]:
    feedback = " ".join(visible(each.feedback).split())
    mark = {True: "agrees", False: "DIFFERS", None: ""}[each.agrees]
    return (
        visible(each.submission.path),
        each.submission.language or "?",
        " or ".join(sorted(each.submission.expected)) or "?",
        each.verdict or "-",
        mark,
        feedback[:_FEEDBACK_CHARS],
    )
