"""The Redis that the `broker` setting names, for the ledger and for Celery alike."""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, QueueUnavailableError
from grader.process.repeats import Repeats
from grader.text.hosts import is_loopback
from grader.text.redaction import redacted

if TYPE_CHECKING:
    from redis import Redis

_log = logging.getLogger(__name__)

_WARNINGS = Repeats(every_s=86_400.0)

_SOCKET_TIMEOUT_S = 5.0
_CONNECT_TIMEOUT_S = 3.0
_SENTINEL_PORT = 26379

_EXPECTED = (
    "expected redis://[:password@]host:port/number, rediss:// for TLS, or "
    "sentinel://[:password@]host:port,host:port/service; passwords percent-encoded if needed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One address, taken apart."""

    address: str = field(repr=False)
    """As Redis's Python library takes it; without a host if sentinels know it."""
    options: Mapping[str, Any] = field(repr=False)
    """What the address says, by the names that this library uses."""
    service: str = ""
    """What sentinels call the Redis; "" if there are none."""
    sentinels: tuple[tuple[str, int], ...] = ()
    """Host and port of each."""

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted, those to sentinels, too."""
        return self.address.startswith("rediss:")

    @property
    def place(self) -> str:
        """Where it is, without secrets; the same for all of its users."""
        if "path" in self.options:
            where = str(self.options["path"])
        elif self.sentinels:
            where = ",".join(f"{host}:{port}" for host, port in self.sentinels) + f"/{self.service}"
        else:
            where = f"{self.options.get('host', 'localhost')}:{self.options.get('port', 6379)}"
        return f"{where}/{self.options.get('db', 0)}"

    @property
    def tls(self) -> Mapping[str, Any]:
        """Options for TLS. Unlike Celery's own, they have certificates verified by default."""
        given = {name: text for name, text in self.options.items() if name.startswith("ssl_")}
        return {"ssl_cert_reqs": "required", **given}

    @property
    def of_sentinels(self) -> Mapping[str, Any]:
        """How to connect to each sentinel."""
        password = self.options.get("sentinel_password")
        return {
            "socket_timeout": _CONNECT_TIMEOUT_S,
            **({"password": password} if password else {}),
            **({"ssl": True, **self.tls} if self.has_tls else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CeleryBroker:
    """A broker in Celery's own terms."""

    url: str = field(repr=False)
    tls: dict[str, Any] | None
    """For `broker_use_ssl`; None without TLS."""
    transport_options: dict[str, Any]


def each_broker(settings: Settings) -> tuple[Settings, ...]:
    """Return the settings for each Redis that the settings name, in order and each once.

    Raises:
        ConfigurationError: None is named.
    """
    addresses = dict.fromkeys((settings.broker or "").split())
    if not addresses:
        message = "no broker is set; expected --broker or GRADER_BROKER=redis://..."
        raise ConfigurationError(message)
    return tuple(replace(settings, broker=address) for address in addresses)


def read_broker(settings: Settings) -> Broker:
    """Return the one broker that the settings name.

    Raises:
        ConfigurationError: None is named, or several; its address is unusable; or redis is not
            installed.
    """
    addresses = [str(each.broker) for each in each_broker(settings)]
    if len(addresses) > 1:
        message = f"found {len(addresses)} brokers; expected one"
        raise ConfigurationError(message)
    try:
        from redis.connection import parse_url
    except ImportError as error:
        message = "a broker needs the extra: pip install 'grader-rl[worker]'"
        raise ConfigurationError(message) from error
    try:
        service, places, address = _sentinels_in(addresses[0])
        options: dict[str, Any] = parse_url(address)  # type: ignore[no-untyped-call]
    except ValueError:
        # The library's message may quote a part of the password.
        message = f"the broker's address {redacted(addresses[0])} is not usable; {_EXPECTED}"
        raise ConfigurationError(message) from None
    options.pop("connection_class", None)
    return Broker(address=address, options=options, service=service, sentinels=places)


def _sentinels_in(address: str) -> tuple[str, tuple[tuple[str, int], ...], str]:
    """Return the service, the sentinels, and an address that says how to log in to the service.

    Raises:
        ValueError: The address names sentinels, but not as expected.
    """
    found = re.fullmatch(
        r"sentinel(s?)://((?:[^@/?]*@)?)([^@/?]+)/([^/?]+)((?:/\d+)?)((?:\?.*)?)", address
    )
    if found is None:
        if address.startswith("sentinel"):
            raise ValueError
        return "", (), address
    secure, login, places, service, number, query = found.groups()
    hosts = [urlsplit(f"//{place}") for place in places.split(",")]
    if not all(host.hostname for host in hosts):
        raise ValueError
    sentinels = tuple((host.hostname or "", host.port or _SENTINEL_PORT) for host in hosts)
    return service, sentinels, f"redis{secure}://{login}{number}{query}"


def connect(settings: Settings) -> "Redis":
    """Return a client for the broker that the settings name; nothing is sent yet.

    Raises:
        ConfigurationError: As `read_broker`.
    """
    broker = read_broker(settings)
    from redis import Redis
    from redis.backoff import ConstantBackoff
    from redis.exceptions import ConnectionError as DisconnectedError
    from redis.exceptions import TimeoutError as SilenceError
    from redis.retry import Retry

    options: dict[str, Any] = {
        "socket_timeout": _SOCKET_TIMEOUT_S,
        "socket_connect_timeout": _CONNECT_TIMEOUT_S,
        "socket_keepalive": True,
        "protocol": 2,
        # The server may have closed an idle connection: try once more with a new one.
        "retry": Retry(ConstantBackoff(0.05), 1),
        "retry_on_error": [DisconnectedError, SilenceError],
    }
    _warn_if_open(broker, settings.broker or "")
    if not broker.sentinels:
        return Redis.from_url(broker.address, **options)
    from redis.sentinel import Sentinel

    from grader.queueing.sentinels import SentinelRedis

    known = {name: value for name, value in broker.options.items() if name != "sentinel_password"}
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        broker.sentinels,
        sentinel_kwargs=broker.of_sentinels,
        **{**options, **known, **({"ssl": True, **broker.tls} if broker.has_tls else {})},
    )
    return sentinel.master_for(broker.service, SentinelRedis)  # type: ignore[no-untyped-call,no-any-return]


def execute(client: "Redis", *words: Any) -> Any:
    """Have Redis execute a command.

    Raises:
        QueueUnavailableError: It cannot be reached, or refuses.
    """
    from redis.exceptions import ReadOnlyError, RedisError

    try:
        return client.execute_command(*words)  # type: ignore[no-untyped-call]
    except (RedisError, OSError) as error:
        if isinstance(error, ReadOnlyError):
            # Another server has taken over. New connections to the same address lead there.
            client.connection_pool.disconnect(inuse_connections=False)
        message = f"Redis failed at {words[0]}: {type(error).__name__}: {error}"
        raise QueueUnavailableError(message) from error


def celery_broker(settings: Settings) -> CeleryBroker:
    """Return how Celery reaches the broker that the settings name.

    Raises:
        ConfigurationError: As `read_broker`.
    """
    broker = read_broker(settings)
    transport: dict[str, Any] = {}
    if broker.sentinels:
        transport = {"master_name": broker.service, "sentinel_kwargs": dict(broker.of_sentinels)}
    return CeleryBroker(
        url=";".join(_celery_urls(broker)),
        tls=dict(broker.tls) if broker.has_tls else None,
        transport_options=transport,
    )


def _celery_urls(broker: Broker) -> Iterator[str]:
    options = broker.options
    names = [quote(options.get(name, ""), safe="") for name in ("username", "password")]
    login = f"{':'.join(names)}@" if any(names) else ""
    number = options.get("db", 0)
    if "path" in options:
        yield f"redis+socket://{login}{options['path']}?virtual_host={number}"
        return
    scheme = "sentinel" if broker.sentinels else "redis"
    places = broker.sentinels or [(options.get("host", "localhost"), options.get("port", 6379))]
    for host, port in places:
        yield f"{scheme}://{login}{f'[{host}]' if ':' in host else host}:{port}/{number}"


def _warn_if_open(broker: Broker, address: str) -> None:
    """Warn if other machines can reach the broker, and it is used without a secret."""
    options = broker.options
    has_secret = options.get("password") or options.get("ssl_certfile")
    hosts = [host for host, _ in broker.sentinels] or [options.get("host", "localhost")]
    if has_secret or "path" in options or all(map(is_loopback, hosts)):
        return
    message = (
        f"the broker {redacted(address)} is used without a password: everyone who can connect to it"
        " reads all submissions and decides their verdicts; set a password, or keep the network"
        " closed (docs/threat-model.md)"
    )
    if _WARNINGS.is_due(message):
        _log.warning(message)
