"""pytest inside this very process; for `tests.fake.backend` only."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_images.harness.runners.pytest_suite import configuration
from sandbox_images.harness.runners.recorder import Recorder


def run_pytest(
    root: Path,
    *,
    args: list[str],
    stop_early: bool,
    emit: Callable[..., None],
    describe: Callable[[BaseException], dict[str, Any]],
) -> None:
    """Collect and run tests below `root`, and report as the harness in a sandbox does."""
    options = [f"--rootdir={root}", f"-c{os.devnull}", "--capture=no"]
    options += configuration(root, {path.name for path in root.iterdir()})
    options += [f"-pno:{name}" for name in ("cacheprovider", "faulthandler", "terminal")]
    if stop_early:
        options.append("--maxfail=1")
    autoload = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    os.environ[autoload] = "1"
    recorder = Recorder()
    recorder.begin(emit, describe)
    pytest.main([*options, *args], plugins=[recorder])
