"""What the live page shows when things go wrong: a full queue, a lost worker, a restart."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.live import NO_CONNECTION, TOKEN, grade_all, open_live
from tests.deployment import Deployment, free_port
from tests.serving import ASSERTS, BAD, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

SUBMISSIONS = 6
MANY = 200
"""More than two workers grade in the time of a test, at one a second each."""
JSON = "application/json"


def sleepers(count: int) -> dict[str, object]:
    """Return a request of submissions, all different, that take a second each."""
    completions = (sleeper(1 + number / 1000) for number in range(count))
    return {"submissions": [{"completion": each, "label": ASSERTS} for each in completions]}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path / "queue")
    for _ in range(2):
        deployed.add_worker(slots=1)
    deployed.wait_for_workers(2)
    yield deployed
    deployed.close()


@pytest.mark.redis
def test_queue_that_fills_and_worker_that_dies_are_seen(
    open_page: OpenPage, deployment: Deployment, tmp_path: Path
) -> None:
    with serving(tmp_path, token=TOKEN, broker=deployment.redis.url) as service:
        page = open_live(open_page, service, forgiven=NO_CONNECTION)
        page.wait_for_function("document.querySelectorAll('#workers-table tbody tr').length == 2")
        page.locator("#health", has_text="All is well.").wait_for()
        answers: list[str] = []

        def grade() -> None:
            results = service.post("/v1/grade", sleepers(SUBMISSIONS)).json()["results"]
            answers.extend(result["report"]["verdict"] for result in results)

        thread = threading.Thread(target=grade)
        # However long the page takes to show it, the queue is full: this client leaves only then.
        with closing(HTTPConnection("127.0.0.1", service.port)) as other:
            token = f"Bearer {TOKEN}".encode()
            headers: dict[str, str | bytes] = {"Authorization": token, "Content-Type": JSON}
            other.request("POST", "/v1/grade", json.dumps(sleepers(MANY)), headers)
            thread.start()
            waiting = page.locator("#tiles > div", has_text=re.compile("^Waiting[1-9]"))
            waiting.get_by_text("the first for").wait_for()
            deployment.workers[1].kill()
            page.locator("#health .bad", has_text="was lost").wait_for()
        page.wait_for_function("document.querySelectorAll('#workers-table tbody tr').length == 1")
        # As its last heartbeat said: it may have come between two jobs.
        assert re.search(r"lost, with [01] running", page.locator("#workers").inner_text())
        thread.join()
        assert answers == ["passed"] * SUBMISSIONS
        page.locator("#tiles").get_by_text("nothing waits").wait_for()
        page.locator("#charts").get_by_text("Workers", exact=True).wait_for()
        deployment.redis.kill()
        page.locator("#health .bad", has_text="Redis does not answer").wait_for()


def test_page_reconnects_and_drops_samples_of_the_old_process(
    open_page: OpenPage, tmp_path: Path
) -> None:
    port = free_port()
    with serving(tmp_path, token=TOKEN, server__port=port) as service:
        page = open_live(open_page, service, "samples", forgiven=NO_CONNECTION)
        grade_all(service, {"before": BAD})
        page.get_by_role("link", name="before").wait_for()
    page.locator("#link[data-state=lost]").wait_for()
    assert page.get_by_role("link", name="before").is_visible()
    page.get_by_role("link", name="Overview").click()
    page.locator("#health", has_text="No connection.").wait_for()
    page.go_back()
    with serving(tmp_path, token=TOKEN, server__port=port) as service:
        grade_all(service, {"after": BAD})
        page.get_by_role("link", name="after").wait_for()
        assert page.locator("#link").inner_text() == "live"
        assert not page.get_by_role("link", name="before").is_visible()
