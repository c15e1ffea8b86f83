"""Runs as commands take them: a graded file, or a folder, perhaps with a range of steps."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.report.index import GradedFile

RUN_HELP = (
    "Graded rows, as `grader grade` wrote them: a file, or a folder, as GRADER_RECORD makes one. "
    "`run@30:39` are only the rows of the steps 30 to 39, `run@40` those of step 40."
)
_RANGE = re.compile(r"(.+)@(\d+)(?::(\d+))?")


def open_run(path: Path) -> "GradedFile":
    """Read a run.

    Args:
        path: A file, a folder, or `-`; with `@FIRST:LAST` or `@STEP` at its end if there is no
            file of that name.

    Raises:
        InputError: It cannot be read, or has no rows.
    """
    from grader.report.index import GradedFile

    found = None if path.exists() else _RANGE.fullmatch(str(path))
    if found is None:
        return GradedFile(path)
    first = int(found[2])
    return GradedFile(Path(found[1]), (first, int(found[3] or first)))
