"""A Redis that wants TLS and client certificates, and gives each user the rights it needs only."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.opening import open_sessions
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.grader import QueueGrader
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Hint
from grader.queueing.names import Key, queue_name
from grader.queueing.status import read_status
from tests.certificates import Authority
from tests.conftest import missing
from tests.deployment import REPO, Deployment, free_port, wait_until
from tests.faults.conftest import Batch
from tests.mixture import mixture

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

USERS = (REPO / "deploy/redis/users.acl").read_text()


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A deployment whose worker comes in by TLS."""

    deployment: Deployment
    port: int
    authority: Authority

    def broker(self, user: str, **files: Path) -> str:
        """Return an address for a user, with the certificates that it shows and trusts."""
        query = "&".join(f"ssl_{name}={path}" for name, path in files.items())
        return f"rediss://{user}:{password_of(user)}@127.0.0.1:{self.port}/0?{query}"

    def trusted(self, user: str) -> Settings:
        certificate, key = self.authority.issue(user)
        files = {"ca_certs": self.authority.certificate, "certfile": certificate, "keyfile": key}
        return Settings(broker=self.broker(user, **files))

    def refusals(self) -> list[dict[str, str]]:
        with self.deployment.redis.connect() as admin:
            return list(admin.acl_log())


def password_of(user: str) -> str:
    found = re.search(rf"^user {user} on >(\S+)", USERS, re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    if shutil.which("openssl") is None:
        missing("openssl", "it makes the certificates")
    folder = tmp_path_factory.mktemp("locked")
    authority, port, users = Authority(folder / "tls"), free_port(), folder / "users.acl"
    certificate, key = authority.issue("redis")
    # The test itself comes in without TLS, and may do all.
    users.write_text(USERS.replace("user default off", "user default on nopass ~* &* +@all"))
    options = {
        "tls-port": port,
        "tls-ca-cert-file": authority.certificate,
        "tls-cert-file": certificate,
        "tls-key-file": key,
        "tls-auth-clients": "yes",
        "aclfile": users,
    }
    deployed = Deployment(
        folder, options=[word for k, v in options.items() for word in (f"--{k}", str(v))]
    )
    try:
        found = Locked(deployment=deployed, port=port, authority=authority)
        deployed.add_worker(broker=found.trusted("worker").broker, sessions_most=1)
        deployed.wait_for_workers(1)
        yield found
    finally:
        deployed.close()


def test_batch_goes_through_by_tls_with_least_rights(locked: Locked) -> None:
    settings, batch = locked.trusted("client"), mixture(12)
    with QueueGrader(settings) as grader:
        for _ in range(2):
            found = {one.id: it for one, it in grader.as_completed(one for one, _ in batch)}
            assert {one.id: verdict for one, verdict in batch} == {
                id: report.verdict for id, report in found.items()
            }
        assert grader.counts().hits > 0
        cancelled = grader.submit(mixture(13)[-1][0])
        cancelled.cancel()
        assert grader.look() == ""
    with open_sessions(settings) as sessions, sessions.open() as session:
        assert session.run("1 + 1").value == "2"
    assert read_status(settings).counts["graded"] >= 12
    worker = locked.deployment.workers[0]
    worker.stop()
    worker.start()
    locked.deployment.wait_for_workers(1)
    assert locked.refusals() == []


def test_least_rights_are_enough_when_things_go_wrong(locked: Locked) -> None:
    """A worker dies, Redis is full, and hints and tests are lost."""
    deployed = locked.deployment
    deployed.broker = locked.trusted("client").broker or ""
    killed = deployed.add_worker(broker=locked.trusted("worker").broker)
    deployed.wait_for_workers(2)
    batch = Batch(deployed, count=24)
    try:
        with deployed.redis.connect() as admin:
            batch.wait_for(0.1)
            assert not batch.is_over
            admin.config_set("maxmemory", 1)
            killed.kill()
            wait_until(lambda: "workers_lost" in deployed.redis.stats(), 30, "it is missed")
            admin.delete(queue_name("python"), *admin.keys(f"{Key.SUITE}*"))
            admin.config_set("maxmemory", 0)
            killed.start()
        batch.finish()
    finally:
        batch.close()
        killed.stop()
    assert locked.refusals() == []


def test_worker_may_read_the_status(locked: Locked) -> None:
    """Its health check does, and it chooses among several Redis by it."""
    assert read_status(locked.trusted("worker")).slots > 0


@pytest.mark.parametrize("key", [Key.VERDICTS, Key.WORKER + "any", Key.EDITIONS, "any"])
def test_client_cannot_write_what_only_workers_say(locked: Locked, key: str) -> None:
    with locked.deployment.redis.connect() as admin:
        for command in (("HSET", key, "a", "b"), ("SET", key, "a"), ("DEL", key)):
            said = admin.execute_command("ACL", "DRYRUN", "client", *command)
            assert "no permissions to access" in str(said)


@pytest.mark.parametrize(
    "command", ["FLUSHALL", "KEYS *", "CONFIG GET *", "ACL LIST", "SHUTDOWN", "XADD a * b c"]
)
def test_client_cannot_use_other_commands(locked: Locked, command: str) -> None:
    with locked.deployment.redis.connect() as admin:
        said = admin.execute_command("ACL", "DRYRUN", "client", *command.split())
        assert "no permissions to run" in str(said)


@pytest.mark.parametrize(
    ("trusts", "said"),
    [
        pytest.param(False, "certificate verify failed", id="server"),
        # Depending on the moment, the connection is closed before the reason is read.
        pytest.param(True, None, id="client"),
    ],
)
def test_side_without_a_good_certificate_is_refused_by_ledger_and_hints_alike(
    locked: Locked, trusts: bool, said: str | None
) -> None:
    files = {"ca_certs": locked.authority.certificate} if trusts else {}
    broker = locked.broker("client", **files)
    settings = Settings(broker=broker)
    ledger, dispatcher = Ledger(settings), Dispatcher(make_app(settings))
    with pytest.raises(QueueUnavailableError, match=said):
        ledger.cancel("client", ["k"])
    with pytest.raises(QueueUnavailableError, match=said):
        dispatcher.send([Hint(image="python", number=1)])
    dispatcher.close()
    ledger.close()
