"""The environment that the tests set up, on its way to the submission's process."""

import os
from typing import NamedTuple

_CURRENT_TEST = b"PYTEST_CURRENT_TEST"


class News(NamedTuple):
    """What is to be told of variables."""

    changed: dict[str, str]
    removed: list[str]


class Environment:
    """What the submission's process has been told of the environment."""

    def __init__(self) -> None:
        """It began with what there is."""
        self._told = self._outside = dict(_raw())

    def take_news(self) -> News | None:
        """Return what it has not been told yet, taking it for told; None where there is nothing."""
        now, before = _raw(), self._told
        if now == before:
            return None
        self._told = dict(now)
        changed = {
            os.fsdecode(name): os.fsdecode(value)
            for name, value in now.items()
            if before.get(name) != value and name != _CURRENT_TEST
        }
        removed = [os.fsdecode(n) for n in before if n not in now and n != _CURRENT_TEST]
        return News(changed, removed) if changed or removed else None

    def branch(self) -> None:
        """Have what is told from here on be told to a copy of the process."""
        self._outside = self._told

    def end_branch(self) -> None:
        """Go on with the process that has heard nothing of it."""
        self._told = self._outside


def _raw() -> dict[bytes, bytes]:
    """Return the environment as its mapping keeps it: to decode it costs more than most calls."""
    raw: dict[bytes, bytes] = getattr(os.environ, "_data")  # noqa: B009 - private to the library
    return raw
