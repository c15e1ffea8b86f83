"""What each kind of program is given for a run: the bytes of `Job.runs`.

The other end is sandbox_images/harness/runners/; expected values are never part of it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_images.harness import values


def call(entry_point: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Encode one call.

    Raises:
        sandbox_images.harness.values.UnencodableError: An argument is not plain data.
    """
    payload = {
        "entry_point": entry_point,
        "args": values.encode(list(args)),
        "kwargs": values.encode(dict(kwargs)),
    }
    return json.dumps(payload).encode()


def script(setup: str, cases: Sequence[str], *, stop_early: bool) -> bytes:
    """Encode the statements that run in the submission's namespace."""
    return json.dumps({"setup": setup, "cases": list(cases), "stop_early": stop_early}).encode()


def pytest(test_paths: Sequence[str], args: Sequence[str], *, stop_early: bool) -> bytes:
    """Encode what pytest is to collect, and with which further arguments."""
    payload = {"test_paths": list(test_paths), "args": list(args), "stop_early": stop_early}
    return json.dumps(payload).encode()
