"""The frames in which a supervisor tells how a run or a step has ended."""

from dataclasses import fields

from sandbox_images.harness.slot.ended import Ended
from sandbox_images.harness.slot.interaction import DialogueEnd
from sandbox_images.harness.slot.session import Step
from sandbox_images.harness.wire.frames import Header

_TOLD = tuple(
    field.name
    for field in fields(Ended)
    if field.name not in ("stdout", "stderr", "report", "product")
)
"""The fields of `Ended` that are in the header of an outcome; the others are blobs."""


def outcome_frame(
    seq: int, index: int, ended: Ended | DialogueEnd
) -> tuple[Header, *tuple[bytes, ...]]:
    """Return the frame that reports a run."""
    header: Header = {"op": "outcome", "seq": seq, "index": index}
    if isinstance(ended, Ended):
        if ended.product is not None:
            header["has_product"] = True
            return header | _end(ended), *ended.streams, ended.product
        return header | _end(ended), *ended.streams
    header["dialogue"] = {
        "interactor": _end(ended.interactor),
        "interactor_first": ended.interactor_first,
        "deadlock": ended.deadlock,
    }
    submission = ended.submission
    return header | _end(submission), *submission.streams, *ended.interactor.streams


def step_frame(step: Step) -> tuple[Header, *tuple[bytes, ...]]:
    """Return the frame that reports a step."""
    header: Header = {
        "op": "stepped",
        "state": step.state,
        "problem": step.problem,
        "gone": step.is_gone,
        "began": step.ended is not None,
    }
    if step.ended is None:
        return (header,)
    return header | _end(step.ended), *step.ended.streams


def _end(ended: Ended) -> Header:
    return {name: getattr(ended, name) for name in _TOLD}
