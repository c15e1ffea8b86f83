"""Files of problems, in every format that files of samples may have."""

from pathlib import Path

from grader.offline.source import is_parquet, open_rows, parse_object
from grader.suites import ProblemIndex


def load_problems(path: Path) -> ProblemIndex:
    """Index a file of problems by their ids; close the index when done.

    Raises:
        InputError: It cannot be read, or a line has no id, or one that came before.
        ConfigurationError: A Parquet file, and pyarrow is not installed.
    """
    source = open_rows(path)
    if is_parquet(path):
        return ProblemIndex.from_rows((parse_object(row.text) for row in source), str(path))
    next(iter(source), None)  # an array, say, is told as of any other file of rows
    return ProblemIndex.load(path)
