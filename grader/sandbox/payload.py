"""The payloads of runs: for each kind of program, the bytes of `RunBatch.runs`.

The other end is sandbox_images/harness/runners/; expected values are never part of it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sandbox_images.harness.wire import values

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""Positional and keyword arguments of a call."""


def text_bytes(text: str) -> bytes:
    """Encode code or input of a run, which may hold lone surrogates, as the harness decodes it."""
    return text.encode("utf-8", "surrogatepass")


def calls(entry_point: str, calls: Iterable[Arguments], *, asks_presence: bool = False) -> bytes:
    """Encode calls that one run makes, in order.

    Args:
        entry_point: The function or method to call.
        calls: The arguments of each call.
        asks_presence: Whether to report only if there is a result: a bool as it is, any other
            value as whether it is not None. Such a value need not be plain data.

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
    """Classes of the submission. The tests make instances and call their methods."""
    modules: tuple[str, ...] = ()
    """Modules that the tests use but do not import, because the submission does."""
    nowhere: tuple[str, ...] = ()
    """Names of the tests that would change their meaning if the submission defined them."""
    watched: bool = True
    """Whether the tests could notice that an argument was changed in place."""


def script(
    setup: str,
    cases: Sequence[str],
    *,
    stop_early: bool,
    apart: Apart | None = None,
    notes: bool = False,
) -> bytes:
    """Encode statements to run in the submission's namespace, or apart from the submission.

    With `notes`, a case fails if one of its assertions failed, even if the error was caught.
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

    `notes` is that of `script`.
    """
    paths, more = list(test_paths), list(args)
    return _judged(apart, test_paths=paths, args=more, stop_early=stop_early, notes=notes)


def _judged(apart: Apart | None, **fields: Any) -> bytes:
    return json.dumps({**fields, "apart": apart and apart._asdict()}).encode()
