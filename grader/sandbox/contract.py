"""The contract between the grader and the backends that run code for it.

A *slot* is a long-lived, locked-down place that runs one *batch* at a time. A batch is a program
with the inputs of its *runs*. Each run gets a fresh process and an empty work area, and cannot tell
whether another run came before it. docs/how-it-works.md has the picture. tests/contract/ holds
every implementation to what this file promises.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from grader.model import Limits, MiB, SuiteFile, Usage
from grader.model.verdict import LimitKind

MEMORY_OVERHEAD_BYTES = 256 * MiB
"""Memory of a slot on top of a submission's. Supervisor and zygotes take 45 MiB, an input of 20 MB
takes five times its size for a moment, and the rest is for zygotes with numpy and pandas."""

MAX_PROCESSES = 1024
"""The limit of the whole slot. That of a batch is far lower; this one protects the host."""


class Program(StrEnum):
    """Which runner of the harness takes the batch."""

    STDIN = "stdin"
    """Run the source as `__main__`, the run's bytes on standard input."""
    CALL = "call"
    """Call a function of the source with the run's encoded arguments."""
    SCRIPT = "script"
    """Run the source, then the run's statements case by case in its namespace."""
    PYTEST = "pytest"
    """Run pytest over the batch's files, the source being one of them."""
    COMMAND = "command"
    """Compile the source with the batch's commands, and run the result as a stdin program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """A program of the suite that talks to the submission over the standard streams of both."""

    source: str
    """Run as `__main__`, with the run's bytes in a file `input` and its answer in `answer`.

    If it ends with exit code 0, 7 or 42, the submission still has to end by itself; else it is
    killed.
    """
    answers: tuple[bytes, ...]
    """One for each of `RunBatch.runs`."""
    limits: Limits
    """Its own, apart from the submission's. Wall time counts from the end of the submission."""
    source_path: str = "interactor.py"
    files: tuple[SuiteFile, ...] = ()
    """Put into its work area."""
    commands: "Commands | None" = None
    """How it is executed if it is in another language than Python. What compiles it is not run:
    it needs `Commands.product`, unless it is interpreted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """How a program of another language than Python is compiled and executed, in the work area."""

    run: tuple[str, ...]
    """A program of the slot or, if it has a slash, of the work area; and its arguments."""
    compile: tuple[str, ...] = ()
    """What to execute first, once for all runs; empty for nothing. Each run gets the files that
    are then in the work area."""
    compile_limits: Limits = field(default_factory=Limits)
    only_checks: bool = False
    """Whether `compile` only checks the source, and makes nothing that a run needs. Then it is not
    executed if the first run ends with exit code 0: its outcome is that of a command that does
    nothing, without a `product`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of both commands, besides those of every run."""
    product: bytes | None = None
    """What an earlier batch made of the source, used instead of compiling it."""
    keeps_product: bool = False
    """Whether the compiler's outcome is to bring what it made, unless that exceeds 64 MiB."""


COMPILING = -1
"""`RunOutcome.index` of the compiler's own outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBatch:
    """One submission's code and everything needed to run it."""

    program: Program
    source: str
    """The submission's code: the whole of its file."""
    runs: tuple[bytes, ...]
    """What the process of each run gets: stdin, or a payload of `grader.sandbox.payload`."""
    limits: Limits
    """For each run."""
    prelude: str = ""
    """Executed before the source, in the same module. Line numbers are those of the source."""
    files: tuple[SuiteFile, ...] = ()
    """Put into the work area of every run."""
    run_files: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """Commands without interactor only: the contents, by path, of files of which each run gets its
    own. They take the place of other files with these paths."""
    source_path: str = "solution.py"
    preload: tuple[str, ...] = ()
    """Modules that the process should find imported already, such as numpy."""
    split: bool = False
    """Scripts and pytest only: run the tests in one process and the submission in another."""
    standing: bool = False
    """Split only: the tests leave their process as they found it, so that it may run other tests
    before and after them."""
    interactor: Counterpart | None = None
    """Stdin programs only: what the submission talks to. Only it gets the runs' bytes."""
    commands: Commands | None = None
    """Required with `Program.COMMAND`, and only allowed with it."""

    @property
    def memory_bytes(self) -> int:
        """The most that the submission's processes may use at any time."""
        compiling = 0 if self.commands is None else self.commands.compile_limits.memory_bytes
        return max(self.limits.memory_bytes, compiling)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How one run ended. The program chose both streams and, for the most part, `report`."""

    index: int
    """Which of `RunBatch.runs`, or `COMPILING`."""
    exit_code: int | None = None
    exit_signal: int | None = None
    """At most one of the two; none if a limit ended the run."""
    stdout: bytes = b""
    stderr: bytes = b""
    dropped_bytes: int = 0
    """How much output of both streams exceeded `Limits.output_bytes`."""
    report: bytes = b""
    """What the runner wrote to its private descriptor; see `grader.sandbox.payload`."""
    usage: Usage = field(default_factory=Usage)
    waited_s: float = 0.0
    """The part of its wall time in which it was ready but had no CPU, as far as was seen."""
    limit_hit: LimitKind | None = None
    oom_killed: bool = False
    forbidden_calls: tuple[str, ...] = ()
    """Names of refused system calls that no honest program needs."""
    dialogue: "Dialogue | None" = None
    """Set if the batch has an interactor. `stdout` is then what the submission told it."""
    product: bytes = b""
    """What the compiler made, if `Commands.keeps_product` asks for it and it did not fail. Only a
    slot can read it, and does not trust it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """How a submission's dialogue with the suite's interactor ended."""

    interactor: RunOutcome
    """How the interactor ended; its `stdout` is what it told the submission."""
    interactor_first: bool
    """Whether the interactor ended first."""
    deadlock: bool = False
    """Whether both waited for each other's output. The submission's limit is then wall time.

    Seen at once if the kernel shows what a process waits for, else when that limit is hit.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The outcome of a step of a session. The cell chose the streams and the report."""

    state: int | None
    """The state that it led to; None if it led to none, and the session is as before."""
    problem: str | None
    """Why it led to none."""
    run: RunOutcome | None
    """How the cell ran; None if it did not begin."""
    is_gone: bool = False
    """Whether the step could not begin because the state's process is gone."""


class SlotSession(Protocol):
    """A session: states, from each of which any number of steps can be taken.

    State 0 is there from the start. A step executes a cell in a copy of a state's process, on the
    state's files. It leads to a new state or, if the cell did not come to its end within its
    limits, to none. Not safe to share between threads.
    """

    def step(
        self, state: int, cell: str, *, limits: Limits, files: Sequence[SuiteFile] = ()
    ) -> StepOutcome:
        """Execute a cell.

        Args:
            state: Where to start from; it stays as it is.
            cell: Python source.
            limits: CPU time, wall time and output of this step. The session has the other limits.
            files: Put into the work area first.

        Raises:
            SessionLostError: The session has ended.
            SandboxUnavailableError: The slot broke.
        """

    def read_files(self, state: int, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of files of a state, for those paths that are files.

        Raises:
            InputError: The state is gone, or the files have more bytes than its work area.
            SessionLostError: The session has ended.
            SandboxUnavailableError: The slot broke.
        """

    def list_files(self, state: int) -> Mapping[str, int]:
        """Return the sizes of all files of a state's work area. Raises like `read_files`."""

    def drop(self, states: Sequence[int]) -> None:
        """Free states.

        Raises:
            SandboxUnavailableError: The slot broke.
        """

    def close(self) -> None:
        """End the session. Then the slot can be used again. Repeats harmlessly.

        Raises:
            SandboxUnavailableError: The slot broke.
        """


class SessionSlot(Protocol):
    """The part of a slot that sessions need."""

    def open_session(
        self, limits: Limits, *, states: int, preload: Sequence[str] = ()
    ) -> SlotSession:
        """Begin a session. Nothing else can use the slot until it is closed.

        Args:
            limits: Those on memory and files hold for the whole session, those on processes and
                time for each step.
            states: How many states it may have at once.
            preload: Modules that the first state should find imported already.

        Raises:
            SandboxUnavailableError: The slot broke.
        """


class Slot(SessionSlot, Protocol):
    """A place that runs one batch at a time. Not safe to share between threads."""

    @property
    def name(self) -> str:
        """The backend and the number, for logs: "docker-3"."""

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        """Run the batch's runs one after another and yield each outcome as it ends.

        If the batch has something to compile, the first outcome is the compiler's. It is the only
        one if the compiler failed: it hit a limit, reports an error, or has another exit code
        than 0.

        Closing the iterator early stops the run in progress and drops the rest.

        Raises:
            SandboxUnavailableError: The slot broke, and cannot be used any more. Runs whose
                outcomes were not yielded may have happened. Retryable on another slot.
        """

    def is_alive(self) -> bool:
        """Tell whether the slot can take a batch. It must run nothing now.

        False if a run has left something that the kernel cannot remove. May still be True if the
        slot broke a moment ago.
        """

    def close(self) -> None:
        """Kill everything in the slot and remove it. Repeats harmlessly; never raises."""


class Sandbox(Protocol):
    """A backend: opens slots and says what protects them. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """The backend: "docker" or "native"."""

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Start a slot and wait until it can take a batch.

        Args:
            image: The image variant, such as "python", "science" or "cpp".
            memory_bytes: The most that any batch of this slot may use.

        Raises:
            ImageNotFoundError: The image is missing or does not match this version.
            SandboxUnavailableError: The engine or the jail did not start. Retryable.
        """

    def layers(self) -> Mapping[str, str]:
        """Return each isolation layer with its state here, for `grader doctor`."""

    def environment(self, image: str) -> str:
        """Return a name for what code finds in a slot of an image variant, without opening one.

        The name changes if the image is built anew, or if Python or a package gets another version.
        Never raises: if the sandbox cannot tell, the name says why.
        """

    def close(self) -> None:
        """Close every slot that is still open. Repeats harmlessly."""
