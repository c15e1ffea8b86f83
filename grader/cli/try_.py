"""`grader try`."""

import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from grader.cli.console import note
from grader.cli.reward_call import RewardCall, TriedSample, reward_call
from grader.cli.reward_result import FORMS, read_result
from grader.model.errors import ConfigurationError, GraderError, InputError
from grader.text.visible import visible

_PROMPT_KEYS = ("prompt", "question", "input", "query")
_RESPONSE_KEYS = ("response", "completion", "output", "generation", "solution", "code")
_LABEL_KEYS = ("label", "answer", "answers", "ground_truth")
_ROWS = 3
_SHOWN_CHARS = 600


def try_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A reward function's file, or a policy as file.py:function."
        ),
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to try it on, as JSONL.")],
    *,
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--row", metavar="N", min=1, help="A row, from 1. Repeatable. [default: the first 3]"
        ),
    ] = None,
    prompt_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Column of the prompt. [default: as found]")
    ] = None,
    response_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Column of the response. [default: as found]")
    ] = None,
    label_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Column of the label. [default: as found, or the row]"),
    ] = None,
) -> None:
    """Try a reward function on a few rows before you train with it.

    Loads FILE by its path, as OpenRLHF does, and calls its `reward_func` with one row at a time. If
    there is none, calls its `compute_score` as verl does, or its function of `completions` as TRL
    does. FILE may also be the name of a file that comes with the grader, such as `reward_func.py`.
    Prints the reward of each row, and every log that is not 0. The function may return what any
    trainer takes: a dict, a list, a tensor or a number. A row without a response, as in a file of
    prompts, is tried with the reference solution of its label.

    If FILE has the form `file.py:function`, it is a policy: a function that takes a report and
    returns a reward. Each row is graded, and the function rewards it.

    **Examples**

        grader try reward_func.py data.jsonl

        grader try reward_func.py --row 7 data.jsonl --label-key tests

        grader try my_policy.py:reward data.jsonl

    **Exit codes**

    - 0: the function gave a reward for each row
    - 2: bad usage, a file that cannot be read, or a reward function that does not load
    - 3: the function raised an exception or gave no reward, or there was no row
    """
    os.environ.setdefault("GRADER_DEBUG", "1")
    os.environ["GRADER_RECORD"] = ""  # Only a training is recorded.
    rows = _rows(data, row)
    if (first := next(rows, None)) is None:
        note(f"{data} has no rows: nothing was tried")
        raise typer.Exit(3)
    is_policy = ".py:" in file.name and not file.exists()
    call = _load_policy(str(file)) if is_policy else _load(file)
    failed = False
    forms: set[str] = set()
    for number, columns in chain([first], rows):
        prompt = _text(columns, prompt_key, _PROMPT_KEYS) or ""
        label = _label(columns, label_key)
        response = _text(columns, response_key, _RESPONSE_KEYS)
        typer.echo(f"row {number}")
        if response is None:
            response = _reference(label)
            if response is None:
                message = f"row {number} has no response; name its column with --response-key"
                raise InputError(message)
            typer.echo("  no response: tried with the reference solution of its label")
        sample = TriedSample(prompt=prompt, response=response, label=label, columns=columns)
        form = _show(call, sample)
        failed |= form is None
        forms |= set() if form is None else {form}
    if forms and not is_policy:
        note(f"It returned {' and '.join(sorted(forms))}. {FORMS}.")
        if importlib.util.find_spec("torch") is None:
            note("torch is not installed: grader/reward_func.py returns lists for tensors.")
    if failed:
        raise typer.Exit(3)


def _load_policy(name: str) -> RewardCall:
    """Return a reward function for one sample that grades by the settings, with this policy.

    Raises:
        ConfigurationError: The policy does not load, or nothing can be graded here.
    """
    os.environ["GRADER_POLICY"] = name
    from grader.rewards.core import checked_core
    from grader.rewards.sample import Sample
    from grader.scoring.own import load_policy

    load_policy(name)
    core = checked_core()

    def call(sample: TriedSample) -> Any:
        query = sample.prompt + sample.response
        (rating,) = core.rate([Sample(query=query, prompt=sample.prompt, label=sample.label)])
        if not rating.graded:
            raise InputError(rating.note)
        typer.echo(f"  {visible(rating.note)[:_SHOWN_CHARS]}")
        return {"rewards": rating.reward, "scores": rating.score, "extra_logs": rating.all_logs()}

    return call


def _load(file: Path) -> RewardCall:
    path = file if file.exists() else Path(__file__).parent.parent / file.name
    if not path.is_file():
        message = (
            f"there is no file {file}; expected one of yours, or one that comes "
            "with the grader, such as reward_func.py"
        )
        raise InputError(message)
    spec = importlib.util.spec_from_file_location("reward_func", path.resolve())
    if spec is None or spec.loader is None:
        message = f"{file} is not a Python file; expected a name that ends in .py"
        raise InputError(message)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # The file may raise anything.
        message = f"{file} does not load: {type(error).__name__}: {error}"
        raise ConfigurationError(message) from error
    return reward_call(module, str(file))


def _rows(data: Path, wanted: list[int] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the wanted rows with their numbers.

    Raises:
        InputError: The file or a row cannot be read, or a wanted row is missing.
    """
    from grader.offline.source import open_rows

    left = set(wanted or ())
    source = islice(open_rows(data), None if wanted else _ROWS)
    for number, row in enumerate(source, start=1):
        if not wanted or number in left:
            left.discard(number)
            try:
                columns = row.fields()
            except InputError as error:
                message = f"{data}, row {number}: {error}"
                raise InputError(message) from error
            yield number, columns
        if wanted and not left:
            return
    if left:
        message = f"{data} has no row {min(left)}"
        raise InputError(message)


def _keys(columns: dict[str, Any], key: str | None, usual: Sequence[str]) -> Sequence[str]:
    """Return the column that is named, else the usual ones.

    Raises:
        InputError: There is no such column.
    """
    if key is None:
        return usual
    if key not in columns:
        message = f"there is no column {key!r}; there are: {', '.join(columns)}"
        raise InputError(message)
    return (key,)


def _text(columns: dict[str, Any], key: str | None, usual: Sequence[str]) -> str | None:
    keys = _keys(columns, key, usual)
    return next((columns[name] for name in keys if isinstance(columns.get(name), str)), None)


def _label(columns: dict[str, Any], key: str | None) -> Any:
    """Return the label as a trainer's dataset has it: the cell, or the whole row as JSON."""
    keys = _keys(columns, key, _LABEL_KEYS)
    found = next((name for name in keys if name in columns), None)
    return json.dumps(columns) if found is None else columns[found]


def _reference(label: Any) -> str | None:
    """Return the label's reference solution as a model's answer; None if it has none."""
    from grader.suites import parse_label

    try:
        reference = parse_label(label).reference
    except GraderError:
        return None
    return None if reference is None else f"```python\n{reference}\n```\n"


def _show(call: RewardCall, sample: TriedSample) -> str | None:
    """Call the function and print its result; return the result's form, or None if it failed."""
    try:
        result = read_result(call(sample))
    except InputError as error:
        typer.echo(f"  failed: {visible(str(error))}")
        return None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's function may raise anything
        typer.echo(f"  failed: {visible(f'{type(error).__name__}: {error}')[:_SHOWN_CHARS]}")
        return None
    reward = "None: not graded" if result.reward is None else f"{result.reward:+.4f}"
    typer.echo(
        f"  reward {reward}" + ("" if result.score is None else f"  score {result.score:.4f}")
    )
    for name, value in result.logs.items():
        if value:
            typer.echo(f"  {visible(name)} {value:g}")
    return result.form
