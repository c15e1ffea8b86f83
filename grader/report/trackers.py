"""A run's figures, step by step, for Weights & Biases, TensorBoard or MLflow.

Each tracker has a library of its own. Only this module imports these libraries.
"""

import importlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.model.errors import ConfigurationError, GraderError
from grader.model.verdict import Verdict

if TYPE_CHECKING:
    from grader.report.trends import Moment, Trends


class Tracker(StrEnum):
    """A tracker that figures can be written to."""

    WANDB = "wandb"
    TENSORBOARD = "tensorboard"
    MLFLOW = "mlflow"


def track(trends: "Trends", tracker: Tracker, folder: Path | None) -> None:
    """Write the figures of every moment.

    Args:
        trends: The run, with a moment for each step.
        tracker: Where the figures go. The environment says to which project or server.
        folder: Where TensorBoard's files go; the others ignore it.

    Raises:
        ConfigurationError: The library is not installed, or there is no folder for TensorBoard.
        GraderError: The library cannot write the figures.
    """
    if tracker is Tracker.TENSORBOARD and folder is None:
        message = "TensorBoard reads a folder; name it with -o FOLDER"
        raise ConfigurationError(message)
    library = _library(tracker)
    try:
        _write(list(figures_of(trends)), tracker, library, str(folder))
    except Exception as error:  # The libraries raise exceptions of their own.
        message = f"{tracker} failed: {type(error).__name__}: {error}"
        raise GraderError(message) from error


def _write(
    steps: list[tuple[int, Mapping[str, float]]], tracker: Tracker, library: Any, folder: str
) -> None:
    match tracker:
        case Tracker.WANDB:
            with library.init() as run:
                for step, figures in steps:
                    run.log(figures, step=step)
        case Tracker.MLFLOW:
            with library.start_run():
                for step, figures in steps:
                    library.log_metrics(figures, step=step)
        case Tracker.TENSORBOARD:
            writer = library.Writer(folder)
            for step, figures in steps:
                for name, value in figures.items():
                    writer.add_scalar(name, value, step)
            writer.close()


_LIBRARIES = {
    Tracker.WANDB: ("wandb", "init"),
    Tracker.MLFLOW: ("mlflow", "start_run"),
    Tracker.TENSORBOARD: ("tensorboard.summary", "Writer"),
}
"""The module of each, and a name that it must have: Python also imports any folder by its name."""


def _library(tracker: Tracker) -> Any:
    module, name = _LIBRARIES[tracker]
    try:
        library = importlib.import_module(module)
        getattr(library, name)
    except (ImportError, AttributeError) as error:
        message = f"writing to {tracker} needs: pip install 'grader-rl[{tracker}]'"
        raise ConfigurationError(message) from error
    return library


def figures_of(trends: "Trends") -> Iterator[tuple[int, Mapping[str, float]]]:
    """Yield the step of each moment, or its number, with its known figures by name."""
    for number, moment in enumerate(trends.moments):
        known = {name: value for name, value in _of(moment).items() if value is not None}
        yield number if moment.step is None else moment.step, known


def _of(moment: "Moment") -> dict[str, float | None]:
    verdicts = {
        f"grader/verdict_{verdict}": moment.mean(lambda e, v=verdict: float(e.verdict is v))  # type: ignore[misc]
        for verdict in Verdict
        if verdict is not Verdict.SKIPPED
    }
    return {
        "grader/samples": float(len(moment.entries)),
        "grader/reward": moment.mean(lambda e: e.reward if e.graded else None),
        "grader/score": moment.mean(lambda e: e.score if e.graded else None),
        "grader/graded": moment.mean(lambda e: float(e.graded)),
        **verdicts,
        "grader/suspicion": moment.mean(lambda e: float(e.is_hack)),
        "grader/cpu_time_s": moment.mean(lambda e: e.cpu_in_all_s),
        "grader/queue_time_s": moment.mean(lambda e: e.queue_s),
    }
