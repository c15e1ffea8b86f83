"""What the ledger is given and what it answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.config.settings import ServiceClass
from grader.queueing import names
from grader.queueing.names import AnswerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """Says that jobs of an image wait."""

    image: str
    number: int
    """How many messages to send. Each wakes one thread of a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A job as `Ledger.submit` enters it."""

    key: str
    suite: str
    """Its digest."""
    image: str
    timeout_s: float
    settings: str
    code: bytes
    service_class: ServiceClass = ServiceClass.TRAINING
    caller: str = ""
    """See `grader.process.request_id.caller`."""

    def waiter(self, client: str) -> str:
        """Return whose lane it waits in, if this client submits it."""
        return names.waiter(client, self.service_class, self.caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What became of a job that was submitted."""

    report: bytes | None = None
    """The cached report, if there was one."""
    is_new: bool = False
    lacks_suite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What `Ledger.submit` did."""

    jobs: tuple[Submitted, ...]
    """In the order of the entries."""
    hints: tuple[Hint, ...]
    """To send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A finished job."""

    token: str
    """The delivery."""
    key: str
    report: bytes
    """As `grader.model.wire` encodes it."""
    error: str
    """Shown among the last errors; "" if there was none."""
    keep: bool
    """Whether the report may answer an equal submission later."""
    edition: str
    """The worker's; see `Ledger.beat`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request for a job."""

    token: str
    """The delivery. If it has a job already, it gets that job again."""
    images: Sequence[str]
    """The variants that the job may need; the first of them with a job that waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A job that a worker holds."""

    key: str
    suite: str
    """Its digest."""
    is_suspect: bool
    """Whether a worker died while it ran this job. If so, the job is run alone."""
    code: bytes
    settings: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """What `Ledger.step` did."""

    in_time: tuple[bool, ...]
    """For each handover; False if the worker no longer held the job. The report is dropped then."""
    taken: tuple[Taken | None, ...]
    """For each request; None if no job waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the ledger answers to a client that looks after its jobs."""

    lost: tuple[str, ...]
    """Keys of jobs that it must submit again."""
    other_versions: tuple[int, ...]
    """The wire versions of the workers, if there are some but none of this version."""
    slots: Mapping[str, int]
    """Those that take jobs, by image variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What the ledger answers to a worker's heartbeat."""

    lost: tuple[str, ...]
    """Keys of running jobs that the worker must stop."""
    held: tuple[tuple[str, str], ...]
    """Token and key of each job that the worker holds under a token that it did not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the ledger tells a client about one of its jobs."""

    id: str
    key: str
    kind: AnswerKind
    body: bytes


def read_hints(found: Iterable[tuple[bytes, int]]) -> tuple[Hint, ...]:
    """Return the hints that a script wants sent."""
    return tuple(Hint(image=image.decode(), number=number) for image, number in found)


def read_taken(found: Sequence[bytes]) -> Taken:
    """Return a job that a script gave to a worker."""
    key, suite, suspect, code, settings = found
    return Taken(
        key=key.decode(),
        suite=suite.decode(),
        is_suspect=suspect == b"1",
        code=code,
        settings=settings,
    )


def read_submitted(found: Sequence[bytes]) -> Submitted:
    """Return what became of a job that a script entered."""
    match found[0]:
        case b"hit":
            return Submitted(report=found[1])
        case b"no suite":
            return Submitted(lacks_suite=True)
        case kind:
            return Submitted(is_new=kind == b"new")


def read_message(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Message:
    """Return an entry of a client's stream."""
    return Message(
        id=entry_id.decode(),
        key=fields[b"key"].decode(),
        kind=AnswerKind(fields[b"kind"].decode()),
        body=fields[b"body"],
    )
