"""What each kind of program is given for a run: the bytes of `RunBatch.runs`.

The other end is sandbox_images/harness/runners/; expected values are never part of it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sandbox_images.harness.wire import values

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""Of a call: those by position, and those by name."""


def calls(entry_point: str, calls: Iterable[Arguments], *, asks_presence: bool = False) -> bytes:
    """Encode calls that one run makes, in order.

    Args:
        entry_point: What is called.
        calls: With what.
        asks_presence: Whether only the truth of a result is to be reported if it is a bool, and
            else whether it is not None. It may be no plain data then.

    Raises:
        sandbox_images.harness.wire.values.UnencodableError: An argument is not plain data.
    """
    encoded = [
        {"args": values.encode(list(args)), "kwargs": values.encode(dict(kwargs))}
        for args, kwargs in calls
    ]
    return json.dumps(
        {"entry_point": entry_point, "calls": encoded, "asks_presence": asks_presence}
    ).encode()


class Apart(NamedTuple):
    """What tests use of a submission that runs in another process."""

    names: tuple[str, ...] = ()
    """Functions of the submission."""
    classes: tuple[str, ...] = ()
    """Classes of the submission of which they call methods of new instances."""
    modules: tuple[str, ...] = ()
    """Modules that the tests use without importing them, since the submission does."""
    nowhere: tuple[str, ...] = ()
    """Names of the tests' own that would mean something else if the submission defined them."""
    watched: bool = True
    """Whether the tests could see that an argument was changed in place."""


def script(
    setup: str,
    cases: Sequence[str],
    *,
    stop_early: bool,
    apart: Apart | None = None,
    notes: bool = False,
) -> bytes:
    """Encode the statements that run in the submission's namespace, or apart from it.

    `notes` fails a case if an assertion of it failed, even if the submission caught the error.
    """
    return _judged(apart, setup=setup, cases=list(cases), stop_early=stop_early, notes=notes)


def pytest(
    test_paths: Sequence[str],
    args: Sequence[str],
    *,
    stop_early: bool,
    apart: Apart | None = None,
    notes: bool = False,
) -> bytes:
    """Encode what pytest is to collect, and with which further arguments.

    `notes` is as of `script`.
    """
    paths, more = list(test_paths), list(args)
    return _judged(apart, test_paths=paths, args=more, stop_early=stop_early, notes=notes)


def _judged(apart: Apart | None, **fields: Any) -> bytes:
    return json.dumps({**fields, "apart": apart and apart._asdict()}).encode()
