"""Programs in other languages than Python: compiled or checked once, executed for each run."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from sandbox_images.harness.slot.batch import ReceivedBatch, ReceivedCommands
from sandbox_images.harness.slot.ended import Ended
from sandbox_images.harness.slot.memory import SlotMemory
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.zygotes import SlotBroken, Zygotes
from sandbox_images.harness.wire import orders

_MAX_PRODUCT_BYTES = 64 << 20
"""The most of what a compiler made that the grader can ask for."""


class CommandedProgram:
    """The program of a batch, which its commands compile and execute."""

    def __init__(
        self,
        batch: ReceivedBatch,
        commands: ReceivedCommands,
        zygotes: Zygotes,
        memory: SlotMemory,
        held: ExitStack,
        watch: Callable[[list[Party], dict[str, Any], int], Ended],
    ) -> None:
        """Start nothing yet.

        Args:
            batch: The batch.
            commands: Its commands.
            zygotes: Where the processes come from.
            memory: The memory of the slot, which what the compiler makes changes.
            held: Closes what is opened for the batch, at its end.
            watch: Runs processes under limits, with a descriptor of their payload.
        """
        self._batch = batch
        self._commands = commands
        self._zygotes = zygotes
        self._memory = memory
        self._held = held
        self._watch = watch

    def prepare(self) -> tuple[Ended | None, orders.Parcel | None, Ended | None]:
        """Compile or check the program, as its language asks for.

        Returns:
            How the compiler ended (None if there is no compiler), the files for the runs (None if
            the program does not compile), and how the first run has ended if there was one.

        Raises:
            SlotBroken: The slot lacks a program, or an earlier batch's product cannot be used.
            RunStopped: The grader has stopped the batch.
        """
        self._commands.require()
        return self._check() if self._commands.only_checks else (*self._compile(), None)

    def execution(self, files: orders.Parcel) -> Callable[[int], Ended]:
        """Return a function that executes the program for one run, given its number."""
        batch = self._batch

        def run(index: int, bundle: orders.Parcel) -> Ended:
            party = self._party(self._commands.run, bundle)
            payload = orders.memory_file("payload", batch.runs[index])
            try:
                return self._watch([party], batch.limits, payload)
            finally:
                os.close(payload)

        if not batch.run_files:
            return lambda index: run(index, files)
        common = orders.read_files(files.descriptor)

        def run_with_files(index: int) -> Ended:
            all_files = common | batch.run_files[index]
            bundle = orders.write_bundle(batch.source_path, None, list(all_files.items()))
            try:
                return run(index, bundle)
            finally:
                os.close(bundle.descriptor)

        return run_with_files

    def _compile(self) -> tuple[Ended | None, orders.Parcel | None]:
        commands, held = self._commands, self._held
        if commands.product is not None:
            return None, known_product(commands.product, held)
        sources = self._sources()
        if not commands.compile:
            return None, sources
        product = os.memfd_create("product", os.MFD_CLOEXEC)
        held.callback(os.close, product)
        compiler = self._party(commands.compile, sources, "compile")
        ended = self._watch([compiler], commands.compile_limits, product)
        # The compiler's files take memory until the batch ends. It must not count as a run's.
        self._memory.forget()
        held.callback(self._memory.forget)
        if ended.exit_code != 0 or ended.limit_hit is not None:
            return ended, None
        try:
            parcel = orders.open_product(product).closed_by(held)
            if commands.keeps_product:
                ended = replace(ended, product=_read_product(parcel.descriptor))
        except ValueError as error:
            words = f"what the compiler made cannot be used: {error}"
            event = {"e": "compile_error", "type": "compiler", "message": words}
            return replace(ended, report=json.dumps(event).encode()), None
        return ended, parcel

    def _check(self) -> tuple[Ended, orders.Parcel | None, Ended | None]:
        """Check the program, unless its first run shows that it needs no check."""
        sources = self._sources()
        first = None
        if self._batch.interactor is None and self._batch.runs:
            first = self.execution(sources)(0)
            if first.exit_code == 0 and first.limit_hit is None:
                return Ended(exit_code=0), sources, first
        with orders.nothing() as nothing:
            check = self._party(self._commands.compile, sources)
            ended = self._watch([check], self._commands.compile_limits, nothing)
        is_sound = ended.exit_code == 0 and ended.limit_hit is None
        return ended, sources if is_sound else None, first

    def _sources(self) -> orders.Parcel:
        batch = self._batch
        bundle = orders.write_bundle(batch.source_path, batch.source, batch.files)
        return bundle.closed_by(self._held)

    def _party(
        self, command: tuple[str, ...], bundle: orders.Parcel, runner: str = "command"
    ) -> Party:
        """Return the process that executes one of the commands."""
        return Party(
            self._zygotes.get("command", ()),
            runner,
            bundle=bundle,
            command=command,
            environment=self._commands.environment,
        )


def known_product(product: bytes, held: ExitStack) -> orders.Parcel:
    """Return what an earlier batch has compiled, for reading.

    Raises:
        SlotBroken: It is not what a slot has made.
    """
    descriptor = orders.memory_file("product", product)
    held.callback(os.close, descriptor)
    try:
        return orders.open_product(descriptor).closed_by(held)
    except ValueError as error:
        raise SlotBroken(f"the batch's product cannot be used: {error}") from error


def _read_product(descriptor: int) -> bytes:
    """Return what a compiler made; nothing if that is too large."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size <= _MAX_PRODUCT_BYTES else b""
