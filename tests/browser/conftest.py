"""Headless Chromium over real pages; what a page must never do is watched in every test."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.conftest import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

TIMEOUT_S = 60
"""Of a test: the browser starts in one of them, on a machine that may be busy."""

OpenPage = Callable[..., "Page"]
"""Opens an address in a page that is watched; options are those of a new browser context."""


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
    """Open pages that must not show a dialog, log an error or ask anywhere else for anything."""
    sins: list[str] = []

    with contextlib.ExitStack() as stack:

        def open_page(address: str, **options: object) -> "Page":
            context = browser.new_context(**options)  # type: ignore[arg-type]  # as they come
            stack.callback(context.close)
            page = context.new_page()
            _watch(page, address, sins)
            page.goto(address)
            return page

        yield open_page
    assert sins == []


def _watch(page: "Page", address: str, sins: list[str]) -> None:
    """Note whatever a page does that it must not, all the time that it is open."""
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
        if message.type in ("error", "warning"):
            sins.append(f"{message.type} {message.text}")

    page.on("dialog", answer)
    page.on("request", request)
    page.on("console", say)
    page.on("pageerror", lambda error: sins.append(f"error {error}"))
    page.on("popup", lambda popup: sins.append(f"popup {popup.url}"))
    page.on("download", lambda download: sins.append(f"download {download.url}"))
