"""Programs of other packages that tests run."""

import shutil

from tests.conftest import missing


def tool(name: str) -> str:
    """Return where a program is; skip or fail the test if it is not installed."""
    found = shutil.which(name)
    if found is None:
        missing(name, "it is not installed")
    return found
