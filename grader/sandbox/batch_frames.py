"""A batch and its outcomes, as frames between a slot and `grader/sandbox/connection.py`."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from grader.model import Limits, Usage
from grader.model.errors import SandboxUnavailableError
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Commands, Dialogue, RunBatch, RunOutcome
from grader.sandbox.payload import text_bytes
from sandbox_images.harness.wire.frames import Header, encode


def encode_batch(batch: RunBatch, seq: int) -> bytes:
    """Return the frame that gives a batch to a slot under a number."""
    header: Header = {
        "op": "run",
        "seq": seq,
        "program": batch.program.value,
        "limits": limits_to_json(batch.limits),
        "source_path": batch.source_path,
        "paths": [file.path for file in batch.files],
        "runs": len(batch.runs),
        "run_paths": list(batch.run_files),
        "preload": list(batch.preload),
        "split": batch.split,
        "standing": batch.standing,
        "interactor": None,
        "commands": None,
    }
    contents = [file.content for file in batch.files]
    blobs = [text_bytes(batch.source), text_bytes(batch.prelude), *contents, *batch.runs]
    for column in batch.run_files.values():
        blobs += column
    if batch.commands is not None:
        header["commands"] = _commands_header(batch.commands)
        blobs += _product_blobs(batch.commands)
    if (interactor := batch.interactor) is not None:
        header["interactor"] = {
            "limits": limits_to_json(interactor.limits),
            "source_path": interactor.source_path,
            "paths": [file.path for file in interactor.files],
            "commands": None,
        }
        blobs += [text_bytes(interactor.source), *(file.content for file in interactor.files)]
        blobs += interactor.answers
        if interactor.commands is not None:
            header["interactor"]["commands"] = _commands_header(interactor.commands)
            blobs += _product_blobs(interactor.commands)
    return encode(header, *blobs)


def _commands_header(commands: Commands) -> Header:
    return {
        "compile": commands.compile,
        "compile_limits": limits_to_json(commands.compile_limits),
        "run": commands.run,
        "environment": dict(commands.environment),
        "only_checks": commands.only_checks,
        "has_product": commands.product is not None,
        "keeps_product": commands.keeps_product,
    }


def _product_blobs(commands: Commands) -> list[bytes]:
    return [] if commands.product is None else [commands.product]


@lru_cache
def limits_to_json(limits: Limits) -> Mapping[str, Any]:
    """Return the limits as the harness takes them."""
    return asdict(limits)


def decode_outcome(header: Header, blobs: list[bytes], seq: int, name: str) -> RunOutcome:
    """Return an outcome from its frame.

    Args:
        header: The header of the frame.
        blobs: Its blobs.
        seq: The number of the batch.
        name: The slot's name.

    Raises:
        SandboxUnavailableError: The frame is something other than an outcome of this batch.
    """
    told = header.get("dialogue")
    product = blobs[3:] if header.get("has_product") else []
    expected = 3 + len(product[:1]) if told is None else 6
    if header.get("op") != "outcome" or header.get("seq") != seq or len(blobs) != expected:
        message = f"{name}: unexpected frame {header.get('op')!r}"
        raise SandboxUnavailableError(message)
    outcome = decode_end(header, blobs[:3], header["index"])
    if told is None:
        return replace(outcome, product=product[0]) if product else outcome
    dialogue = Dialogue(
        interactor=decode_end(told["interactor"], blobs[3:], header["index"]),
        interactor_first=told["interactor_first"],
        deadlock=told["deadlock"],
    )
    return replace(outcome, dialogue=dialogue)


def decode_end(header: Header, streams: list[bytes], index: int) -> RunOutcome:
    """Return how one process ended, from the parts of a frame that say it."""
    stdout, stderr, report = streams
    limit_hit = header["limit_hit"]
    return RunOutcome(
        index=index,
        exit_code=header["exit_code"],
        exit_signal=header["exit_signal"],
        stdout=stdout,
        stderr=stderr,
        dropped_bytes=header["dropped_bytes"],
        report=report,
        usage=Usage(
            cpu_time_s=header["cpu_time_s"],
            wall_time_s=header["wall_time_s"],
            peak_memory_bytes=header["peak_memory_bytes"],
        ),
        waited_s=header["waited_s"],
        limit_hit=None if limit_hit is None else LimitKind(limit_hit),
        oom_killed=header["oom_killed"],
        forbidden_calls=tuple(header.get("forbidden_calls", ())),
    )
