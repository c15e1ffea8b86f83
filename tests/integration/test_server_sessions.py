"""`/v1/sessions` and `/run_jupyter` of a real service."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from tests.serving import Service, serving

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(90)]

MOST = 3


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, sessions__most=MOST, server__run_wait_s=1) as running:
        yield running


@pytest.fixture
def session(service: Service) -> Iterator["Client"]:
    client = Client(service)
    yield client
    client.delete()


class Client:
    """A client of one session."""

    def __init__(self, service: Service, id: str | None = None, **body: Any) -> None:
        self.service = service
        self.id = id or self._must(service.post("/v1/sessions", body), 201)["session"]

    @staticmethod
    def _must(response: requests.Response, status: int = 200) -> Any:
        assert response.status_code == status, response.text
        return response.json()

    def run(self, cell: str, **fields: Any) -> Any:
        path = f"/v1/sessions/{self.id}/run"
        return self._must(self.service.post(path, {"cell": cell, **fields}))

    def fork(self, **body: Any) -> "Client":
        answer = self._must(self.service.post(f"/v1/sessions/{self.id}/fork", body), 201)
        return Client(self.service, answer["session"])

    def delete(self) -> None:
        self.service.delete(f"/v1/sessions/{self.id}")


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


# ---------------------------------------------------------------- /v1/sessions


def test_state_lives_on_from_request_to_request(session: Client) -> None:
    first = session.run("x = 20\nprint('seen')")
    assert (first["stdout"], first["value"], first["kept"]) == ("seen\n", None, True)
    second = session.run("x + 1")
    assert (second["value"], second["steps"], second["replayed"]) == ("21", 2, False)


def test_error_has_the_lines_of_the_cell(session: Client) -> None:
    answer = session.run("def f():\n    raise KeyError('k')\nf()")
    assert answer["error"]["type"] == "KeyError"
    assert 'File "<cell 1>", line 2, in f' in answer["error"]["traceback"]


def test_step_that_hits_a_limit_is_told_and_not_kept(session: Client) -> None:
    session.run("x = 1")
    answer = session.run("x = 2\nwhile True: pass", limits={"cpu_time_s": 0.2})
    assert (answer["kept"], answer["limit_hit"], answer["steps"]) == (False, "cpu_time", 1)
    assert session.run("x")["value"] == "1"


def test_branches_go_on_by_themselves(session: Client) -> None:
    session.run("x = ['base']")
    branch = session.fork()
    session.run("x.append('first')")
    branch.run("x.append('second')")
    assert session.run("x")["value"] == "['base', 'first']"
    assert branch.run("x")["value"] == "['base', 'second']"
    early = branch.fork(at=1)
    assert early.run("x")["value"] == "['base']"
    branch.delete()
    early.delete()


def test_files_go_in_and_out(service: Service) -> None:
    session = Client(service, files={"in/a": encoded(b"\x00given")})
    answer = session.run(
        "data = open('in/a', 'rb').read() + open('b', 'rb').read()\n"
        "with open('out', 'wb') as out: print(out.write(data))",
        files={"b": encoded(b"more")},
        fetch_files=["out", "none"],
    )
    assert answer["files"] == {"out": encoded(b"\x00givenmore")}
    found = service.get(f"/v1/sessions/{session.id}/files")
    assert found.json() == {"sizes": {"in/a": 6, "b": 4, "out": 10}}
    read = service.get(f"/v1/sessions/{session.id}/files/in/a")
    assert (read.content, read.headers["content-type"]) == (
        b"\x00given",
        "application/octet-stream",
    )
    assert service.get(f"/v1/sessions/{session.id}/files/none").status_code == 404
    session.delete()


def test_text_that_is_not_utf_8_is_answered_all_the_same(session: Client) -> None:
    answer = session.run("open(b'\\xff', 'w').close()\nraise ValueError('a\\ud800b')")
    assert (answer["kept"], answer["error"]["message"]) == (True, "a?b")
    assert session.service.get(f"/v1/sessions/{session.id}/files").json() == {"sizes": {}}


def test_session_that_was_closed_is_not_found(service: Service) -> None:
    session = Client(service)
    session.delete()
    session.delete()
    response = service.post(f"/v1/sessions/{session.id}/run", {"cell": "1"})
    assert (response.status_code, "no such session" in response.json()["detail"]) == (404, True)


def test_there_are_no_more_sessions_than_the_service_allows(service: Service) -> None:
    open_ones = [Client(service) for _ in range(MOST)]
    response = service.post("/v1/sessions", {})
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
    for each in open_ones:
        each.delete()
    Client(service).delete()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param({"limits": {"memory_bytes": 1 << 50}}, "this service allows", id="memory"),
        pytest.param({"files": {"../x": ""}}, "must be relative", id="path"),
        pytest.param({"files": {"x": "?"}}, "not base64", id="base64"),
        pytest.param({"image": "other"}, "image", id="image"),
        pytest.param({"limits": {"cpu_time_s": 0}}, "cpu_time_s", id="zero"),
        pytest.param({"more": 1}, "more", id="unknown"),
    ],
)
def test_session_that_cannot_be_opened_is_refused_with_a_reason(
    service: Service, body: Any, reason: str
) -> None:
    response = service.post("/v1/sessions", body)
    assert response.status_code == 422
    assert reason in response.json()["detail"]


@pytest.mark.parametrize(("at", "reason"), [(3, "has 0 steps"), (True, "at"), (0.0, "at")])
def test_branch_after_something_else_than_a_number_of_steps_that_there_are_is_refused(
    session: Client, at: Any, reason: str
) -> None:
    response = session.service.post(f"/v1/sessions/{session.id}/fork", {"at": at})
    assert (response.status_code, reason in response.json()["detail"]) == (422, True)


def test_metrics_have_no_ids_of_sessions(session: Client) -> None:
    session.run("1")
    lines = session.service.get("/metrics").text
    assert "/v1/sessions/{id}/run" in lines
    assert session.id not in lines
    assert session.service.metric("grader_sessions_open") == 1


def test_idle_session_expires(tmp_path: Any, eventually: Callable[..., None]) -> None:
    with serving(tmp_path, sessions__idle_s=2) as service:
        session = Client(service)
        session.run("x = 1")
        # A step in time would keep it for two more seconds.
        eventually(lambda: service.metric("grader_sessions_open") == 0, 30)
        response = service.post(f"/v1/sessions/{session.id}/run", {"cell": "x"})
        assert response.status_code == 404


# ---------------------------------------------------------------- /run_jupyter


def run_jupyter(service: Service, *cells: str, **fields: Any) -> Any:
    response = service.post("/run_jupyter", {"cells": cells, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_cells_run_one_after_another_as_in_a_notebook(service: Service) -> None:
    answer = run_jupyter(
        service,
        "a = 123",
        "a",
        "print(a)",
        "import sys; sys.stderr.write('said'); None",
        "raise RuntimeError('why')",
        "a + 1",
    )
    assert (answer["status"], answer["driver"]["status"]) == ("Success", "Finished")
    empty = {"stdout": "", "stderr": "", "display": [], "error": []}
    assert answer["cells"][:4] == [
        empty,
        {**empty, "display": [{"text/plain": "123"}]},
        {**empty, "stdout": "123\n"},
        {**empty, "stderr": "said"},
    ]
    (error,) = answer["cells"][4]["error"]
    assert (error["ename"], error["evalue"]) == ("RuntimeError", "why")
    assert error["traceback"][-1] == "RuntimeError: why"
    assert answer["cells"][5]["display"] == [{"text/plain": "124"}]


def test_cell_beyond_its_time_ends_the_run(service: Service) -> None:
    answer = run_jupyter(service, "1", "while True: pass", "2", cell_timeout=0.3)
    assert (answer["status"], answer["driver"]["status"]) == ("Failed", "TimeLimitExceeded")
    assert len(answer["cells"]) == 2


def test_cells_beyond_their_time_together_end_the_run(service: Service) -> None:
    cells = ["import time", *["time.sleep(0.3)"] * 9]
    answer = run_jupyter(service, *cells, total_timeout=1)
    assert (answer["status"], answer["driver"]["status"]) == ("Failed", "TimeLimitExceeded")
    assert len(answer["cells"]) < 7


def test_cell_that_ends_its_process_fails_the_run(service: Service) -> None:
    answer = run_jupyter(service, "import os; os._exit(0)", "1")
    assert (answer["status"], answer["driver"]["status"]) == ("Failed", "Error")


def test_notebook_takes_files_and_gives_them_back(service: Service) -> None:
    answer = run_jupyter(
        service,
        "with open('in') as f, open('out', 'w') as g: g.write(f.read() * 2)",
        files={"in": encoded(b"ab")},
        fetch_files=["out", "none"],
    )
    assert answer["files"] == {"out": encoded(b"abab")}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"kernel": "ir"}, "the kernel 'ir' is not supported", id="kernel"),
        pytest.param({"total_timeout": 0}, "total_timeout is 0 s", id="no-time"),
        pytest.param({"cell_timeout": -1}, "cell_timeout is -1 s", id="negative"),
        pytest.param({"files": {"/x": ""}}, "must be relative", id="path"),
    ],
)
def test_notebook_that_cannot_run_is_a_sandbox_error(
    service: Service, fields: Any, reason: str
) -> None:
    answer = run_jupyter(service, "1", **fields)
    assert answer["status"] == "SandboxError"
    assert reason in answer["message"]


def test_notebook_without_room_is_told_to_try_again(service: Service) -> None:
    open_ones = [Client(service) for _ in range(MOST)]
    response = service.post("/run_jupyter", {"cells": ["1"]})
    assert response.status_code == 504
    for each in open_ones:
        each.delete()
