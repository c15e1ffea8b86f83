"""Limits calibrated by the measured times of reference solutions.

`grader check --calibrate` measures the references of a file of problems, and keeps the times in a
file beside it, keyed by the content of the tests. So they also apply to the same tests in a label
or another file. They are used only if neither the label nor its format sets a limit of CPU time.
"""

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from grader.config.settings import CalibrationSettings, Settings
from grader.model import StdinTests, TestSuite
from grader.model.errors import ConfigurationError
from grader.model.limits import Limits, LimitsFrom

SUFFIX = ".limits.jsonl"
"""Added to the name of a file of problems, gives the name of the file of its times."""

_KEYS_REMEMBERED = 256
_BYTES_PER_CHARACTER = 4
"""The most that UTF-8 needs. For most outputs this leaves room for additional blanks, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The times of the longest run of a reference."""

    cpu_time_s: float
    wall_time_s: float

    def limits(self, settings: CalibrationSettings, usual: Limits) -> Limits:
        """Return limits for submissions to the same problem.

        The limit of CPU time is `factor` times the reference's, but at least the floor. The limit
        of wall time has the same ratio to it as in `usual`, but is at least `factor` times the
        reference's wall time.
        """
        cpu_time_s = max(settings.floor_s, settings.factor * self.cpu_time_s)
        patience = usual.wall_time_s / usual.cpu_time_s
        wall_time_s = max(patience * cpu_time_s, settings.factor * self.wall_time_s)
        return replace(usual, cpu_time_s=cpu_time_s, wall_time_s=wall_time_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The limits for a suite, and what set that of CPU time."""

    limits: Limits
    limits_from: LimitsFrom


_override = lru_cache(maxsize=1024)(Limits.override)
"""`Limits.override`, cached for the submissions of a suite."""


class Calibration:
    """Measured times by the content of tests. Safe for many threads."""

    def __init__(self, measured: Mapping[str, Measured], settings: CalibrationSettings) -> None:
        self._measured = measured
        self._settings = settings
        self._lock = threading.Lock()
        self._keys: OrderedDict[int, tuple[TestSuite, str]] = OrderedDict()

    def in_force(self, suite: TestSuite, usual: Limits) -> InForce:
        """Return the limits for a suite; `usual` are the limits of the settings."""
        limits_from = LimitsFrom.SETTINGS
        if suite.limits.cpu_time_s is not None:
            limits_from = LimitsFrom.SUITE
        elif self._measured and (measured := self._measured.get(self._key(suite))) is not None:
            limits_from = LimitsFrom.REFERENCE
            usual = measured.limits(self._settings, usual)
        limits = _override(usual, suite.limits)
        room = _BYTES_PER_CHARACTER * _longest_output(suite)
        if room > limits.output_bytes:
            limits = replace(limits, output_bytes=room)
        return InForce(limits=limits, limits_from=limits_from)

    def _key(self, suite: TestSuite) -> str:
        """Return `key_of(suite)`, computed once for the submissions that share the suite."""
        with self._lock:
            # The entry keeps the suite alive, so that no other object gets its id.
            known = self._keys.get(id(suite))
            if known is not None:
                return known[1]
        key = key_of(suite)
        with self._lock:
            self._keys[id(suite)] = (suite, key)
            if len(self._keys) > _KEYS_REMEMBERED:
                self._keys.popitem(last=False)
        return key


def _longest_output(suite: TestSuite) -> int:
    """Return the length of the longest output that a suite expects, in characters."""
    tests = suite.tests
    if not isinstance(tests, StdinTests):
        return 0
    return max((len(case.expected) for case in tests.cases), default=0)


def key_of(suite: TestSuite) -> str:
    """Return a key that is equal for suites that run submissions in the same way."""
    content = f"{suite.tests!r}\n{suite.prelude!r}\n{suite.image!r}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


# ---------------------------------------------------------------- files


def find(settings: Settings) -> Calibration:
    """Load the measured times from the file in the settings, or that beside the problems.

    Raises:
        ConfigurationError: The file in the settings does not exist, or the file is invalid.
    """
    path = settings.calibration.file
    if path is None and settings.problems is not None:
        path = beside(settings.problems)
        if not path.is_file():
            path = None
    measured = {} if path is None else load(path)
    return Calibration(measured, settings.calibration)


def beside(problems: Path) -> Path:
    """Return the path of the measured times of a file of problems."""
    return problems.with_name(problems.name + SUFFIX)


def load(path: Path) -> dict[str, Measured]:
    """Read a file of measured times.

    Raises:
        ConfigurationError: It cannot be read, or a line is invalid.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
        return dict(_parse(json.loads(line)) for line in lines)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ConfigurationError(message) from error
    except (ValueError, TypeError, LookupError) as error:
        message = f"{path} is not a file of measured times: {type(error).__name__}: {error}"
        raise ConfigurationError(message) from error


def _parse(row: Any) -> tuple[str, Measured]:
    cpu_time_s, wall_time_s = float(row["cpu_time_s"]), float(row["wall_time_s"])
    if not (0 <= cpu_time_s < float("inf") and 0 <= wall_time_s < float("inf")):
        raise ValueError(row)
    return str(row["tests"]), Measured(cpu_time_s=cpu_time_s, wall_time_s=wall_time_s)


def save(path: Path, measured: Mapping[str, Measured]) -> None:
    """Add measured times to a file, atomically. Those of other tests stay in it.

    Raises:
        ConfigurationError: It cannot be read or written.
    """
    every = {**(load(path) if path.is_file() else {}), **measured}
    lines = [
        json.dumps({"tests": key, "cpu_time_s": each.cpu_time_s, "wall_time_s": each.wall_time_s})
        for key, each in every.items()
    ]
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        message = f"cannot write {path}: {error.strerror}; set calibration.file to another path"
        raise ConfigurationError(message) from error
