"""verl's own client of SandboxFusion, fetched by pip and never installed.

Its package needs Ray and torch at import; the client itself only requests, so that just its
folder is imported, under a name of its own.
"""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

from tests.conftest import missing

VERSION = "0.9.1"
DOWNLOAD_TIMEOUT_S = 120
CLIENT = Path("verl/utils/reward_score/sandbox_fusion")


def load_client() -> ModuleType:
    """Return verl's module `sandbox_fusion`; skips where pip cannot get it."""
    name = "verl_sandbox_fusion"
    if name in sys.modules:
        return sys.modules[name]
    folder = _release() / CLIENT
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _release() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = home / "grader-tests" / "verl"
    folder = cache / VERSION
    if (folder / CLIENT).is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(cache), f"verl=={VERSION}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        missing(f"verl {VERSION}", "pip did not answer in time")
    if done.returncode:
        missing(f"verl {VERSION}", done.stderr.strip().rpartition("\n")[2])
    (wheel,) = cache.glob(f"verl-{VERSION}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
