"""Helpers for tests of the live page of a running service."""

from typing import TYPE_CHECKING

from tests.browser.conftest import OpenPage
from tests.serving import ASSERTS, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOKEN = "a-secret-ß"  # noqa: S105 - of services in tests, and no ASCII
NO_CONNECTION = "Failed to load resource"
"""Chromium's console messages about a request that was refused or got no response."""


def sign_in(page: "Page", token: str = TOKEN) -> None:
    """Type in the token."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Show the service").click()


def open_live(open_page: OpenPage, service: Service, view: str = "", **options: object) -> "Page":
    """Open a view of the page, such as "samples/limit", and wait until it shows something."""
    page = open_page(f"{service.url}/#/{view}", **options)
    if page.get_by_label("Token").is_visible():
        sign_in(page)
    page.wait_for_selector("#link[data-state=live]")
    return page


def figure(page: "Page", name: str) -> str:
    """Return what a tile of the overview shows."""
    tile = page.locator("#tiles > div", has=page.locator("dt", has_text=name))
    return tile.locator("dd").first.inner_text()


def grade_all(service: Service, completions: dict[str, str]) -> None:
    """Grade completions by their ids, at once."""
    submissions = [
        {"id": name, "completion": completion, "label": ASSERTS}
        for name, completion in completions.items()
    ]
    answer = service.post("/v1/grade", {"submissions": submissions})
    assert answer.status_code == 200, answer.text
