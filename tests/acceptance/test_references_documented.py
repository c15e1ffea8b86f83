"""docs/known-disagreements.md and the lists that the acceptance runs assert are one."""

import re
from importlib.metadata import distributions
from pathlib import Path

from agreement.compared import SECTION
from tests.acceptance import test_appended as appended
from tests.acceptance import test_languages as languages
from tests.acceptance import test_recorded as recorded
from tests.acceptance import test_references as references

PACKAGES = "## Problem packages"
OTHERWISE_LISTED = {"ClassEval_50", "Algorithm_00000068_I", "Algorithm_00000068_C"}
"""What passes against the record: among the passed of its file."""


def asserted() -> set[str]:
    """Return the rows that the tests expect to differ."""
    return {
        *(id for each in references.REFERENCES for id in (*each.broken, *each.flaky)),
        *references.TOP_LEVEL_RETURN,
        *(id for each in recorded.PROGRAMS for id in each.broken),
        *recorded.RENAMED,
        *recorded.FENCE_WANTED,
        *(id for each in recorded.ROLLOUTS for id in each.differing),
        *(id.partition("/trial_")[0].removeprefix(recorded.R1_RUN) for id in recorded.YIELDS),
        *languages.RUST,
        *OTHERWISE_LISTED,
    }


def test_every_row_that_differs_is_documented_and_no_other(repo_dir: Path) -> None:
    text = (repo_dir / "docs/known-disagreements.md").read_text("utf-8")
    # What differs from plain Python is `make agreement`'s business. No test grades the packages.
    for section in (SECTION, PACKAGES):
        before, _, after = text.partition(section)
        text = before + "".join(f"\n## {rest}" for rest in after.split("\n## ")[1:])
    tables = "\n".join(line for line in text.splitlines() if line.startswith("| "))
    cells = [cell for line in tables.splitlines() for cell in line.split(" | ")[1:2]]
    assert set(re.findall(r"`([^`]+)`", "\n".join(cells))) == asserted()


def test_every_row_of_appended_tests_that_does_not_pass_is_documented(repo_dir: Path) -> None:
    text = (repo_dir / "docs/known-disagreements.md").read_text("utf-8")
    documented: dict[str, set[str]] = {}
    for file, numbers in re.findall(r"^\| ((?:humanevalx|mceval)_\w+) \| ([\d, ]+) \|", text, re.M):
        documented.setdefault(file, set()).update(numbers.split(", "))
    for file in appended.FILES:
        lists = (appended.REFUSED, appended.BROKEN, appended.FLAKY)
        wanted = set().union(*(appended.named(each, file) for each in lists))
        assert documented.get(file, set()) == wanted, file


def test_modules_that_the_image_lacks_are_documented(repo_dir: Path) -> None:
    text = (repo_dir / "docs/known-disagreements.md").read_text("utf-8")
    modules = {module for each in references.REFERENCES for module in each.lacking}
    assert {module for module in modules if module not in text} == set()


def test_native_runs_have_what_the_science_image_has(repo_dir: Path) -> None:
    """Else problems that need a module fail one by one, and none says why."""
    wanted = (repo_dir / "sandbox_images/science/requirements.in").read_text().splitlines()
    names = {line for line in wanted if line and not line.startswith("#")}
    assert names <= {each.metadata["Name"].lower() for each in distributions()}
