"""Programs of other packages that tests run, and files that they load as modules."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

from tests.conftest import missing


def tool(name: str) -> str:
    """Return where a program is; skip or fail the test if it is not installed."""
    found = shutil.which(name)
    if found is None:
        missing(name, "it is not installed")
    return found


def load_file(path: Path) -> ModuleType:
    """Execute a file as a new module, which no import finds."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
