"""What the grader asks a slot to run, as read from its frame."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from sandbox_images.harness.slot.zygotes import SlotBroken
from sandbox_images.harness.wire.frames import Header


class ReceivedCommands(NamedTuple):
    """How a program of another language is compiled and run."""

    compile: tuple[str, ...]
    """Empty if nothing is compiled or checked first."""
    compile_limits: dict[str, Any]
    run: tuple[str, ...]
    environment: dict[str, str]
    only_checks: bool
    keeps_product: bool
    product: bytes | None
    """What an earlier batch has compiled, used instead of compiling."""

    @classmethod
    def parse(cls, header: Header | None, blobs: Iterator[bytes]) -> "ReceivedCommands | None":
        """Read them from their part of a batch's header; None if there is no such part."""
        if header is None:
            return None
        return cls(
            compile=tuple(header["compile"]),
            compile_limits=header["compile_limits"],
            run=tuple(header["run"]),
            environment=header["environment"],
            only_checks=header["only_checks"],
            keeps_product=header["keeps_product"],
            product=next(blobs) if header["has_product"] else None,
        )

    def require(self) -> None:
        """Make sure that the slot has the programs, except for what the compiler makes.

        Raises:
            SlotBroken: The slot lacks one.
        """
        for program in (command[0] for command in (self.compile, self.run) if command):
            # The path of what the compiler makes has a slash.
            if "/" not in program and shutil.which(program) is None:
                raise SlotBroken(f"the sandbox has no program {program}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedInteractor:
    """The suite's program that a submission talks to."""

    source_path: str
    source: bytes
    files: list[tuple[str, bytes]]
    limits: dict[str, Any]
    answers: list[bytes]
    """One for each run of the batch. The interactor also gets the bytes of the run."""
    commands: ReceivedCommands | None

    @classmethod
    def parse(cls, header: Header, blobs: Iterator[bytes], runs: int) -> "ReceivedInteractor":
        """Read it from its part of a batch's header, and its blobs."""
        return cls(
            source_path=header["source_path"],
            source=next(blobs),
            files=[(path, next(blobs)) for path in header["paths"]],
            limits=header["limits"],
            answers=list(islice(blobs, runs)),
            commands=ReceivedCommands.parse(header["commands"], blobs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedBatch:
    """A batch, as read from its frame."""

    seq: int
    program: str
    limits: dict[str, Any]
    source_path: str
    source: bytes
    prelude: bytes
    files: list[tuple[str, bytes]]
    preload: tuple[str, ...]
    split: bool
    standing: bool
    runs: list[bytes]
    run_files: tuple[dict[str, bytes], ...] = ()
    """The files that each run gets besides those of all runs; empty if there are none."""
    interactor: ReceivedInteractor | None = None
    commands: ReceivedCommands | None = None

    @classmethod
    def parse(cls, header: Header, blobs: list[bytes]) -> "ReceivedBatch":
        """Read it from a frame."""
        left = iter(blobs)
        count = header["runs"]
        # Each value takes its blobs off the rest, so this order is that of the blobs.
        return cls(
            seq=header["seq"],
            program=header["program"],
            limits=header["limits"],
            source_path=header["source_path"],
            preload=tuple(header["preload"]),
            split=header["split"],
            standing=header["standing"],
            source=next(left),
            prelude=next(left),
            files=[(path, next(left)) for path in header["paths"]],
            runs=list(islice(left, count)),
            run_files=_rows({path: list(islice(left, count)) for path in header["run_paths"]}),
            commands=ReceivedCommands.parse(header["commands"], left),
            interactor=None
            if (told := header["interactor"]) is None
            else ReceivedInteractor.parse(told, left, count),
        )


def _rows(columns: dict[str, list[bytes]]) -> tuple[dict[str, bytes], ...]:
    """Return the files of each run, given those of all runs by path."""
    each_run = zip(*columns.values(), strict=True)
    return tuple(dict(zip(columns, contents, strict=True)) for contents in each_run)


TEST_BATCH = ReceivedBatch(
    seq=0,
    program="stdin",
    limits={
        "cpu_time_s": 10.0,
        "wall_time_s": 30.0,
        "memory_bytes": 1 << 28,
        "output_bytes": 1 << 16,
        "processes": 16,
        "work_bytes": 1 << 20,
        "work_files": 16,
    },
    source_path="solution.py",
    source=b"",
    prelude=b"",
    files=[],
    preload=(),
    split=False,
    standing=False,
    runs=[b""],
)
"""Run once at the start, so that a defect of the slot shows before a batch comes."""
