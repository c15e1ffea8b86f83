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


def script(setup: str, cases: Sequence[str], *, stop_early: bool, branch: bool = False) -> bytes:
    """Encode the statements that run in the submission's namespace.

    `branch` gives each case, in split judging, a copy of the submission's process of its own.
    """
    payload = {"setup": setup, "cases": list(cases), "stop_early": stop_early, "branch": branch}
    return json.dumps(payload).encode()


def pytest(
    test_paths: Sequence[str], args: Sequence[str], *, stop_early: bool, branch: bool = False
) -> bytes:
    """Encode what pytest is to collect, and with which further arguments.

    `branch` is as of `script`, for each test or module.
    """
    paths, more = list(test_paths), list(args)
    payload = {"test_paths": paths, "args": more, "stop_early": stop_early, "branch": branch}
    return json.dumps(payload).encode()
