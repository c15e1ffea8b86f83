"""One process of a run, as the supervisor sees it."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sandbox_images.harness.kernel import clock
from sandbox_images.harness.lock_in.notifications import Guard, Notifications
from sandbox_images.harness.slot.zygotes import RunSource
from sandbox_images.harness.wire import orders


class Party:
    """A process, from its order to its end."""

    def __init__(
        self,
        source: RunSource,
        program: str,
        *,
        bundle: orders.Parcel,
        channel: int | None = None,
        code: int | None = None,
        command: tuple[str, ...] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
        guard: Guard | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            source: Where the process comes from. It must have no other run at the time.
            program: Which runner takes it.
            bundle: What is put into its work area.
            channel: Descriptor to the other process, if there is one. `order` closes it.
            code: Descriptor of the code that the runs of a batch have in common, if they share it.
            command: What it executes in place of Python code, if anything.
            environment: The command's variables; see `RunOrder`.
            guard: Protects the processes of a session, if this is a step of one.
        """
        self.source = source
        self.program = program
        self.bundle = bundle
        self.channel = channel
        self.code = code
        self.command = command
        self.environment = environment
        self.inherited_bytes = 0 if command else source.memory_bytes
        """Memory that its processes share with the source that it was forked from."""
        self.started_at: float | None = None
        self.ended: dict[str, Any] | None = None
        self.listener: int | None = None
        """Descriptor by which the kernel reports suspicious calls. `close` closes it."""
        self.notifications = Notifications(guard)

    def order(
        self, limits: dict[str, Any], *, payload: int, stdout: int, stderr: int, report: int
    ) -> None:
        """Start the process. All arguments but `limits` are descriptors for it."""
        self.source.start(
            orders.RunOrder(
                program=self.program,
                limits=limits,
                staged_bytes=self.bundle.bytes,
                staged_files=self.bundle.files,
                bundle=self.bundle.descriptor,
                payload=payload,
                stdout=stdout,
                stderr=stderr,
                report=report,
                channel=self.channel,
                code=self.code,
                command=self.command,
                environment=self.environment,
            )
        )
        if self.source.is_standing:
            self.started_at = clock.now()
        if self.channel is not None:
            # Only the two processes hold it, so that each sees the end of the other.
            os.close(self.channel)

    def hear(self) -> None:
        """Wait for a message about the process, and note what it says."""
        message, descriptors = self.source.receive()
        if message["event"] == "started":
            self.started_at = clock.now()
            self.listener = descriptors[0] if descriptors else None
        else:
            self.ended = message

    def close(self) -> None:
        """Close the descriptor that the process sent."""
        if self.listener is not None:
            os.close(self.listener)
            self.listener = None

    @property
    def status(self) -> int:
        """The wait status. The process must have ended."""
        status: int = (self.ended or {})["status"]
        return status

    def own_peak_bytes(self, mapped_bytes: int | None) -> int:
        """Return how much memory of its own its largest process certainly had at some time.

        Args:
            mapped_bytes: How much of a peak may be files and shared memory; None if unknown.
        """
        peak_bytes = (self.ended or {}).get("new_peak_bytes", 0)
        return 0 if mapped_bytes is None else peak_bytes - self.inherited_bytes - mapped_bytes
