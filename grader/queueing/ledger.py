"""The ledger in Redis: what is waiting, who has it, and what became of it.

Every method is one atomic step and may be repeated when its answer was lost. Safe to use from
many threads, and in a process forked from one that used it. docs/operations.md has the keys.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, QueueUnavailableError
from grader.queueing import names, scripts
from grader.text.redaction import redacted

if TYPE_CHECKING:
    from redis import Redis

CLIENT_LEASE_S = 60.0
"""How long a client may be silent until nobody is thought to wait for its jobs."""

_SOCKET_TIMEOUT_S = 5.0
_CONNECT_TIMEOUT_S = 3.0
_REAP_INTERVAL_S = 0.5
_EMPTY_QUEUE_S = 5.0
"""How old a hint may be while its queue is empty; then it was lost."""
_DROPPED_AT_ONCE = 5000
"""How many verdicts go at most in one step where Redis is nearly full."""
_UNUSED_SUITE_S = 30
"""How long nobody asked for a suite that may go then, too."""

MAX_READ = 64
"""How many answers one call reads at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """A job that workers are to be told about."""

    key: str
    image: str
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What `submit` needs to know of a job."""

    key: str
    suite: str
    """The digest under which the suite is stored."""
    image: str
    timeout_s: float
    settings: str
    code: bytes

    @property
    def hint(self) -> Hint:
        """The job as a hint, with the priority that its deadline gives it."""
        return Hint(key=self.key, image=self.image, priority=names.priority_of(self.timeout_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What became of a ticket."""

    report: bytes | None = None
    """The finished verdict, where there was one."""
    is_new: bool = False
    lacks_suite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A job that a worker holds."""

    key: str
    suite: str
    is_suspect: bool
    """A worker died while it ran this job; it is to be run alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A job that a worker is about to run."""

    code: bytes
    settings: bytes
    suite: bytes
    """Empty where it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a client is told about one of its jobs."""

    id: str
    key: str
    kind: names.Answer
    body: bytes


def connect(settings: Settings) -> "Redis":
    """Return a client for the broker that the settings name; nothing is sent yet.

    Raises:
        ConfigurationError: There is no broker, its address is none, or redis is not installed.
    """
    if settings.broker is None:
        message = "no broker is set; expected GRADER_BROKER=redis://..."
        raise ConfigurationError(message)
    try:
        from redis import Redis
        from redis.backoff import ConstantBackoff
        from redis.exceptions import ConnectionError as DisconnectedError
        from redis.exceptions import TimeoutError as SilenceError
        from redis.retry import Retry
    except ImportError as error:
        message = "a broker needs the extra: pip install 'grader-rl[worker]'"
        raise ConfigurationError(message) from error
    try:
        return Redis.from_url(
            settings.broker,
            socket_timeout=_SOCKET_TIMEOUT_S,
            socket_connect_timeout=_CONNECT_TIMEOUT_S,
            socket_keepalive=True,
            protocol=2,
            # A connection that the server closed while it was idle deserves a second one.
            retry=Retry(ConstantBackoff(0.05), 1),
            retry_on_error=[DisconnectedError, SilenceError],
        )
    except ValueError:
        # What the library says may quote a part of the password.
        message = (
            f"the broker's address {redacted(settings.broker)} is not usable; "
            "expected redis://[:password@]host:port/number, percent-encoded where needed"
        )
        raise ConfigurationError(message) from None


class Ledger:
    """The scripts as methods. Every one may raise `QueueUnavailableError`, and only that."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigurationError: As `connect`.
        """
        self._redis = connect(settings)
        self._execute: Callable[..., Any] = self._redis.execute_command
        self._queue = settings.queue
        self._lease_ms = _ms(settings.queue.lease_s)
        self._keep_ms = _ms(settings.queue.result_ttl_s)
        self._trust_ms = _ms(settings.queue.cache_ttl_s)

    def close(self) -> None:
        """Close the connections. Repeats harmlessly."""
        self._redis.close()

    # ------------------------------------------------------------ clients

    def submit(self, client: str, tickets: Sequence[Ticket]) -> list[Submitted]:
        """Enter jobs, or find their verdicts, or join the same jobs in flight; in this order."""
        arguments: list[Any] = [client, _ms(CLIENT_LEASE_S), self._keep_ms, self._trust_ms]
        for ticket in tickets:
            arguments += [
                ticket.key,
                ticket.suite,
                ticket.image,
                ticket.hint.priority,
                _ms(ticket.timeout_s),
                ticket.settings,
                ticket.code,
            ]
        return [_submitted(each) for each in self._run(_SUBMIT, *arguments)]

    def store_suite(self, digest: str, suite: bytes) -> None:
        """Put a suite where workers find it; every submission that names it keeps it there."""
        self._run(_STORE_SUITE, digest, suite, self._keep_ms)

    def read(self, client: str, *, block_s: float) -> list[Message]:
        """Wait for answers, and return up to `MAX_READ` of them.

        Reading takes nothing away: what `acknowledge` does not name is read again.
        """
        found = self._command(
            "XREAD", "COUNT", MAX_READ, "BLOCK", max(1, _ms(block_s)),
            "STREAMS", names.OUT + client, "0",
        )  # fmt: skip
        entries = found[0][1] if found else ()
        return [_message(entry_id, fields) for entry_id, fields in entries]

    def acknowledge(self, client: str, last: str) -> None:
        """Drop the answers up to the id `last`."""
        milliseconds, _, number = last.partition("-")
        self._command("XTRIM", names.OUT + client, "MINID", f"{milliseconds}-{int(number) + 1}")

    def check(self, client: str, keys: Iterable[str]) -> list[str]:
        """Say that the client lives; return which of `keys` are nowhere and need submitting anew.

        Args:
            client: Whose keys they are.
            keys: Jobs that it waits for.
        """
        return _texts(self._run(_CHECK, client, _ms(CLIENT_LEASE_S), self._keep_ms, *keys))

    def is_running(self, key: str) -> bool:
        """Tell whether a worker runs a job at this moment."""
        return bool(self._command("HGET", names.JOB + key, "state") == b"running")

    def cancel(self, client: str, keys: Iterable[str]) -> None:
        """Stop waiting for jobs; those that nobody waits for are stopped."""
        self._run(_CANCEL, client, *keys)

    def leave(self, client: str) -> None:
        """Forget a client that waits for nothing any more."""
        self._command("DEL", names.OUT + client)
        self._command("ZREM", names.CLIENTS, client)

    # ------------------------------------------------------------ workers

    def take(self, worker: str, token: str, keys: Sequence[str]) -> list[Taken]:
        """Hold those of the jobs that wait; the others have an owner, or nobody wants them."""
        found = self._run(_TAKE, worker, self._lease_ms, token, *keys)
        return [
            Taken(key=key.decode(), suite=suite.decode(), is_suspect=suspect == b"1")
            for key, suite, suspect in found
        ]

    def start(self, worker: str, token: str, key: str, *, with_suite: bool) -> Started | None:
        """Begin to run a job that is held; None where it was cancelled or given away."""
        found = self._run(_START, worker, token, key, int(with_suite), self._keep_ms)
        if not found:
            return None
        code, settings, suite = found
        return Started(code=code, settings=settings, suite=suite)

    def finish(
        self, worker: str, token: str, key: str, report: bytes, *, error: str, keep: bool
    ) -> bool:
        """Hand a report to all who wait for it; False where the job was given away meanwhile.

        Args:
            worker: Who ran it.
            token: The delivery.
            key: The job.
            report: As `grader.model.wire` encodes it.
            error: What is shown among the last errors; "" where all went well.
            keep: Whether the verdict may serve the same submission again.
        """
        room = self._queue.cache_bytes if keep else 0
        done = self._run(
            _FINISH, worker, token, key, report, error, self._keep_ms, room, self._trust_ms
        )
        return bool(done)

    def give_back(self, worker: str, token: str, keys: Sequence[str]) -> list[Hint]:
        """Let others have jobs; returns those that they are to be told of."""
        return _hints(self._run(_GIVE_BACK, worker, token, *keys))

    def beat(self, worker: str, description: str, running: Iterable[tuple[str, str]]) -> list[str]:
        """Renew a worker's lease; return the keys that it must stop running.

        Args:
            worker: The one that lives.
            description: What `grader status` shows of it, as JSON.
            running: Token and key of each of its running jobs.
        """
        pairs = [text for pair in running for text in pair]
        return _texts(self._run(_BEAT, worker, self._lease_ms, description, *pairs))

    def leave_worker(self, worker: str) -> list[Hint]:
        """Forget a worker that ended in order; returns the jobs that it still held."""
        return _hints(self._run(_LEAVE, worker))

    def reap(self, images: Iterable[str]) -> list[Hint]:
        """Look for what dead workers held and for hints that were lost, at most twice a second.

        Also drops finished verdicts and unused suites where Redis is nearly full.

        Returns:
            Jobs that workers are to be told of again.
        """
        queues: list[Any] = []
        for image in images:
            lists = names.queue_keys(image)
            queues += [image, len(lists), *lists]
        found = self._run(
            _REAP,
            _ms(_REAP_INTERVAL_S),
            self._lease_ms,
            _ms(CLIENT_LEASE_S),
            self._queue.worker_deaths,
            _ms(_EMPTY_QUEUE_S),
            self._keep_ms,
            _DROPPED_AT_ONCE,
            _UNUSED_SUITE_S,
            *queues,
        )
        return _hints(found)

    # ------------------------------------------------------------ inside

    def _run(self, script: "_Script", *arguments: Any) -> Any:
        from redis.exceptions import NoScriptError

        try:
            return self._command("EVALSHA", script.digest, 0, *arguments)
        except QueueUnavailableError as error:
            if not isinstance(error.__cause__, NoScriptError):
                raise
            return self._command("EVAL", script.source, 0, *arguments)

    def _command(self, *words: Any) -> Any:
        from redis.exceptions import RedisError

        try:
            return self._execute(*words)
        except (RedisError, OSError) as error:
            message = f"Redis did not do {words[0]}: {type(error).__name__}: {error}"
            raise QueueUnavailableError(message) from error


class _Script:
    def __init__(self, source: str) -> None:
        self.source = source
        self.digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


_SUBMIT = _Script(scripts.SUBMIT)
_STORE_SUITE = _Script(scripts.STORE_SUITE)
_TAKE = _Script(scripts.TAKE)
_START = _Script(scripts.START)
_FINISH = _Script(scripts.FINISH)
_GIVE_BACK = _Script(scripts.GIVE_BACK)
_BEAT = _Script(scripts.BEAT)
_LEAVE = _Script(scripts.LEAVE)
_CANCEL = _Script(scripts.CANCEL)
_CHECK = _Script(scripts.CHECK)
_REAP = _Script(scripts.REAP)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _texts(found: Iterable[bytes]) -> list[str]:
    return [text.decode() for text in found]


def _hints(found: Iterable[tuple[bytes, bytes, bytes]]) -> list[Hint]:
    return [
        Hint(key=key.decode(), image=image.decode(), priority=int(priority))
        for key, image, priority in found
    ]


def _submitted(found: Sequence[bytes]) -> Submitted:
    match found[0]:
        case b"hit":
            return Submitted(report=found[1])
        case b"no suite":
            return Submitted(lacks_suite=True)
        case kind:
            return Submitted(is_new=kind == b"new")


def _message(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Message:
    return Message(
        id=entry_id.decode(),
        key=fields[b"key"].decode(),
        kind=names.Answer(fields[b"kind"].decode()),
        body=fields[b"body"],
    )
