"""Loading files of problems, in all formats of `grader.offline.source`."""

from pathlib import Path

from grader.offline.source import has_lines, open_rows
from grader.suites import ProblemIndex


def load_problems(path: Path) -> ProblemIndex:
    """Index a file of problems by their ids; close the index when done.

    Raises:
        InputError: It cannot be read, or the id of a line is missing or not unique.
        ConfigurationError: It needs pyarrow, which is not installed.
    """
    source = open_rows(path)
    if not has_lines(path):
        return ProblemIndex.from_rows((row.fields() for row in source), str(path))
    next(iter(source), None)  # refuses what is not lines, such as one object over many
    return ProblemIndex.load(path)
