"""Policies of the user's own: a function from a report to its reward.

Only settings name them. A name that came with a job or a request is never loaded, since loading
runs code.
"""

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from grader.model import GradeReport
from grader.model.errors import ConfigurationError
from grader.scoring.policies import POLICIES, Policy, find_policy, register

GROUP = "grader.policies"
"""The group of the entry points of packages that bring a policy."""
_BASE = "fraction"
"""The policy that gives the score and the reward of the report which the function gets."""


def load_policy(name: str) -> Policy:
    """Return a policy that settings name, after loading it if it is the user's own.

    Args:
        name: A built-in policy, `file.py:function`, `package.module:function`, or the name of an
            entry point in `GROUP`.

    Raises:
        ConfigurationError: There is no such policy, or it does not load.
    """
    try:
        return find_policy(name)
    except ConfigurationError:
        function = _loaded(name)
    if not callable(function):
        message = f"policy is {name}, which is {type(function).__name__}; expected a function"
        raise ConfigurationError(message)
    return register(
        replace(
            POLICIES[_BASE],
            name=name,
            summary="a function of the user's own",
            reward_of=_checked(name, function),
        )
    )


def policy_to_send(name: str) -> str:
    """Return the policy that a worker or service grades by; one's own is applied to its report."""
    return name if name in POLICIES else _BASE


def _loaded(name: str) -> Any:
    where, colon, attribute = name.rpartition(":")
    try:
        if not colon:
            return _entry_point(name)
        module = (
            _module_of(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        )
        return getattr(module, attribute)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:  # The file may raise anything.
        message = f"policy is {name}, which does not load: {type(error).__name__}: {error}"
        raise ConfigurationError(message) from error


def _entry_point(name: str) -> Any:
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        message = (
            f"there is no reward policy {name!r}; expected one of: {', '.join(POLICIES)}, "
            "or a function of your own as file.py:function"
        )
        raise ConfigurationError(message)
    return found.load()


def _module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"grader_policy_{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        message = f"{path} is not a Python file"
        raise ConfigurationError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Dataclasses look their module up there.
    spec.loader.exec_module(module)
    return module


def _checked(name: str, function: Callable[[GradeReport], Any]) -> Callable[[GradeReport], float]:
    def reward_of(report: GradeReport) -> float:
        try:
            given = function(report)
        except (Exception, SystemExit) as error:  # The function may raise anything.
            message = f"the policy {name} raised {type(error).__name__}: {error}"
            raise ConfigurationError(message) from error
        try:
            reward = float(given)
        except (TypeError, ValueError):
            reward = math.nan
        if isinstance(given, str | bytes) or not math.isfinite(reward):
            message = f"the policy {name} returned {given!r:.100}; expected a finite number"
            raise ConfigurationError(message)
        return reward

    return reward_of
