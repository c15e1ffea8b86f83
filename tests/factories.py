"""Builders of records for tests: every field has a plain value, a test names what it is about."""

from datetime import UTC, datetime
from typing import Any

from grader.model import GradeReport, ScriptCase, ScriptTests, Submission, Tests, TestSuite
from grader.model.verdict import Integrity, Verdict
from grader.queueing.status import Lane, QueueStatus, RedisMemory, WorkerStatus


def make_tests(*statements: str) -> ScriptTests:
    """Return one assert case per statement; without statements, one that `add` must pass."""
    sources = statements or ("assert add(1, 2) == 3",)
    return ScriptTests(
        cases=tuple(ScriptCase(id=str(n), source=source) for n, source in enumerate(sources))
    )


def make_suite(tests: Tests | None = None, **overrides: Any) -> TestSuite:
    """Return a suite about a function `add`."""
    values: dict[str, Any] = {"format": "asserts", "problem_id": "add", "entry_point": "add"}
    return TestSuite(tests=tests or make_tests(), **{**values, **overrides})


def make_submission(
    completion: str = "def add(a, b):\n    return a + b\n",
    *,
    suite: TestSuite | None = None,
    **overrides: Any,
) -> Submission:
    """Return a submission that passes its suite."""
    values: dict[str, Any] = {"id": "add/0"}
    return Submission(completion=completion, suite=suite or make_suite(), **{**values, **overrides})


def make_report(verdict: Verdict = Verdict.PASSED, **overrides: Any) -> GradeReport:
    """Return a report on one case, with the score and reward that `binary` gives its verdict."""
    passed = verdict is Verdict.PASSED
    values: dict[str, Any] = {
        "score": 1.0 if passed else 0.0,
        "reward": 0.0 if verdict is Verdict.INTERNAL_ERROR else (1.0 if passed else -1.0),
        "graded": verdict is not Verdict.INTERNAL_ERROR,
        "passed": int(passed),
        "total": 1,
        "integrity": Integrity.SHARED,
        "code": "def add(a, b):\n    return a + b\n",
        "sandbox": "fake",
        "policy": "binary",
    }
    return GradeReport(verdict=verdict, **{**values, **overrides})


def make_worker(name: str = "w", **overrides: Any) -> WorkerStatus:
    """Return a worker that serves, with three of its four slots busy."""
    values: dict[str, Any] = {
        "host": "node1",
        "version": "1.0",
        "build": "0123456789ab",
        "state": "serving",
        "images": "python",
        "sandbox": "native",
        "slots": 4,
        "running": 3,
        "graded": 10,
        "per_s": 1.0,
        "started": datetime.now(UTC),
    }
    return WorkerStatus(id=name, **{**values, **overrides})


def make_lane(client: str = "node2:1:a", **overrides: Any) -> Lane:
    """Return a lane of a batch for the plain image."""
    values: dict[str, Any] = {
        "service_class": "batch",
        "image": "python",
        "waiting": 5,
        "waited_s": 1.0,
        "weight": 1.0,
        "run_s": 0.25,
    }
    return Lane(client=client, **{**values, **overrides})


def make_queue(*workers: WorkerStatus, **overrides: Any) -> QueueStatus:
    """Return the status of a queue in which nothing waits."""
    values: dict[str, Any] = {
        "at": datetime.now(UTC),
        "silent": frozenset(),
        "other_versions": {},
        "queued": 0,
        "oldest_s": 0.0,
        "lanes": (),
        "clients": 1,
        "counts": {},
        "cached": 0,
        "cached_bytes": 0,
        "memory": RedisMemory(used_bytes=0, limit_bytes=0),
        "errors": (),
    }
    return QueueStatus(workers=workers, **{**values, **overrides})
