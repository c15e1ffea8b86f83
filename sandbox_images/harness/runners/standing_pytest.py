"""Judge one pytest suite after another in the same session.

The grader makes sure that only suites come here that leave the process as they found it. What
pytest itself remembers of a suite is put back after each. Then all that a suite could have changed
is compared with how it was before the first. If anything differs, the judge is replaced.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes an enum of every handler
import atexit
import contextlib
import gc
import importlib
import json
import linecache
import logging
import os
import shutil
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook
from _pytest.fixtures import FixtureDef
from _pytest.main import wrap_session

from sandbox_images.harness.lock_in.confinement import WORK, ConfinedRun
from sandbox_images.harness.runners import judging, pytest_suite, standing
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.runners.loading import path_of
from sandbox_images.harness.runners.recorder import Recorder
from sandbox_images.harness.split.judge import Refused

_MODULES_OF_TESTS = "cmath statistics".split()
"""Modules that tests may import and that zygotes lack. A judge that imports others is replaced."""
_REHEARSAL = b"""\
import unittest
import pytest

@pytest.fixture
def three():
    return 3

@pytest.mark.parametrize("thing", ["one", 2.5])
def test_passes(thing, three):
    with pytest.raises(ValueError, match="three"):
        int("three")
    assert thing != pytest.approx(three)

def test_is_not_equal():
    assert {"three": ["three"]} == {"four": pytest.approx(4.0)}

class TestFails(unittest.TestCase):
    def test_fails(self):
        with self.subTest(three=3):
            self.assertEqual("three", "four")
        self.assertEqual({"three": 3}, {"four": 4})
"""
"""Run before the first suite. What pytest imports and remembers once is there then."""
_REHEARSAL_PATH = f"{WORK}/test_rehearsal.py"
_FOLDERS = (WORK, "/tmp", "/dev/shm")  # noqa: S108 - the process's own
_DEPTH = 3
_LAST_EXCEPTION = ("last_exc", "last_traceback", "last_type", "last_value")
"""Names in `sys` that pytest sets when a test fails."""


def serve_from_session(wait_for_run: Callable[[], ConfinedRun]) -> NoReturn:
    """Start a pytest session and be a zygote inside it; never returns.

    Args:
        wait_for_run: Carries out orders, and returns in the processes that it forks for judges.
    """
    judging.limit_digits()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in _MODULES_OF_TESTS:
        importlib.import_module(name)
    pytest.main([*pytest_suite.BASE_ARGS], plugins=[_Standing(wait_for_run)])
    os._exit(0)


class _Standing:
    """The plugin of the zygote's session."""

    def __init__(self, wait_for_run: Callable[[], ConfinedRun]) -> None:
        self._wait_for_run = wait_for_run

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Serve, which takes the place of one collection and its tests."""
        return wrap_session(config, self._serve)

    def _serve(self, config: pytest.Config, session: pytest.Session) -> NoReturn:
        recorder = _Recorder()
        config.pluginmanager.register(recorder)
        run = self._wait_for_run()

        def look() -> Callable[[], bool]:
            rehearse(session)
            before = _Before(session, _FOLDERS)
            recorder.pytests_own = before.fixtures
            gc.freeze()

            def is_unchanged() -> bool:
                before.put_back()
                return before.is_still_so() and not recorder.saw_pytests_own

            return is_unchanged

        standing.serve(run, partial(_judge, session, recorder), look)
        judging.end(0)


class _Recorder(Recorder):
    """Also notices when a suite uses a fixture of pytest's own."""

    def __init__(self) -> None:
        super().__init__()
        self.pytests_own: tuple[object, ...] = ()
        """Fixtures that no suite defines."""
        self.saw_pytests_own = False
        """Whether a test has used one of them. They lead to pytest itself."""

    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """Notice a fixture that is pytest's own."""
        if any(fixturedef is each for each in self.pytests_own):
            self.saw_pytests_own = True


def _judge(
    session: pytest.Session, recorder: _Recorder, run: ConfinedRun, reporter: Reporter
) -> None:
    """Judge a suite."""

    def tell_refused(reason: str) -> None:
        reporter.emit("refused", reason=reason)
        session.shouldstop = reason  # since the rest does not matter any more

    with judging.beginning():
        payload = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
        sys.path.insert(0, WORK)
        exchange = judging.connect(run, payload["apart"], reporter, tell_refused)
    recorder.begin(reporter.emit, partial(describe, source_path=path_of(run.bundle)))
    with contextlib.suppress(Refused):
        if pytest_suite.import_from_candidate(exchange, run, payload["apart"], reporter):
            session.config.args[:] = [f"{WORK}/{path}" for path in payload["test_paths"]]
            session.config.option.maxfail = 1 if payload["stop_early"] else 0
            _run_tests(session)
    exchange.close()


def _run_tests(session: pytest.Session) -> None:
    """Do for a suite what `wrap_session` does for a session."""
    hook = session.config.hook
    is_over = True
    try:
        hook.pytest_collection(session=session)
        hook.pytest_runtestloop(session=session)
        if session.testsfailed:
            status = pytest.ExitCode.TESTS_FAILED
        elif session.testscollected == 0:
            status = pytest.ExitCode.NO_TESTS_COLLECTED
        else:
            status = pytest.ExitCode.OK
    except session.Failed:
        status = pytest.ExitCode.TESTS_FAILED
    except session.Interrupted:  # by errors of the collection
        status = pytest.ExitCode.INTERRUPTED
    except (KeyboardInterrupt, pytest.exit.Exception):
        status, is_over = pytest.ExitCode.INTERRUPTED, False
    except BaseException:  # noqa: BLE001 - whatever it is, this session cannot be used again
        status, is_over = pytest.ExitCode.INTERNAL_ERROR, False
    hook.pytest_sessionfinish(session=session, exitstatus=status)
    if not is_over:
        judging.end(0)


def rehearse(session: pytest.Session) -> None:
    """Run a suite of our own, and put all back but the modules that pytest has imported."""
    before = _Before(session)
    path, handlers = list(sys.path), list(logging.root.handlers)
    with open(_REHEARSAL_PATH, "wb") as file:
        file.write(_REHEARSAL)
    session.config.args[:] = [_REHEARSAL_PATH]
    session.config.hook.pytest_collection(session=session)
    session.config.hook.pytest_runtestloop(session=session)
    os.unlink(_REHEARSAL_PATH)
    linecache.clearcache()
    sys.path[:] = path
    logging.root.handlers[:] = handlers  # a collection within a collection takes them away
    before.put_back()


class _Before:
    """How the process was before the first suite."""

    def __init__(self, session: pytest.Session, folders: Iterable[str] = ()) -> None:
        """Look at it, and at the folders that suites can write to."""
        config: Any = session.config
        owners = [session, session._fixturemanager, config, config.option, config.trace.root]
        owners += [each for each in sys.meta_path if isinstance(each, AssertionRewritingHook)]
        self._session = session
        self._folders = [each for each in folders if os.path.isdir(each)]
        self._kept = [_Kept(owner) for owner in owners]
        fixtures = (each for kept in self._kept for each in kept if isinstance(each, FixtureDef))
        self.fixtures = tuple(fixtures)
        """Fixtures that were there: pytest's own."""
        self._modules = dict(sys.modules)
        self._finders = list(sys.meta_path)
        self._importers = dict(sys.path_importer_cache)
        self._names = {
            name: dict(vars(module))
            for name, module in sys.modules.items()
            if type(module) is ModuleType
        }
        self._classes = {each: dict(vars(each)) for each in self._own_classes()}
        self._state = list(self._look())

    def _own_classes(self) -> Iterator[type]:
        for name, names in self._names.items():
            for value in names.values():
                if isinstance(value, type) and value.__module__ == name:
                    yield value

    def put_back(self) -> None:
        """Put back what pytest remembers of a suite, and let nothing be found of it."""
        for kept in self._kept:
            kept.put_back()
        sys.meta_path[:] = self._finders
        for name in _LAST_EXCEPTION:
            vars(sys).pop(name, None)
        sys.path_importer_cache.clear()
        sys.path_importer_cache.update(self._importers)
        for name in sys.modules.keys() - self._modules.keys():
            if _is_of_suite(sys.modules[name]):
                del sys.modules[name]
        for folder in self._folders:
            _empty(folder)

    def is_still_so(self) -> bool:
        """Tell whether the process is as it was."""
        return (
            not self._session.stash
            and not self._session._setupstate.stack
            and sys.modules == self._modules
            and all(vars(self._modules[name]) == names for name, names in self._names.items())
            and all(vars(each) == names for each, names in self._classes.items())
            and list(self._look()) == self._state
        )

    def _look(self) -> Iterator[object]:
        """Yield what no module's names show."""
        manager = self._session.config.pluginmanager
        yield set(map(id, manager.get_plugins()))
        yield [len(each.get_hookimpls()) for each in vars(manager.hook).values()]
        stash = self._session.config.stash._storage
        yield (dict(stash), [len(each) for each in stash.values() if isinstance(each, deque)])
        yield (list(sys.path), list(sys.argv), list(sys.path_hooks))
        yield (os.getcwd(), dict(os.environ), os.listdir("/proc/self/fd"))
        yield [os.listdir(folder) for folder in self._folders]
        yield list(warnings.filters)
        yield (logging.root.level, list(logging.root.handlers), logging.root.manager.disable)
        yield (list(logging.root.manager.loggerDict), list(logging.root.filters))
        yield (os.listdir("/proc/self/task"), atexit._ncallbacks())
        yield (sys.gettrace(), sys.getprofile())
        yield (gc.isenabled(), gc.get_threshold(), list(gc.callbacks), sys.getrecursionlimit())
        yield [_signal.getsignal(number) for number in range(1, _signal.NSIG)]
        yield [stream.closed for stream in (sys.stdin, sys.stdout, sys.stderr)]


def _is_of_suite(module: ModuleType) -> bool:
    """Tell whether a module is a suite's or stands for the submission."""
    spec = getattr(module, "__spec__", None)
    loader = getattr(spec, "loader", None)
    return isinstance(loader, pytest_suite.SubmissionFinder | AssertionRewritingHook)


def _empty(folder: str) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


class _Kept:
    """An object's attributes, and the containers among them with their content."""

    def __init__(self, owner: object) -> None:
        """Look at them."""
        self._attributes = vars(owner)
        self._content = [*_contents(self._attributes, _DEPTH)]

    def __iter__(self) -> Iterator[object]:
        """Yield what is in the containers."""
        for _container, content in self._content:
            yield from content.values() if isinstance(content, dict) else content

    def put_back(self) -> None:
        """Let them be as they were."""
        for container, content in self._content:
            if isinstance(container, list):
                container[:] = content
            else:
                container.clear()
                container.update(content)


def _contents(container: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    """Yield a container and those in it, down to some depth, each with a copy."""
    yield container, container.copy()
    if depth:
        for value in container.values() if isinstance(container, dict) else container:
            if type(value) in (dict, list, set):
                yield from _contents(value, depth - 1)
