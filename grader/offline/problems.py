"""Loading files of problems, in all formats of `grader.offline.source`."""

from pathlib import Path

from grader.model.errors import InputError
from grader.offline.source import STDIN, has_lines, open_rows
from grader.suites import ProblemIndex
from grader.suites.parse import ID_FIELDS


def load_problems(path: Path, *, by_id: bool = True) -> ProblemIndex:
    """Index a file of problems by their ids; close the index when done.

    Args:
        path: The file, or a data set's folder.
        by_id: Whether problems will be looked up by their ids.

    Raises:
        InputError: It cannot be read, or no problem has the id that it would be looked up by.
        ConfigurationError: It needs pyarrow, which is not installed.
    """
    if path == STDIN:
        message = "problems are read twice, which standard input does not allow; name a file"
        raise InputError(message)
    source = open_rows(path)
    first = next(iter(source), None)  # refuses what is not lines, such as one object over many
    if by_id and first is None:
        message = f"{path} has no rows; expected problems"
        raise InputError(message)
    if has_lines(path):
        index = ProblemIndex.load(path)
    else:
        index = ProblemIndex.from_rows((row.fields() for row in source), str(path))
    if first is not None and by_id and not index.has_ids:
        index.close()
        found = ", ".join(first.fields())
        message = f"{path}: no row has an id ({', '.join(ID_FIELDS)}); found the fields {found}"
        raise InputError(message)
    return index
