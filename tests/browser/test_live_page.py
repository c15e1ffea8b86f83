"""The service's page in a browser: the token, figures that change, samples, the playground."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import OpenPage, serious_findings
from tests.browser.live import NO_CONNECTION, TOKEN, figure, grade_all, open_live, sign_in
from tests.browser.test_sample_page import HOSTILE
from tests.serving import BAD, GOOD, Service, serving

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

pytestmark = pytest.mark.usefixtures("native_sandbox")

EXIT = "```python\nimport os\nos._exit(0)\ndef add(a, b): return 3\n```"
LOOP = "```python\ndef add(a, b):\n    while True:\n        pass\n```"
MINUS = "```python\ndef add(a, b):\n    return a - b\n```"
SAMPLES = {"group/good": GOOD, "group/bad": BAD, "group/exit": EXIT, "group/loop": LOOP}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, token=TOKEN, limits__cpu_time_s=0.5, keep__samples="all") as running:
        grade_all(running, SAMPLES)
        yield running


def names(page: "Page") -> list[str]:
    return page.locator("#samples-list tbody a").all_inner_texts()


# ---------------------------------------------------------------- the token


def test_page_shows_nothing_without_the_token(open_page: OpenPage, service: Service) -> None:
    page = open_page(f"{service.url}/#/samples", forgiven=NO_CONNECTION)
    page.get_by_label("Token").wait_for()
    for view in ("#tabs", "#overview", "#samples", "#sample", "#playground", "#keeping"):
        assert not page.locator(view).is_visible()
    fetched = page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    assert len(fetched) > 5
    assert {urlsplit(address).path.rpartition("/")[0] for address in fetched} == {"/assets"}
    sign_in(page, "wrong")
    page.get_by_text("does not take this token").wait_for()
    assert "group/bad" not in page.content()
    sign_in(page)
    page.get_by_role("link", name="group/bad").wait_for()


def test_token_lasts_for_one_tab_until_signing_out(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, "samples")
    page.get_by_role("link", name="group/bad").wait_for()
    page.reload()
    page.get_by_role("link", name="group/bad").wait_for()
    assert page.context.cookies() == []
    other = page.context.new_page()
    other.goto(f"{service.url}/")
    assert other.get_by_label("Token").is_visible()
    page.get_by_role("button", name="Sign out").click()
    assert page.get_by_label("Token").is_visible()
    assert "group/bad" not in page.content()
    assert page.evaluate("sessionStorage.length") == 0
    page.evaluate("location.hash = '#/playground'")
    assert page.get_by_label("Token").is_visible()
    assert not page.locator("#playground").is_visible()


# ---------------------------------------------------------------- figures


def test_overview_goes_on_by_itself(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service)
    page.locator("#charts svg").nth(5).wait_for()
    graded = re.compile(r"\d+ since the start")
    before = page.get_by_text(graded).inner_text()
    grade_all(service, {"late/bad": MINUS, "late/good": GOOD})
    page.locator("#lately").get_by_role("link", name="late/bad").wait_for()
    assert page.get_by_text(graded).inner_text() != before
    assert figure(page, "Busy slots").endswith("of 2")
    assert "GRADER_KEEP_SAMPLES=all" in page.locator("#keeping").inner_text()
    hours = page.get_by_role("button", name="3 hours")
    hours.click()
    page.locator("#charts").get_by_text("3 h", exact=True).first.wait_for()
    assert hours.get_attribute("aria-pressed") == "true"


def test_unused_service_shows_a_command_that_grades(open_page: OpenPage, tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as running:
        page = open_live(open_page, running)
        page.get_by_role("heading", name="Nothing was graded yet").wait_for()
        told = f"export GRADER_URL={running.url}".replace("//", "//any:$GRADER_SERVER_TOKEN@")
        assert page.locator("#begin-url").inner_text() == told
        curl, address, *options = shlex.split(page.locator("#begin-command").inner_text())
        assert (curl, options[::2]) == ("curl", ["-H", "-H", "-d"])
        assert options[1] == "Authorization: Bearer $GRADER_SERVER_TOKEN"
        data, kind = options[5].encode(), dict([options[3].split(": ")])
        answer = running.post(urlsplit(address).path, None, data=data, headers=kind)
        assert answer.json()["report"]["verdict"] == "passed", answer.text
        page.locator("#charts svg").first.wait_for()
        assert not page.locator("#begin").is_visible()


def test_page_says_that_all_is_well(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service)
    page.locator("#health", has_text="All is well.").wait_for()


# ---------------------------------------------------------------- samples


def test_sample_is_found_by_keys_and_explains_its_reward(
    open_page: OpenPage, service: Service
) -> None:
    page = open_live(open_page, service, "samples")
    page.get_by_role("link", name="group/loop").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("group bad")
    assert names(page) == ["group/bad"]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="group/bad").wait_for()
    shown = page.locator("#sample-body").inner_text()
    assert "Wrong answer" in shown
    assert "+0.30" in shown
    assert "assert add(0, 0) == 0" in shown
    page.keyboard.press("Escape")
    page.locator("#samples").wait_for()
    assert names(page) == ["group/bad"]
    assert page.locator("#sample-body").inner_text() == ""
    page.reload()
    page.get_by_role("link", name="group/bad").wait_for()
    assert names(page) == ["group/bad"]
    page.keyboard.press("Escape")
    page.get_by_role("link", name="group/loop").wait_for()
    assert page.get_by_label("Search").input_value() == ""
    for place in (0, 1):
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.textContent") == names(page)[place]


def test_samples_of_a_kind_lead_from_one_to_the_next(open_page: OpenPage, service: Service) -> None:
    grade_all(service, {"pair/one": f"{BAD}\n1", "pair/two": f"{BAD}\n2"})
    page = open_live(open_page, service, "samples/failed")
    page.get_by_label("Search").fill("pair")
    page.get_by_role("link", name="pair/one").wait_for()
    assert sorted(names(page)) == ["pair/one", "pair/two"]
    first, second = names(page)
    page.get_by_role("link", name=first).click()
    page.get_by_role("heading", name=first).wait_for()
    page.keyboard.press("n")
    page.get_by_role("heading", name=second).wait_for()
    assert page.locator("#next").get_attribute("href") is None
    page.keyboard.press("k")
    page.get_by_role("heading", name=first).wait_for()
    page.get_by_role("link", name="All samples").click()
    page.wait_for_url(re.compile("#/samples/failed/pair$"))
    page.get_by_role("link", name="Like an attack").click()
    page.locator("#kinds [aria-current=true]", has_text="Like an attack").wait_for()
    page.get_by_label("Search").fill("")
    page.get_by_role("link", name="group/exit").wait_for()
    assert "pair/one" not in names(page)


def test_dropped_sample_gets_a_message(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, "sample/none-1", forgiven=NO_CONNECTION)
    page.get_by_text("is not kept, or no longer").wait_for()


# ---------------------------------------------------------------- playground


def test_playground_grades_an_example_and_typed_input(
    open_page: OpenPage, service: Service
) -> None:
    page = open_live(open_page, service, "playground")
    page.get_by_label("Label format").select_option("test_cases")
    assert "print" in page.locator("#try-completion").input_value()
    page.get_by_role("button", name="Grade").click()
    report = page.locator("#try-report")
    report.get_by_text("test_cases", exact=True).wait_for()
    assert "Passed" in report.inner_text()
    page.locator("#try-completion").fill("```python\nprint(3 * int(input()))\n```")
    page.keyboard.press("Control+Enter")
    report.get_by_text("Wrong answer").first.wait_for()
    assert [row.inner_text().split() for row in report.locator(".diff .extra").all()][-1] == ["+6"]
    page.get_by_role("link", name="Samples").click()
    page.locator("#samples-list").get_by_role("link", name="playground").first.click()
    page.locator("#sample-body h2").wait_for()
    assert page.locator("#why").count() == 1
    page.go_back()
    page.go_back()
    report.get_by_text("Wrong answer").first.wait_for()


def test_playground_keeps_what_was_typed(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, "playground")
    page.get_by_label("Label format").select_option("test_cases")
    page.locator("#try-completion").fill("print(17)")
    label = page.locator("#try-label").input_value()
    page.reload()
    page.locator("#try-format option").first.wait_for(state="attached")
    assert page.locator("#try-completion").input_value() == "print(17)"
    assert page.locator("#try-label").input_value() == label
    assert page.get_by_label("Label format").input_value() == "test_cases"


def test_playground_names_the_error_in_a_label(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, "playground", forgiven=NO_CONNECTION)
    page.locator("#try-format option").first.wait_for(state="attached")
    page.locator("#try-label").fill('{"odd": 1}')
    page.get_by_role("button", name="Grade").click()
    page.get_by_text("Not graded: the label is in no known format").wait_for()
    assert page.locator("#try-report").inner_text() == ""


# ---------------------------------------------------------------- accessibility


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_accessibility(
    open_page: OpenPage, service: Service, axe: str, scheme: str
) -> None:
    page = open_page(f"{service.url}/", color_scheme=scheme)
    assert serious_findings(page, axe) == []
    sign_in(page)
    page.locator("#charts svg").nth(5).wait_for()
    assert serious_findings(page, axe) == []
    page.get_by_role("link", name="Samples", exact=True).click()
    page.get_by_role("link", name="group/exit").wait_for()
    assert serious_findings(page, axe) == []
    page.get_by_role("link", name="group/exit").click()
    page.locator("#sample-body h2").wait_for()
    assert serious_findings(page, axe) == []
    page.get_by_role("link", name="Playground").click()
    page.get_by_text("A prompt to continue").wait_for()
    page.get_by_role("button", name="Grade").click()
    page.locator("#try-report h2").wait_for()
    assert serious_findings(page, axe) == []


def test_nothing_on_the_page_is_wider_than_a_phone(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, viewport={"width": 390, "height": 800})
    page.locator("#charts svg").nth(5).wait_for()
    for view in ("", "samples", "playground"):
        page.goto(f"{service.url}/#/{view}")
        page.locator(f"#{view or 'overview'}").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        cut = (
            "[...document.querySelectorAll('.cards')].filter((e) => e.scrollWidth > e.clientWidth)"
        )
        assert page.evaluate(f"{cut}.length") == 0, view
    assert page.locator("#samples-list").bounding_box() is None


# ---------------------------------------------------------------- the policy

SMUGGLE = """async () => {
    const refused = new Promise((resolve) =>
        document.addEventListener("securitypolicyviolation", (event) =>
            resolve(event.effectiveDirective)));
    let markup = "taken";
    try { document.createElement("p").innerHTML = "<b>x</b>"; } catch { markup = "refused"; }
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    document.head.append(style);
    const script = document.createElement("script");
    try { script.textContent = "window.smuggled = 1"; } catch {}
    document.body.append(script);
    return [markup, await refused, window.smuggled ?? "nothing ran"];
}"""


def test_policy_blocks_foreign_files(open_page: OpenPage, service: Service) -> None:
    page = open_live(open_page, service, forgiven="requires 'Trusted|Content Security Policy")
    markup, directive, ran = page.evaluate(SMUGGLE)
    assert (markup, ran) == ("refused", "nothing ran")
    assert directive in ("require-trusted-types-for", "style-src-elem")
    assert page.locator("#health").is_visible()


# ---------------------------------------------------------------- memory

FLOOD = """async ([rounds, perRound]) => {
    const samples = await import("./assets/samples.js");
    for (let round = 0; round < rounds; round++) {
        samples.addSamples(Array.from({ length: perRound }, (_, index) => ({
            key: `flood-${1e6 + round * perRound + index}`, kind: "failed", name: "x".repeat(80),
            problem: "p".repeat(80), at: 1, took_s: 1, verdict: "failed", code: "WA",
            words: "Wrong answer", reward: 0, passed: 0, total: 1, signs: [],
            feedback: "f".repeat(160), endpoint: "/",
        })));
        samples.showList();
    }
}"""


def measured(session: "CDPSession") -> dict[str, Any]:
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Performance.getMetrics")
    return {each["name"]: each["value"] for each in found["metrics"]}


def test_flood_of_samples_takes_no_more_memory_than_a_few(
    open_page: OpenPage, service: Service
) -> None:
    page = open_live(open_page, service, "samples")
    page.get_by_role("link", name="group/bad").wait_for()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.evaluate(FLOOD, [10, 50])
    before = measured(session)
    page.evaluate(FLOOD, [100, 50])
    after = measured(session)
    assert page.locator("#samples-list tbody tr").count() == 200
    assert after["Nodes"] < 1.2 * before["Nodes"] + 500
    assert after["JSHeapUsedSize"] < 1.2 * before["JSHeapUsedSize"] + 2**20


# ---------------------------------------------------------------- hostile content


def content_of(text: str) -> dict[str, Any]:
    """Return a submission with a text in every place that a client or a model may fill."""
    program = f"print({text!r})"
    case = {"input": text, "output": f"{text} expected"}
    label = {"problem_id": text[:300], "test_cases": [case]}
    sent = text.encode("utf-8", "replace").decode()  # Elsewhere a surrogate is refused.
    return {"id": sent[:900], "completion": f"{sent}\n```python\n{program}\n```", "label": label}


@pytest.fixture(params=["ours", pytest.param("red team", marks=pytest.mark.slow)])
def hostile_texts(request: pytest.FixtureRequest) -> list[str]:
    """Texts that try to act as markup; also those of the recorded corpus, if it is there."""
    if request.param == "ours":
        return list(HOSTILE)
    folder: Path = request.getfixturevalue("shared_dir")
    files = [folder / "redteam" / name for name in ("exploits.jsonl", "honest.jsonl")]
    return [json.loads(line)["code"] for file in files for line in file.read_bytes().splitlines()]


def test_whatever_a_model_writes_is_text(
    open_page: OpenPage, service: Service, hostile_texts: list[str]
) -> None:
    page = open_live(open_page, service)
    layout = page.evaluate(LAYOUT)
    submissions = [content_of(text) for text in hostile_texts]
    # Not by requests' own JSON, which refuses halves of surrogate pairs.
    body = json.dumps({"submissions": submissions}).encode()
    headers = {"Content-Type": "application/json"}
    answer = service.post("/v1/grade", None, data=body, headers=headers, timeout=120)
    assert answer.status_code == 200, answer.text
    kept = service.get("/live/samples").json()["samples"][: len(hostile_texts)]
    assert {each["endpoint"] for each in kept} == {"/v1/grade"}
    page.get_by_role("link", name="Samples", exact=True).click()
    for each in kept:
        page.wait_for_selector(f"#samples-list a[href='#/sample/{each['key']}']")
    assert page.evaluate(LAYOUT) == layout
    for each in kept:
        page.evaluate(f"location.hash = '#/sample/{each['key']}'")
        page.wait_for_selector(f"#sample-body[data-key='{each['key']}']")
        assert page.evaluate(LAYOUT) == layout
        assert page.locator(FOREIGN).count() == 0


LAYOUT = """() => [
    document.documentElement.scrollWidth, document.title.endsWith("Live · grader"),
    document.scripts.length,
    document.styleSheets.length, document.querySelectorAll("base").length, JSON.stringify(
        document.querySelector(".top").getBoundingClientRect()),
]"""
"""What no content may change: the width and head of the page, and the files that it loads."""
FOREIGN = ", ".join(
    f"#sample-body {each}"
    for each in ("script", "style", "img", "iframe", "link", "meta", "form", "svg", "a")
)
