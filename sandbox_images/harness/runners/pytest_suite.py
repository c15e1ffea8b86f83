"""Run pytest over the suite's modules, in the submission's process or in another.

Starting pytest costs 190 ms; a fork taken from inside a started session, with its plugins
registered and its builtin fixtures parsed, costs 9 ms. So the zygote lives in the collection
hook of a session, and each run's process returns from that hook to collect its own files.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from sandbox_images.harness.confinement import WORK, Run
from sandbox_images.harness.runners import judging, loading
from sandbox_images.harness.runners.branching import Branching
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.runners.recorder import Recorder
from sandbox_images.harness.split.judge import Judge
from sandbox_images.harness.split.proxies import SolutionModule
from sandbox_images.harness.split.scope import Scope
from sandbox_images.harness.split.told import Loaded

_BASE_ARGS = (
    f"--rootdir={WORK}",
    "--capture=no",
    "-c/dev/null",
    "-pno:cacheprovider",
    "-pno:faulthandler",
    "-pno:logging",
    "-pno:terminal",
)


def serve_from_session(wait_for_run: Callable[[], Run]) -> NoReturn:
    """Start a pytest session and be a zygote inside it; never returns.

    Args:
        wait_for_run: Carries out orders, and returns in the processes that it forks for runs.
    """
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest.main([*_BASE_ARGS], plugins=[_Session(wait_for_run)])
    os._exit(0)


class _Session:
    """The plugin of the zygote's session."""

    def __init__(self, wait_for_run: Callable[[], Run]) -> None:
        self._wait_for_run = wait_for_run

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Wait here as the zygote; go on as a run's process."""
        run = self._wait_for_run()
        reporter = Reporter(run.report)
        payload = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
        sys.path.insert(0, WORK)
        conversation = None
        if run.program == "judge_pytest":
            conversation = _import_from_candidate(run, reporter)
        elif loading.compile_source(run.bundle, reporter) is None:
            os._exit(0)
        plugins: list[object] = [_recorder(run, reporter, conversation)]
        if conversation is not None:
            plugins.append(Branching(conversation, reporter.emit, wanted=payload["branch"]))
        paths = [f"{WORK}/{path}" for path in payload["test_paths"]]
        max_failures = 1 if payload["stop_early"] else 0
        if _needs_own_session(run, payload):
            os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
            arguments = [*_BASE_ARGS, f"--maxfail={max_failures}", *payload["args"], *paths]
            pytest.main(arguments, plugins=plugins)
            os._exit(0)
        session.config.args[:] = paths
        session.config.option.maxfail = max_failures
        for plugin in plugins:
            session.config.pluginmanager.register(plugin)


def _recorder(run: Run, reporter: Reporter, conversation: Judge | None) -> Recorder:
    source_path = loading.path_of(run.bundle)

    def settle(outcome: dict[str, str]) -> dict[str, str]:
        return outcome if conversation is None else judging.spoil(conversation, outcome)

    return _LastRecorder(reporter.emit, lambda e: describe(e, source_path), settle)


def _import_from_candidate(run: Run, reporter: Reporter) -> Judge:
    """Have tests that import the submission get proxies of what another process holds."""
    sources = [
        content.decode("utf-8", "replace")
        for path, content in run.bundle.files.items()
        if path.endswith(".py")
    ]
    conversation = judging.connect(run, sources, reporter)
    loaded = judging.load(conversation, reporter)
    if loaded is None:
        judging.end(0)
    scope = Scope(sources, conversation.named)
    name = loading.module_name(run.bundle.source_path)
    sys.meta_path.insert(0, _SubmissionFinder(name, conversation, loaded, scope))
    return conversation


class _SubmissionFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the submission's module, and only that, in the candidate's process."""

    def __init__(
        self, name: str, judge: Judge, loaded: Loaded | BaseException, scope: Scope
    ) -> None:
        self._name = name
        self._judge = judge
        self._loaded = loaded
        self._scope = scope

    def find_spec(
        self, fullname: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Claim the submission's name."""
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> SolutionModule:
        """Return the proxy of the module, or raise what the submission raised when it loaded."""
        if isinstance(self._loaded, BaseException):
            raise self._loaded
        star = self._scope.of_star_import(self._loaded.public)
        return SolutionModule(self._judge, self._name, star)

    def exec_module(self, _module: Any) -> None:
        """Do nothing: the candidate has executed it."""


def _needs_own_session(run: Run, payload: dict[str, Any]) -> bool:
    """Tell whether the suite must be there when a session starts: it defines options or hooks."""
    return bool(payload["args"]) or any(
        path.rpartition("/")[2] == "conftest.py" for path in run.bundle.files
    )


class _LastRecorder(Recorder):
    """Ends the process with the session."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> NoReturn:
        """Report the end and leave at once, since tearing a session down costs time."""
        super().pytest_sessionfinish(exitstatus)
        judging.end(0)
