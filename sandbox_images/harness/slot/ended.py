"""How a run ended: what `Watch` and `Interaction` return."""

import os
from dataclasses import dataclass

from sandbox_images.harness.slot.zygotes import SlotBroken

_SAID_CHARS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended; the fields of grader.sandbox.contract.RunOutcome."""

    exit_code: int | None = None
    exit_signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    report: bytes = b""
    dropped_bytes: int = 0
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    waited_s: float = 0.0
    peak_memory_bytes: int = 0
    limit_hit: str | None = None
    oom_killed: bool = False
    forbidden_calls: tuple[str, ...] = ()
    product: bytes | None = None
    """What a compiler made, if the grader has asked for it."""

    @property
    def streams(self) -> tuple[bytes, bytes, bytes]:
        """Standard output, standard error and the report."""
        return self.stdout, self.stderr, self.report


def exit_of(status: int) -> tuple[int | None, int | None]:
    """Return exit code and signal of a wait status; one of them is None."""
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def broken(what: str, stderr: bytes) -> SlotBroken:
    """Return the error for a run that failed before it reached the code it was to run."""
    said = stderr.decode(errors="replace")[-_SAID_CHARS:]
    return SlotBroken(f"{what}: {said}")
