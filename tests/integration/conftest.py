"""Fixtures of the tests that run whole parts of the project."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands import Run

if TYPE_CHECKING:
    from grader.sandbox.native.backend import NativeSandbox


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what came of tests that are cells of the table of trainers, for `make trainers`."""
    report = yield
    file, mark = os.environ.get("TRAINERS_RESULTS"), item.get_closest_marker("trainer")
    if file and mark is not None and (report.when == "call" or report.outcome != "passed"):
        trainer, version, mode, cannot = mark.args
        cell = {"trainer": trainer, "version": version, "mode": mode, "cannot": cannot}
        with Path(file).open("a") as results:
            results.write(json.dumps({**cell, "outcome": report.outcome}) + "\n")
    return report


@pytest.fixture(scope="module")
def native_rewards(native_sandbox: "NativeSandbox") -> Iterator[pytest.MonkeyPatch]:
    """Have this process's reward core grade in two native slots; yields what sets variables."""
    from grader.rewards.core import forget_shared_core

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SANDBOX", native_sandbox.name)
        patch.setenv("GRADER_SLOTS", "2")
        patch.setenv("GRADER_REWARD_DEADLINE_S", "60")
        forget_shared_core()
        yield patch
        forget_shared_core()


@pytest.fixture
def environment(repo_dir: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GRADER_") or name.startswith("GRADER_IMAGES_")
    }
    return {**kept, "PYTHONPATH": str(repo_dir), "GRADER_SANDBOX": "native", "GRADER_SLOTS": "2"}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run the command in an empty folder."""

    def grader(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "grader", *arguments],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
        )

    return grader


@pytest.fixture
def start(
    tmp_path: Path, environment: dict[str, str]
) -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    """Start the command in an empty folder, and end it with the test."""
    started: list[subprocess.Popen[str]] = []

    def grader(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield grader
    for process in started:
        process.kill()
        process.communicate()
