"""`grader explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.model.errors import InputError
from grader.text.nearest import nearest

if TYPE_CHECKING:
    from grader.report.rows import GradedRow

_NAMED = 8
"""Most lines that an error names."""


def explain(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A file of graded rows, or a folder of such files, as GRADER_RECORD makes it.",
        ),
    ],
    id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The sample's id; @N is the row on line N of OUT."),
    ],
    *,
    all_cases: Annotated[
        bool, typer.Option("--all", help="Show the cases that passed in full as well.")
    ] = False,
) -> None:
    """Show why a sample got its reward.

    Prints the completion, the extracted code and the extraction rule, the cases with input,
    expected and actual output, captured output, usage against limits, the steps to verdict and
    reward, and what would have earned more. Control characters are shown as symbols.

    **Examples**

        grader explain graded.jsonl HumanEval/17

        grader explain graded.jsonl @212 --all

    **Exit codes**

    - 0: shown
    - 2: no such file or row, or several rows with the id; then choose one by `@N`
    """
    from grader.cli.sample import print_sample

    print_sample(_find(out, id).view(), all_cases=all_cases)


def _find(out: Path, id: str) -> "GradedRow":
    """Return the row with an id.

    Raises:
        InputError: No row has the id, or several have it.
    """
    from grader.report.files import numbered_lines
    from grader.report.rows import name_of, read_row

    wanted_line = int(id[1:]) if id.startswith("@") and id[1:].isdecimal() else None
    found: list[tuple[int, bytes]] = []
    others: list[str] = []
    last = 0
    for number, text in numbered_lines(out):
        last = number
        if number == wanted_line:
            return read_row(text, number)
        own, name = name_of(text, number)
        if id in (own, name):
            found.append((number, text))
        else:
            others.append(name)
    if not found:
        if not last:
            message = f"{out} has no rows"
        elif wanted_line is not None:
            message = f"{out} has no row on line {wanted_line}; its last row is @{last}"
        else:
            named = ", ".join(nearest(id, others))
            message = f"{out} has no row with the id {id!r}; there are, for example: {named}"
        raise InputError(message)
    if len(found) > 1:
        lines = ", ".join(f"@{number}" for number, _ in found[:_NAMED])
        message = f"{len(found)} rows have the id {id!r}; name one by its line: {lines}"
        raise InputError(message)
    ((number, text),) = found
    return read_row(text, number)
