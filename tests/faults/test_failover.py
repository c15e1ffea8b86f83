"""Another Redis takes over in the middle of a batch."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.certificates import Authority
from tests.conftest import missing
from tests.deployment import Deployment, Process, RedisServer, free_port, wait_until
from tests.faults.conftest import TIMEOUT_S, Batch, assert_nothing_is_left
from tests.faults.relay import Relay

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]

SERVICE = "grading"


class Sentinel(Process):
    """Watches a Redis with others like it."""

    def __init__(
        self, folder: Path, watched: int, tls: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        """Watch the Redis at a port; by TLS, and asked by TLS, too, if there are options for it."""
        folder.mkdir()
        self.port, self.tls_port = free_port(), free_port()
        config = folder / "sentinel.conf"
        if tls:
            tls = {**tls, "tls-port": self.tls_port}
        options = "".join(f"{name} {value}\n" for name, value in tls.items())
        config.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n{options}"
            f"sentinel monitor {SERVICE} 127.0.0.1 {watched} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} 1000\n"
            f"sentinel failover-timeout {SERVICE} 5000\n"
        )
        command = ["redis-server", str(config), "--sentinel"]
        super().__init__(command, folder / "sentinel.log", dict(os.environ))

    def knows_all(self) -> bool:
        """Return whether it has found the two others and the replica."""
        from redis import Redis
        from redis.exceptions import ConnectionError as DisconnectedError

        with Redis(host="127.0.0.1", port=self.port, decode_responses=True) as client:
            try:
                state = client.sentinel_master(SERVICE)
            except DisconnectedError:
                return False
        return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1)


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def replica(deployment: Deployment, held: ExitStack, tmp_path: Path) -> RedisServer:
    """A copy of the deployment's Redis, which follows it."""
    follows = ["--replicaof", "127.0.0.1", str(deployment.redis.port)]
    server = RedisServer(tmp_path / "replica", options=follows)
    held.callback(server.kill)
    server.start()
    wait_until(lambda: is_in_step(server), 30, "the replica has caught up")
    return server


def is_in_step(server: RedisServer) -> bool:
    with server.connect() as client:
        return bool(client.info("replication").get("master_link_status") == "up")


def is_primary(server: RedisServer) -> bool:
    with server.connect() as client:
        return bool(client.info("replication")["role"] == "master")


def test_batch_survives_a_failover_by_sentinels(
    deployment: Deployment,
    replica: RedisServer,
    begin: Callable[..., Batch],
    held: ExitStack,
    tmp_path: Path,
) -> None:
    sentinels = [Sentinel(tmp_path / f"sentinel{n}", deployment.redis.port) for n in range(3)]
    start_all(sentinels, held)
    places = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels)
    deployment.broker = f"sentinel://{places}/{SERVICE}"
    fail_over(deployment, replica, begin)


@pytest.mark.slow
def test_batch_survives_a_failover_by_sentinels_over_tls(
    deploy: Callable[..., Deployment],
    begin: Callable[..., Batch],
    held: ExitStack,
    tmp_path: Path,
) -> None:
    if shutil.which("openssl") is None:
        missing("openssl", "it makes the certificates")
    authority = Authority(tmp_path / "tls")
    certificate, key = authority.issue("redis")
    tls = {
        "tls-ca-cert-file": authority.certificate,
        "tls-cert-file": certificate,
        "tls-key-file": key,
        "tls-auth-clients": "no",
        "tls-replication": "yes",
    }
    words = [word for name, value in tls.items() for word in (f"--{name}", str(value))]
    port = free_port()
    deployment = deploy(options=["--tls-port", str(port), *words])
    follows = ["--tls-port", str(free_port()), "--replicaof", "127.0.0.1", str(port)]
    replica = RedisServer(tmp_path / "replica", options=[*words, *follows])
    held.callback(replica.kill)
    replica.start()
    wait_until(lambda: is_in_step(replica), 30, "the replica has caught up")
    sentinels = [Sentinel(tmp_path / f"sentinel{n}", port, tls) for n in range(3)]
    start_all(sentinels, held)
    places = ",".join(f"127.0.0.1:{sentinel.tls_port}" for sentinel in sentinels)
    query = f"ssl_ca_certs={authority.certificate}"
    deployment.broker = f"sentinels://{places}/{SERVICE}?{query}"
    fail_over(deployment, replica, begin)


def start_all(sentinels: Sequence[Sentinel], held: ExitStack) -> None:
    for sentinel in sentinels:
        held.callback(sentinel.kill)
        sentinel.start()
    wait_until(lambda: all(s.knows_all() for s in sentinels), 60, "the sentinels agree")


def fail_over(deployment: Deployment, replica: RedisServer, begin: Callable[..., Batch]) -> None:
    """Kill the primary in the middle of a batch."""
    deployment.add_workers(2)
    batch = begin(deployment)
    batch.wait_for(0.3)
    assert not batch.is_over
    deployment.redis.kill()
    batch.finish()
    assert is_primary(replica)
    deployment.redis = replica
    assert_nothing_is_left(deployment)


@pytest.mark.slow
@pytest.mark.parametrize("is_planned", [False, True], ids=["killed", "demoted"])
def test_batch_survives_a_promotion_behind_the_same_address(
    deployment: Deployment,
    replica: RedisServer,
    begin: Callable[..., Batch],
    held: ExitStack,
    is_planned: bool,
) -> None:
    """The old primary is gone; or it is a replica now, and the connections to it go on."""
    relay = Relay(deployment.redis.port)
    held.callback(relay.close)
    deployment.broker = f"redis://127.0.0.1:{relay.port}/0"
    deployment.add_workers(2)
    batch = begin(deployment)
    batch.wait_for(0.3)
    assert not batch.is_over
    with replica.connect() as client, deployment.redis.connect() as former:
        client.replicaof("NO", "ONE")
        relay.lead_to(replica.port)
        if is_planned:
            former.replicaof("127.0.0.1", str(replica.port))
    held.callback(deployment.redis.kill)
    if not is_planned:
        relay.cut()
        deployment.redis.kill()
    batch.finish()
    deployment.redis = replica
    assert_nothing_is_left(deployment)
