"""Make the pictures of the documentation, from real runs: `make screenshots`.

Grades the examples twice, the second time without looking for code blocks, and takes pictures of
their report in the system's Chromium. Spreads their rows over made-up training steps, for a picture
of trends. Then has a service with a queue grade them for a minute, and
takes pictures of its page.
"""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import requests
from playwright.sync_api import Browser, sync_playwright

REPO = Path(__file__).resolve().parent.parent
IMAGES = REPO / "docs/images"
LIMITS = ("--set", "cpu_time_s=1", "--set", "wall_time_s=3", "--set", "memory_bytes=128MiB")

SHOTS = (
    ("report", "", "light", 1180),
    ("report-dark", "", "dark", 1180),
    ("sample-wrong-answer", "stdin%2Fbus%231", "light", 1000),
    ("sample-time-limit", "pytest%2Froman%232", "dark", 1000),
    ("sample-no-code", "stdin%2Fwords%233", "light", 620),
)
"""Name, address of the sample, colour scheme, height."""


def grader(*arguments: str) -> None:
    """Run a command of the grader."""
    subprocess.run([sys.executable, "-m", "grader", *arguments], cwd=REPO, check=True)


def grade(out: Path, *options: str) -> None:
    """Grade the examples."""
    files = ("examples/samples.jsonl", "--problems", "examples/problems.jsonl", "-o", str(out))
    grader("grade", *files, "--sandbox", "native", *LIMITS, *options)


STEPS, FALL = 60, 40
"""Training steps of the run whose trends are shown, and the step at which its reward falls."""
GROUP = 32
"""Samples of a step."""


def record(graded: Path, run: Path) -> None:
    """Write a run: until its reward falls, more and more samples pass; then many are attacks."""
    chance = random.Random(7)  # noqa: S311 - no secret
    rows = [json.loads(line) for line in graded.open("rb")]
    passed = [row for row in rows if row["report"]["verdict"] == "passed"]
    attacks = [row for row in rows if row["report"]["suspicion"]]
    with run.open("w") as file:
        for step in range(STEPS):
            share = 0.5 if step >= FALL else step / STEPS
            better = attacks if step >= FALL else passed
            for _ in range(GROUP):
                row = chance.choice(better if chance.random() < share else rows)
                file.write(json.dumps({**row, "step": step}) + "\n")


def take_trends(browser: Browser, address: str) -> None:
    """Take the picture of a run's trends."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.locator("#trends").screenshot(path=IMAGES / "trends.png")
    page.close()


def take(browser: Browser, address: str, name: str, scheme: str, height: int) -> None:
    """Take one picture."""
    page = browser.new_page(
        viewport={"width": 1280, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.screenshot(path=IMAGES / f"{name}.png")
    page.close()


# ---------------------------------------------------------------- the live page

SERVED_S = 60.0
TRAINED_S = 15.0
"""How long the service grades before its picture is taken, alone and beside another client."""
PAUSE_S = 0.4
"""Longest pause between two submissions."""
MANY = 100
"""How often another client has the examples graded."""


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a service with a queue and a worker; yield its address and that of the queue."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    broker = f"redis://127.0.0.1:{port}/0"
    log = folder / "service.log"
    settings = {"SANDBOX": "native", "SERVER_PORT": "0", "PROBLEMS": "examples/problems.jsonl"}
    settings |= {"LIMITS_CPU_TIME_S": "1", "LIMITS_WALL_TIME_S": "3", "BROKER": broker}
    environ = {**os.environ, **{f"GRADER_{name}": value for name, value in settings.items()}}
    command = [sys.executable, "-m", "grader"]
    with ExitStack() as stack, log.open("wb") as output:

        def start(*arguments: str, said: int | IO[bytes] = subprocess.DEVNULL) -> None:
            process = subprocess.Popen(arguments, cwd=REPO, env=environ, stdout=said, stderr=said)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("redis-server", "--port", str(port), "--save", "", "--dir", str(folder))
        start(*command, "worker")
        start(*command, "serve", said=output)
        yield f"http://127.0.0.1:{port_of(log)}", broker


def port_of(log: Path) -> int:
    """Wait until a service has said where it listens."""
    while True:
        for line in log.read_text().splitlines():
            said = json.loads(line)
            if said["event"] == "listening":
                return int(said["port"])
        time.sleep(0.1)


def keep_busy(address: str, seconds: float) -> None:
    """Have the examples graded one by one, at random."""
    chance = random.Random(7)  # noqa: S311 - no secret
    rows = [json.loads(line) for line in (REPO / "examples/samples.jsonl").open("rb")]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        row = chance.choice(rows)
        sample = {"id": row["id"], "completion": row["completion"], "problem_id": row["task_id"]}
        requests.post(f"{address}/v1/grade", json=sample, timeout=60)
        time.sleep(chance.random() * PAUSE_S)


@contextmanager
def trainer(folder: Path, broker: str) -> Iterator[None]:
    """Have another client grade a long file over the queue, so that submissions wait."""
    samples, log = folder / "many.jsonl", folder / "trainer.log"
    samples.write_text((REPO / "examples/samples.jsonl").read_text() * MANY)
    files = (str(samples), "--problems", "examples/problems.jsonl", "-o", str(folder / "many.out"))
    command = [sys.executable, "-m", "grader", "grade", *files, "--broker", broker]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=REPO, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def take_live(browser: Browser, address: str) -> None:
    """Take the pictures of the service's page."""
    page = browser.new_page(viewport={"width": 1280, "height": 1150})
    page.goto(f"{address}/")
    page.locator("#charts svg").nth(5).wait_for()
    page.get_by_text("Waiting, by client and class").wait_for()
    page.screenshot(path=IMAGES / "live.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{address}/#/playground")
    page.get_by_label("Label format").select_option("test_cases")
    page.locator("#try-completion").fill("```python\nprint(3 * int(input()))\n```\n")
    page.get_by_role("button", name="Grade").click()
    page.locator("#try-report h2").wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=IMAGES / "playground.png")
    page.close()


def main() -> None:
    """Make all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no chromium is on PATH; on Debian: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        graded, before = Path(folder, "graded.jsonl"), Path(folder, "before.jsonl")
        grade(graded)
        grade(before, "--set", "extraction=verbatim", "--limit", "24")
        page, flips = Path(folder, "report.html"), Path(folder, "flips.html")
        grader("report", str(graded), "--problems", "examples/problems.jsonl", "-o", str(page))
        grader("report", str(graded), str(before), "-o", str(flips))
        run, trends = Path(folder, "run.jsonl"), Path(folder, "run.html")
        record(graded, run)
        grader("report", str(run), "-o", str(trends))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, sample, scheme, height in SHOTS:
            take(browser, f"{page.as_uri()}#{sample}", name, scheme, height)
        take_trends(browser, trends.as_uri())
        take(browser, f"{flips.as_uri()}?q=flipped%3Dtrue#samples", "flips", "light", 900)
        with serving(Path(folder)) as (address, broker):
            keep_busy(address, SERVED_S)
            with trainer(Path(folder), broker):
                keep_busy(address, TRAINED_S)
                take_live(browser, address)
        browser.close()


if __name__ == "__main__":
    main()
