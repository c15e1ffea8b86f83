"""Runs as commands take them: a graded file, or a folder, perhaps only a stretch of it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model.errors import InputError

if TYPE_CHECKING:
    from grader.report.index import GradedFile

RUN_HELP = (
    "A file of graded rows, or a folder of such files, as GRADER_RECORD makes it. `run@30:39` "
    "means only the rows of the steps 30 to 39, `run@40` those of step 40, and `run@30:39min` "
    "those that were graded in these minutes of the run."
)
_STRETCH = re.compile(r"(.+)@(\d+)(?::(\d+))?(min)?")


def open_run(path: Path) -> "GradedFile":
    """Read a run.

    Args:
        path: A file, a folder, or `-`. If no file has that name, it may end with `@FIRST:LAST` or
            `@STEP`, and with `min` after that.

    Raises:
        InputError: It cannot be read, has no rows, or ends before it begins.
    """
    from grader.report.index import GradedFile, Stretch, StretchUnit

    found = None if path.exists() else _STRETCH.fullmatch(str(path))
    if found is None:
        return GradedFile(path)
    first, last = int(found[2]), int(found[3] or found[2])
    if last < first:
        message = f"{path} ends before it begins; expected {found[1]}@FIRST:LAST"
        raise InputError(message)
    unit = StretchUnit.MINUTE if found[4] else StretchUnit.STEP
    return GradedFile(Path(found[1]), Stretch(first=first, last=last, unit=unit))
