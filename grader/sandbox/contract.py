"""The contract between the grader and whatever runs code for it.

A *slot* is one long-lived locked-down place that runs one *batch* at a time. A batch is a
program with the inputs of its *runs*: each run gets a fresh process, an empty work area and
no way to tell that another run came before it. docs/how-it-works.md has the picture;
tests/contract/ holds every implementation to what this file promises.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from grader.model import Limits, SuiteFile, Usage
from grader.model.verdict import LimitKind


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
    """A program of the suite that talks to the submission, each on the other's standard streams."""

    source: str
    """Run as `__main__`, with the run's bytes in a file `input` and its answer in `answer`.

    After exit code 0 or 7 the submission still has to end by itself; after any other it is ended.
    """
    answers: tuple[bytes, ...]
    """One for each of `RunBatch.runs`."""
    limits: Limits
    """Its own, whatever the submission's are. Wall time counts once the submission has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """How a program of another language than Python is compiled and executed, in the work area."""

    run: tuple[str, ...]
    """A program of the slot or, with a slash, of the work area; and its arguments."""
    compile: tuple[str, ...] = ()
    """What to execute first, once for all runs; empty for nothing. What it leaves in the work
    area, every run finds in its own."""
    compile_limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of both, beside what every run finds."""


COMPILING = -1
"""`RunOutcome.index` of the compiler's own outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBatch:
    """One submission's code and everything needed to run it."""

    program: Program
    source: str
    """The submission's code: the whole of its file."""
    runs: tuple[bytes, ...]
    """Per run what its process is given: stdin, or a payload of `grader.sandbox.payload`."""
    limits: Limits
    """For each run."""
    prelude: str = ""
    """Executed before the source, in the same module. Line numbers are those of the source."""
    files: tuple[SuiteFile, ...] = ()
    """Put into the work area of every run."""
    source_path: str = "solution.py"
    preload: tuple[str, ...] = ()
    """Modules that the process should find imported already, such as numpy."""
    split: bool = False
    """Scripts and pytest only: run the tests in one process and the submission in another."""
    standing: bool = False
    """Scripts apart from their submission only: the tests leave their process as they found it,
    so that it may have run other tests before and run others afterwards."""
    interactor: Counterpart | None = None
    """Stdin programs only: who the submission talks to. The runs' bytes are for it alone."""
    commands: Commands | None = None
    """Only, and always, with `Program.COMMAND`."""

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
    exit_code: int | None
    exit_signal: int | None
    """Never both; neither where a limit ended the run."""
    stdout: bytes
    stderr: bytes
    dropped_bytes: int
    """Output past `Limits.output_bytes`, of both streams together."""
    report: bytes
    """What the runner wrote to its private descriptor; see `grader.sandbox.payload`."""
    usage: Usage
    waited_s: float = 0.0
    """Of its time on the clock, what it was ready but had no CPU, as far as that was seen."""
    limit_hit: LimitKind | None = None
    oom_killed: bool = False
    forbidden_calls: tuple[str, ...] = ()
    """Names of system calls that were tried and that no honest program needs."""
    dialogue: "Dialogue | None" = None
    """Only, and always, where the batch has an interactor; `stdout` is then what it was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """How a submission's conversation with the suite's interactor ended."""

    interactor: RunOutcome
    """How the interactor ended; its `stdout` is what it told the submission."""
    interactor_first: bool
    """Whether it ended before the submission did."""
    deadlock: bool = False
    """Whether both waited for input that nobody would send; the submission's limit is wall time.

    Found at once where the kernel shows what a process waits for, else by that limit.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What came of a step of a session. The cell chose the streams and the report."""

    state: int | None
    """The state that it led to. None: there is none, and all is as before the step."""
    problem: str | None
    """Why there is none."""
    run: RunOutcome | None
    """How the cell ran; None if it did not begin."""
    is_gone: bool = False
    """Whether the step could not begin since the state's process is no more."""


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
            limits: For this step: CPU time, wall time and output. All else is the session's.
            files: Put into the work area first.

        Raises:
            SessionLostError: There is no session any more.
            SandboxUnavailableError: The slot broke.
        """

    def read_files(self, state: int, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of files of a state, for those paths that are files.

        Raises:
            InputError: The state is gone, or the files have more bytes than its work area.
            SessionLostError: There is no session any more.
            SandboxUnavailableError: The slot broke.
        """

    def list_files(self, state: int) -> Mapping[str, int]:
        """Return the sizes of all files of a state's work area; raises as `read_files`."""

    def drop(self, states: Sequence[int]) -> None:
        """Free states.

        Raises:
            SandboxUnavailableError: The slot broke.
        """

    def close(self) -> None:
        """End the session, after which the slot can be used again. Repeats harmlessly.

        Raises:
            SandboxUnavailableError: The slot broke.
        """


class SessionSlot(Protocol):
    """A slot as sessions need it."""

    def open_session(
        self, limits: Limits, *, states: int, preload: Sequence[str] = ()
    ) -> SlotSession:
        """Begin a session, which has the slot for itself until it is closed.

        Args:
            limits: Those on memory and files are for all of the session. Those on processes and
                on time are for each step.
            states: How many states it may have at once.
            preload: Modules that the first state should find imported already.

        Raises:
            SandboxUnavailableError: The slot broke.
        """


class Slot(SessionSlot, Protocol):
    """One place that runs one batch at a time. Not safe to share between threads."""

    @property
    def name(self) -> str:
        """The backend and the number, for logs: "docker-3"."""

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        """Run the batch's runs one after another and yield each outcome as it ends.

        If the batch has something to compile, the first outcome is the compiler's. It is the only
        one if the compiler did not end with exit code 0, hit a limit, or reports an error.

        Closing the iterator early stops the run in progress and drops the rest.

        Raises:
            SandboxUnavailableError: The slot broke. It is unusable from then on; runs that
                were not yielded may or may not have happened. Retryable on another slot.
        """

    def is_alive(self) -> bool:
        """Tell whether the slot, which runs nothing now, can take a batch.

        True of one that broke this very moment; never True of one that broke a while ago.
        """

    def close(self) -> None:
        """Kill everything in the slot and remove it. Repeats harmlessly; never raises."""


class Sandbox(Protocol):
    """A backend: opens slots and says what protects them. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """The backend: "docker", "native" or "fake"."""

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Start a slot and wait until it can take a batch.

        Args:
            image: The image variant: "python" or "science".
            memory_bytes: The most that any batch of this slot may use.

        Raises:
            ImageNotFoundError: The image is missing or does not match this version.
            SandboxUnavailableError: The engine or the jail did not start. Retryable.
        """

    def layers(self) -> Mapping[str, str]:
        """Return each isolation layer with its state here, for `grader doctor`."""

    def close(self) -> None:
        """Close every slot that is still open. Repeats harmlessly."""
