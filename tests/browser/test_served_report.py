"""The served report: every sample of a large file, and only for requests with access."""

import http.client
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import uvicorn

from grader.model import CaseResult, Evidence, GradeReport, MiB, Usage
from grader.model.verdict import Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.document import Document
from grader.report.index import GradedFile
from grader.report.pages import SERVED_POLICY
from grader.report.serve import make_app
from tests.browser.conftest import OpenPage
from tests.factories import make_report
from tests.graded import Row, write_graded

ROWS = 20_000
TOKEN = "a-token"  # noqa: S105

Serve = Callable[..., int]
"""Serves a graded file, perhaps with a token, and returns the port."""


@pytest.fixture
def serve(eventually: Callable[[Callable[[], bool], float], None]) -> Iterator[Serve]:
    """Run the real server in a thread."""
    with ExitStack() as stack:

        def serve(file: Path, token: str | None = None) -> int:
            app = make_app(Document(GradedFile(file)), token)
            config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
            server = uvicorn.Server(config)
            socket = config.bind_socket()
            thread = threading.Thread(target=server.run, args=([socket],))
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join()

            stack.callback(stop)
            eventually(lambda: server.started, 20)
            return int(socket.getsockname()[1])

        yield serve


def ask(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


# ---------------------------------------------------------------- a large file


def large_report(verdict: Verdict) -> GradeReport:
    case = CaseResult(
        id="0", verdict=verdict, evidence=Evidence(input="777777", expected="1", got="2")
    )
    words = "token 1: expected 777777, got something else"
    usage = Usage(cpu_time_s=0.777777, peak_memory_bytes=50 * MiB)
    return make_report(verdict, cases=(case,), feedback=words, usage=usage, code="x = 777777\n")


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose numbers are in names, texts and times; made from three, which is quicker."""
    folder = tmp_path_factory.mktemp("large")
    verdicts = (Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR)
    rows = [
        Row(id="sample/777777", problem="problem/888888", report=large_report(v)) for v in verdicts
    ]
    lines = write_graded(folder / "three.jsonl", rows).read_bytes().splitlines(keepends=True)
    file = folder / "large.jsonl"
    with file.open("wb") as out:
        for n in range(ROWS):
            line = lines[n % 3].replace(b"777777", b"%06d" % n)
            out.write(line.replace(b"888888", b"%06d" % (n // 8)))
    return file


def test_twenty_thousand_rows_are_filtered_sorted_and_opened(
    open_page: OpenPage, serve: Serve, large_file: Path
) -> None:
    asked: list[str] = []
    page = open_page(f"http://127.0.0.1:{serve(large_file)}/")
    page.on("request", lambda request: asked.append(request.url.rpartition(":")[2]))
    page.wait_for_selector("html[data-ready]")
    count = page.locator("#samples .count")
    assert count.inner_text() == "20,000 samples"
    assert page.locator("#samples tbody tr").count() == 50

    page.get_by_label("Search").fill("expected 1999")
    assert count.inner_text() == "20 of 20,000 samples"
    page.locator('.chip[data-verdict="passed"]').click()
    assert count.inner_text() == "6 of 20,000 samples"
    page.get_by_role("button", name="Clear").click()
    page.locator("#samples th", has_text="CPU").get_by_role("button").click()
    assert page.locator("#samples a.open").first.inner_text() == "sample/019999"
    page.locator("#samples").get_by_role("button", name="Last").click()
    assert page.locator("#samples .pager").inner_text().count("page 400 of 400") == 1

    page.get_by_label("In code").fill("X = 0199")
    page.locator("#samples .count", has_text=re.compile("^100 of ")).wait_for()
    page.get_by_role("button", name="Clear").click()

    # What is opened is asked for, and nothing else.
    page.locator("#samples").get_by_role("button", name="Last").click()
    last = page.locator("#samples a.open").last
    name = last.inner_text()
    asked.clear()
    last.click()
    page.get_by_role("heading", name=name, exact=True).wait_for()
    assert [path.partition("/")[2] for path in asked] == ["sample/1"]


# ---------------------------------------------------------------- to whom it is shown


def small_file(folder: Path) -> Path:
    return write_graded(folder / "a.jsonl", [Row(id="only", report=make_report())])


def test_served_page_runs_only_its_own_files(serve: Serve, tmp_path: Path) -> None:
    port = serve(small_file(tmp_path))
    for path in ("/", "/tables.json", "/static/report.js", "/sample/1"):
        status, headers, _ = ask(port, path)
        assert status == 200
        assert headers["content-security-policy"] == SERVED_POLICY
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/static/../serve.py", "/static/pages.py", "/sample/2", "/x"])
def test_nothing_else_is_there(serve: Serve, tmp_path: Path, path: str) -> None:
    assert ask(serve(small_file(tmp_path)), path)[0] == 404


def test_page_of_another_name_reads_nothing(serve: Serve, tmp_path: Path) -> None:
    port = serve(small_file(tmp_path))
    for host in ("evil.test", f"evil.test:{port}", "127.0.0.1.evil.test", ""):
        for path in ("/", "/tables.json", "/sample/1"):
            status, _, text = ask(port, path, Host=host)
            assert status == 421
            assert text == "This is served to loopback addresses only.\n"
    assert ask(port, "/", Host=f"localhost:{port}")[0] == 200
    assert ask(port, "/", Host="[::1]")[0] == 200


def test_nothing_is_shown_without_the_token(
    open_page: OpenPage, serve: Serve, tmp_path: Path
) -> None:
    port = serve(small_file(tmp_path), TOKEN)
    for path in ("/", "/tables.json", "/sample/1", "/static/report.js", "/?token=wrong"):
        status, _, text = ask(port, path, Cookie="grader_report=wrong")
        assert status == 401
        assert "def add" not in text
    page = open_page(f"http://127.0.0.1:{port}/?token={TOKEN}")
    page.wait_for_selector("html[data-ready]")
    assert TOKEN not in page.url
    page.get_by_role("link", name="only").first.click()
    page.locator("#sample-name").wait_for()


def test_file_that_has_changed_is_said_so(serve: Serve, tmp_path: Path) -> None:
    file = small_file(tmp_path)
    port = serve(file)
    write_graded(file, [Row(id="another", report=make_report())])
    assert ask(port, "/sample/1")[0] == 409


def test_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grader", "report", str(small_file(tmp_path)), "--serve"]
    with subprocess.Popen(
        [*command, "--port", "0", "--host", "0.0.0.0"],  # noqa: S104 - the token is looked at
        stderr=subprocess.PIPE,
        text=True,
        # Who started the tests in the background has had this signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as serving:
        assert serving.stderr is not None
        told = re.search(r"http://0\.0\.0\.0:(\d+)/\?token=(\S+)", serving.stderr.readline())
        assert told is not None
        port, token = int(told[1]), told[2]
        assert ask(port, "/")[0] == 401
        status, headers, _ = ask(port, f"/?token={token}")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"].partition(";")[0]
        assert ask(port, "/", Cookie=cookie)[0] == 200
        taken = subprocess.run(
            [*command, "--port", str(port)], capture_output=True, text=True, check=False
        )
        assert (taken.returncode, "Address already in use" in taken.stderr) == (2, True)
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 130
        assert serving.stderr.read() == ""


# ---------------------------------------------------------------- a training that goes on


def recorded(step: int, verdict: Verdict) -> RecordedSample:
    return RecordedSample(
        id="p", prompt="", completion="x", report=make_report(verdict), at=1.0, step=step
    )


def test_training_is_followed_and_its_steps_filter(
    serve: Serve, tmp_path: Path, open_page: OpenPage
) -> None:
    with SampleRecorder(tmp_path, MiB) as recorder:
        recorder.write([recorded(1, Verdict.PASSED)])
        page = open_page(f"http://127.0.0.1:{serve(tmp_path)}/")
        assert page.locator("#trends").count() == 0
        recorder.write([recorded(step, Verdict.FAILED) for step in (2, 3, 4)])
        page.reload()
        page.wait_for_selector("html[data-ready]")
    titles = page.locator("#trends figcaption b").all_inner_texts()
    assert titles[:2] == ["Mean reward", "Passed, %"]
    assert page.locator("#trends svg").count() == len(titles)
    page.get_by_role("spinbutton", name="Steps").fill("2")
    page.get_by_role("spinbutton", name="to").fill("3")
    assert page.locator("#samples .count").inner_text() == "2 of 4 samples"
    page.locator("#samples a.open").first.click()
    page.wait_for_selector("#sample-name")
    page.go_back()
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#samples .count").inner_text() == "4 samples"
    assert "50 %\t0 %\t−50" in page.locator("#problems tbody").inner_text()  # noqa: RUF001
