"""Make the pictures of the documentation, from real runs: `make screenshots`.

Grades the examples twice, the second time without looking for code blocks, and takes pictures of
their report in the system's Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
        grader("report", str(graded), "-o", str(page))
        grader("report", str(graded), str(before), "-o", str(flips))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, sample, scheme, height in SHOTS:
            take(browser, f"{page.as_uri()}#{sample}", name, scheme, height)
        take(browser, flips.as_uri(), "flips", "light", 900)
        browser.close()


if __name__ == "__main__":
    main()
