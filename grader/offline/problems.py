"""Loading files of problems, in all formats of `grader.offline.source`."""

from pathlib import Path

from grader.offline.source import is_parquet, open_rows, parse_object
from grader.suites import ProblemIndex


def load_problems(path: Path) -> ProblemIndex:
    """Index a file of problems by their ids; close the index when done.

    Raises:
        InputError: It cannot be read, or the id of a line is missing or not unique.
        ConfigurationError: It is a Parquet file, and pyarrow is not installed.
    """
    source = open_rows(path)
    if is_parquet(path):
        return ProblemIndex.from_rows((parse_object(row.text) for row in source), str(path))
    next(iter(source), None)  # refuses other formats, such as an array
    return ProblemIndex.load(path)
