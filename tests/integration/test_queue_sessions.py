"""Sessions on real workers over a real Redis."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.config.sessions import SessionSettings
from grader.config.settings import QueueSettings, Settings
from grader.model import Limits
from grader.model.errors import SandboxUnavailableError, SessionLostError, SessionsFullError
from grader.opening import open_sessions
from grader.queueing import sessions as queued
from grader.queueing.names import SessionKey
from grader.sessions.local import Session, Sessions
from tests.deployment import Deployment
from tests.fake.backend import FakeSandbox
from tests.serving import serving
from worker import sessions as hosting

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("queue"))
    deployed.add_worker(sessions_most=2)
    deployed.wait_for_workers(1)
    yield deployed
    deployed.close()


@pytest.fixture
def sessions(deployment: Deployment) -> Iterator[Sessions]:
    queue = QueueSettings(lease_s=2)
    settings = Settings(broker=deployment.redis.url, queue=queue, sessions=SessionSettings(most=8))
    with open_sessions(settings) as opened:
        yield opened


def worker_of(session: Session) -> str:
    held = session._tree._slot_session
    assert isinstance(held, queued._QueueSession)
    return held._worker


def test_session_on_a_worker_is_as_one_of_this_process(sessions: Sessions) -> None:
    with sessions.open() as session:
        session.run("x = [1]", files={"in": b"\x00data"})
        branch = session.fork()
        session.run("x.append(2)")
        assert session.run("print('seen')\nx").value == "[1, 2]"
        assert branch.run("x").value == "[1]"
        branch.close()
        assert session.list_files() == {"in": 5}
        assert session.read_files("in", "none") == {"in": b"\x00data"}
        result = session.run("import os; os._exit(3)")
        assert (result.kept, result.problem) == (
            False,
            "the cell ended the process with exit code 3",
        )


def test_worker_takes_no_more_sessions_than_it_may(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued, "_OPENING_S", 3.0)
    first, second = sessions.open(), sessions.open()
    with pytest.raises(SessionsFullError, match="no worker for python has room"):
        sessions.open()
    first.close()
    second.close()
    sessions.open().close()


def test_session_goes_on_at_another_worker_when_its_own_dies(
    deployment: Deployment, sessions: Sessions
) -> None:
    with sessions.open() as session:
        session.run("x = 41")
        dead = worker_of(session)
        deployment.add_worker(sessions_most=2)
        deployment.wait_for_workers(2)
        os.kill(int(dead.split(":")[1]), signal.SIGKILL)
        result = session.run("x + 1")
        assert (result.value, result.replayed) == ("42", True)
        assert worker_of(session) != dead


def test_closed_session_leaves_nothing_in_redis(
    deployment: Deployment, sessions: Sessions, eventually: Eventually
) -> None:
    with sessions.open() as session:
        session.run("1")
    eventually(
        lambda: not [k for k in deployment.redis.key_names() if ":sessions:" in k],
        10.0,
    )
    assert ":sessions:" in SessionKey.OPEN


def test_service_over_the_queue_has_sessions(deployment: Deployment, tmp_path: Path) -> None:
    with serving(tmp_path, broker=deployment.redis.url) as service:
        id = service.post("/v1/sessions", {}).json()["session"]
        service.post(f"/v1/sessions/{id}/run", {"cell": "x = 6"})
        answer = service.post(f"/v1/sessions/{id}/run", {"cell": "x * 7"}).json()
        assert (answer["value"], answer["steps"]) == ("42", 2)
        cells = service.post("/run_jupyter", {"cells": ["a = 1", "a + 1"]}).json()["cells"]
        assert cells[1]["display"] == [{"text/plain": "2"}]


def test_redis_that_is_away_is_our_failure() -> None:
    settings = Settings(broker="redis://127.0.0.1:1/0", retries=0)
    with open_sessions(settings) as sessions, pytest.raises(SandboxUnavailableError):
        sessions.open()


def test_worker_that_lost_a_session_says_so(sessions: Sessions) -> None:
    with sessions.open() as session:
        held = session._tree._slot_session
        assert isinstance(held, queued._QueueSession)
        held._session = "none"
        # It is had again, as after any failure of a slot.
        assert session.run("1").value == "1"
    with pytest.raises(SessionLostError):
        session.run("1")


def test_session_whose_client_is_gone_ends(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(hosting, "_IDLE_FACTOR", 1.0)
    # Of an image that the real worker does not serve.
    settings = Settings(
        broker=deployment.redis.url,
        queue=QueueSettings(images="science"),
        sessions=SessionSettings(most=1, idle_s=1),
    )
    host = hosting.SessionHost("here", settings, sandbox=FakeSandbox)
    host.start()
    slot = queued.QueueSlots(settings)
    with slot.borrow(image="science", memory_bytes=1) as borrowed:
        session = borrowed.open_session(Limits(), states=8)
        assert session.list_files(0) == {}
        eventually(lambda: not host._held, 10.0)
        with pytest.raises(SandboxUnavailableError, match="does not have the session any more"):
            session.list_files(0)
    slot.close()
    host.close()


def test_request_that_is_no_request_costs_the_worker_nothing(
    deployment: Deployment, sessions: Sessions
) -> None:
    lists = queued.SessionLists(Settings(broker=deployment.redis.url))
    for request in ({}, {"op": "open"}, {"op": "step", "session": [], "id": "1"}):
        lists.ask(SessionKey.OPEN + "python", request)
    with sessions.open() as session:
        assert session.run("1").value == "1"
    lists.close()
