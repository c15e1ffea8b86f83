"""Headless Chromium over real pages; every test checks that the page does nothing forbidden."""

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.conftest import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

TIMEOUT_S = 120
"""Timeout of a test: in some, the browser starts or the examples are graded first."""

OpenPage = Callable[..., "Page"]
"""Opens an address in a page that is watched; options are those of a new browser context.

With `forgiven`, a message of the console that this pattern is found in is no sin.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of this folder the time that a browser takes."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


# Of a module, not of the session: while Playwright runs, no test in this thread can run a loop.
@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The system's own Chromium, driven by Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing("Playwright", str(error))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("Chromium", "no chromium is on PATH")
    with sync_playwright() as playwright:
        # Its own sandbox does not start as root; the pages are ours, their scripts are not run.
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: "Browser") -> "Iterator[OpenPage]":
    """Open pages that must not show a dialog, log an error or request anything elsewhere."""
    sins: list[str] = []

    with contextlib.ExitStack() as stack:

        def open_page(address: str, *, forgiven: str = "", **options: object) -> "Page":
            context = browser.new_context(**options)  # type: ignore[arg-type]  # as they come
            stack.callback(context.close)
            page = context.new_page()
            _watch(page, address, sins, forgiven)
            page.goto(address)
            return page

        yield open_page
    assert sins == []


def _watch(page: "Page", address: str, sins: list[str], forgiven: str) -> None:
    """Record everything forbidden that a page does while it is open."""
    url = urlsplit(address)
    home = f"{url.scheme}://{url.netloc}/"
    if url.scheme == "file":
        home = address.rpartition("/")[0]

    def answer(dialog: "Dialog") -> None:
        sins.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def request(request: "Request") -> None:
        if not request.url.startswith(home):
            sins.append(f"request {request.url}")

    def say(message: "ConsoleMessage") -> None:
        is_forgiven = forgiven and re.search(forgiven, message.text)
        if message.type in ("error", "warning") and not is_forgiven:
            sins.append(f"{message.type} {message.text}")

    page.on("dialog", answer)
    page.on("request", request)
    page.on("console", say)
    page.on("pageerror", lambda error: sins.append(f"error {error}"))
    page.on("popup", lambda popup: sins.append(f"popup {popup.url}"))
    page.on("download", lambda download: sins.append(f"download {download.url}"))


# ---------------------------------------------------------------- graded files


@pytest.fixture(scope="session")
def graded(repo_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, really graded: every verdict that a sample can have."""
    return _grade(repo_dir, tmp_path_factory.mktemp("graded") / "graded.jsonl")


@pytest.fixture(scope="session")
def graded_before(repo_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first of them, graded as if each completion were code from end to end."""
    out = tmp_path_factory.mktemp("graded") / "before.jsonl"
    return _grade(repo_dir, out, "--limit", "24", "--set", "extraction=verbatim")


def _grade(repo_dir: Path, out: Path, *options: str) -> Path:
    limits = ("--set", "cpu_time_s=1", "--set", "wall_time_s=3", "--set", "memory_bytes=128MiB")
    problems = ("--problems", "examples/problems.jsonl")
    return grade_file(repo_dir, Path("examples/samples.jsonl"), out, *problems, *limits, *options)


def grade_file(repo_dir: Path, samples: Path, out: Path, *options: str) -> Path:
    """Really grade a file of samples; return the graded file."""
    command = [
        *(sys.executable, "-m", "grader", "grade", str(samples)),
        *("--out", str(out), "--sandbox", "native", *options),
    ]
    done = subprocess.run(command, cwd=repo_dir, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


# ---------------------------------------------------------------- accessibility


@pytest.fixture(scope="session")
def axe(repo_dir: Path) -> str:
    """The source of axe-core, which `scripts/test` installs into a build folder."""
    file = repo_dir / "build/axe/node_modules/axe-core/axe.min.js"
    if not file.is_file():
        missing("axe-core", f"{file} is not there; scripts/test installs it")
    return file.read_text("utf-8")


def serious_findings(page: "Page", axe: str) -> list[str]:
    """Return the accessibility problems that axe-core finds."""
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{found['id']}: {found['help']}: {node['html'][:200]}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"][:3]
    ]
