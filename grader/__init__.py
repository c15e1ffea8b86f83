"""Grades generated code against its tests in sandboxes, and gives verdicts, scores and rewards.

    from grader import Grader, Submission, parse_label

    suite = parse_label('["assert add(1, 2) == 3"]')
    with Grader() as grader:
        submission = Submission(id="1", completion="def add(a, b): return a + b", suite=suite)
        print(grader.grade(submission).verdict)

docs/python-api.md describes every name. Names are imported when they are first used, so that a
trainer that loads one of this package's files pays for nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.config.loading import load_settings
    from grader.config.settings import SandboxChoice, Settings
    from grader.grading.grader import Grader
    from grader.model import CaseResult, GradeReport, Integrity, Limits, Submission, Verdict
    from grader.model.errors import (
        ConfigurationError,
        GraderError,
        InputError,
        LabelError,
        SandboxError,
        SessionLostError,
        SessionsFullError,
        SuiteError,
    )
    from grader.opening import open_grader, open_sessions
    from grader.sessions.local import Session, Sessions
    from grader.sessions.result import StepResult
    from grader.suites import parse_label, parse_problem

__all__ = [
    "CaseResult",
    "ConfigurationError",
    "GradeReport",
    "Grader",
    "GraderError",
    "InputError",
    "Integrity",
    "LabelError",
    "Limits",
    "SandboxChoice",
    "SandboxError",
    "Session",
    "SessionLostError",
    "Sessions",
    "SessionsFullError",
    "Settings",
    "StepResult",
    "Submission",
    "SuiteError",
    "Verdict",
    "load_settings",
    "open_grader",
    "open_sessions",
    "parse_label",
    "parse_problem",
]

_HOMES = {
    "Grader": "grader.grading.grader",
    "Session": "grader.sessions.local",
    "Sessions": "grader.sessions.local",
    "SandboxChoice": "grader.config.settings",
    "Settings": "grader.config.settings",
    "StepResult": "grader.sessions.result",
    "load_settings": "grader.config.loading",
    "open_grader": "grader.opening",
    "open_sessions": "grader.opening",
    "parse_label": "grader.suites",
    "parse_problem": "grader.suites",
}


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    usual = "grader.model.errors" if name.endswith("Error") else "grader.model"
    value = getattr(import_module(_HOMES.get(name, usual)), name)
    globals()[name] = value
    return value
