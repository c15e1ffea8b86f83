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
from collections.abc import Callable, Container
from functools import partial
from typing import Any, NoReturn

import pytest

from sandbox_images.harness.lock_in.confinement import WORK, ConfinedRun
from sandbox_images.harness.runners import judging, loading, looking
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.runners.recorder import Recorder
from sandbox_images.harness.runners.swallowed import Swallowed, note_in_pytest
from sandbox_images.harness.split.judge import DoesNotCompile, Judge

BASE_ARGS = (
    f"--rootdir={WORK}",
    "--capture=no",
    "-c/dev/null",
    "-pno:cacheprovider",
    "-pno:faulthandler",
    "-pno:terminal",
)
_CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Files that configure pytest, in its order."""


def serve_from_session(
    wait_for_run: Callable[[], ConfinedRun], rehearse: Callable[[pytest.Session], None]
) -> NoReturn:
    """Start a pytest session and be a zygote inside it; never returns.

    Args:
        wait_for_run: Carries out orders, and returns in the processes that it forks for runs.
        rehearse: Executes a suite of ours, so that forks share what pytest remembers of it.
    """
    judging.limit_digits()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest.main([*BASE_ARGS], plugins=[_Session(wait_for_run, rehearse)])
    os._exit(0)


class _Session:
    """The plugin of the zygote's session."""

    def __init__(
        self, wait_for_run: Callable[[], ConfinedRun], rehearse: Callable[[pytest.Session], None]
    ) -> None:
        self._wait_for_run = wait_for_run
        self._rehearse = rehearse

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Wait here as the zygote; go on as a run's process."""
        # What is the same for all runs is done here, before they are forked.
        session.config.pluginmanager.unregister(self)  # the rehearsal collects, too
        recorder = _LastRecorder()
        session.config.pluginmanager.register(recorder)
        swallowed = Swallowed()
        note_in_pytest(swallowed)
        self._rehearse(session)
        swallowed.take()
        run = self._wait_for_run()
        reporter = Reporter(run.report)
        payload = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
        sys.path.insert(0, WORK)
        if run.program == "judge_pytest":
            exchange = connect(run, payload["apart"], reporter)
            if not import_from_candidate(exchange, run, payload["apart"], reporter):
                judging.end(0)
        elif loading.compile_source(run.bundle, reporter) is None:
            os._exit(0)
        else:
            loading.precede_import(run.bundle)
            tests = [f"{WORK}/{path}" for path in run.bundle.files]
            source_path = loading.path_of(run.bundle)
            looking.watch(source_path, tests, lambda at: reporter.emit("looked", at=at))
        describe_here = partial(describe, source_path=loading.path_of(run.bundle))
        if payload["notes"]:
            recorder.begin(reporter.emit, describe_here, swallowed.settle)
        else:
            recorder.begin(reporter.emit, describe_here)
        paths = [f"{WORK}/{path}" for path in payload["test_paths"]]
        max_failures = 1 if payload["stop_early"] else 0
        options = [*configuration(WORK, run.bundle.files), *payload["args"]]
        if options or _has_conftest(run):
            os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
            arguments = [*BASE_ARGS, f"--maxfail={max_failures}", *options, *paths]
            pytest.main(arguments, plugins=[recorder])
            os._exit(0)
        session.config.args[:] = paths
        session.config.option.maxfail = max_failures


def connect(run: ConfinedRun, apart: dict[str, Any], reporter: Reporter) -> Judge:
    """Return the judge's end of the channel; a refusal ends the process."""

    def tell_refused(reason: str) -> NoReturn:
        reporter.emit("refused", reason=reason)
        judging.end(0)

    return judging.connect(run, apart, reporter, tell_refused)


def import_from_candidate(
    exchange: Judge, run: ConfinedRun, apart: dict[str, Any], reporter: Reporter
) -> bool:
    """Give tests that import the submission stand-ins for what the candidate holds.

    Returns:
        Whether the submission compiles; if not, that is reported.
    """
    found: dict[str, Any] | Exception
    try:
        found = exchange.load(apart)
    except DoesNotCompile as error:
        reporter.emit("compile_error", **error.fields)
        return False
    except Exception as error:  # noqa: BLE001 - whatever the submission raised
        found = error
    name = loading.module_name(run.bundle.source_path)
    sys.meta_path.insert(0, SubmissionFinder(name, found))
    return True


class SubmissionFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds only the submission's module, which consists of stand-ins."""

    def __init__(self, name: str, found: dict[str, Any] | Exception) -> None:
        self._name = name
        self._found = found

    def find_spec(
        self, fullname: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Claim the submission's name."""
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: Any) -> None:
        """Fill the module, or raise what the submission raised when it loaded."""
        if isinstance(self._found, Exception):
            raise self._found
        vars(module).update(self._found)


def configuration(folder: object, files: Container[str]) -> list[str]:
    """Return options by which a session reads the suite's own configuration file.

    The options that the file adds are often those of plugins which the sandbox lacks.

    Args:
        folder: Where the suite's files are.
        files: Their paths in it.
    """
    name = next((name for name in _CONFIGURATIONS if name in files), None)
    return [] if name is None else [f"-c{folder}/{name}", "-oaddopts=", "-orequired_plugins="]


def _has_conftest(run: ConfinedRun) -> bool:
    """Tell whether the suite has hooks, which a session reads when it starts."""
    return any(path.rpartition("/")[2] == "conftest.py" for path in run.bundle.files)


class _LastRecorder(Recorder):
    """Ends the process with the session."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> NoReturn:
        """Report the end and leave at once, since tearing a session down costs time."""
        super().pytest_sessionfinish(exitstatus)
        judging.end(0)
