"""The pytest plugin that gives each test, or each module, a copy of the submission of its own.

A test is on its own where no fixture of the suite's outlives it, setup methods of classes and
modules included, and where the tests' modules hold no object of the submission's. Where only a
module's fixtures do, the module is.
"""

import unittest
from collections.abc import Callable, Generator
from typing import Any

import pytest

from sandbox_images.harness.split.judge import Judge

_SUITE, _MODULE, _TEST = "suite", "module", "test"
_ORDER = (_SUITE, _MODULE, _TEST)


class Branching:
    """Reports how long a state of the submission lasts, and sees to it."""

    def __init__(self, judge: Judge, emit: Callable[..., None], *, wanted: bool) -> None:
        """Nothing is collected yet.

        Args:
            judge: The conversation with the submission.
            emit: Takes the name of an event, and its fields as keywords.
            wanted: Whether to make copies; else it is only reported how often there could be.
        """
        self._judge = judge
        self._emit = emit
        self._wanted = wanted
        self._keys: dict[pytest.Item, object] = {}
        """To which copy a test belongs; none where there is one for all."""
        self._span = _TEST
        self._last: object = None
        self._current: object = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Decide, before the first test runs."""
        spans = _spans(session)
        keys = {item: _key(item, spans[item]) for item in session.items}
        span = min(spans.values(), key=_ORDER.index, default=_TEST)
        if span != _SUITE and self._judge.branches.have_objects():
            span = _SUITE
        if self._wanted and span != _SUITE and len(set(keys.values())) > 1:
            if self._judge.can_branch():
                self._keys, self._last = keys, keys[session.items[-1]]
            else:
                span = _SUITE
        self._span = span
        self._emit("state", per=span)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, Any, Any]:
        """Have a copy serve the test, from its setup to the end of its teardown."""
        key = self._keys.get(item)
        # What comes last needs no copy: nothing follows that could be disturbed.
        if key not in (self._current, self._last):
            self._judge.branches.begin()
        self._current = key
        try:
            return (yield)
        finally:
            if self._keys and (nextitem is None or self._keys[nextitem] != key):
                self._judge.end_branch()

    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        """Give up where a test asks, while it runs, for what outlives its copy."""
        if self._keys and _ORDER.index(_span_of(fixturedef)) < _ORDER.index(self._span):
            raise self._judge.crossed()

    def pytest_sessionfinish(self) -> None:
        """Take back what was said, where the submission's process could not be copied."""
        if self._judge.branches.failed:
            self._emit("state", per=_SUITE)


def _key(item: pytest.Item, span: str) -> object:
    return item if span == _TEST else _path_of(item)


def _path_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _spans(session: pytest.Session) -> dict[pytest.Item, str]:
    """Return, for each test, how much must share a state of the submission with it."""
    spans: dict[str, str] = {}
    for item in session.items:
        path = _path_of(item)
        spans[path] = min(spans.get(path, _TEST), _span(item), key=_ORDER.index)
    if len(spans) > 1 and _SUITE in spans.values():
        return dict.fromkeys(session.items, _SUITE)
    return {item: _TEST if spans[_path_of(item)] == _TEST else _MODULE for item in session.items}


def _span(item: pytest.Item) -> str:
    """Return what shares a state of the submission by the fixtures that a test is known to use."""
    known: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    spans = [_span_of(each) for definitions in known.values() for each in definitions]
    return min([*spans, _MODULE if _sets_up_class(item) else _TEST], key=_ORDER.index)


def _span_of(definition: Any) -> str:
    """Return what shares a state of the submission by a fixture; the library's own have none."""
    name = definition.argname
    # Every class of unittest's has a fixture; see `_sets_up_class`.
    foreign = definition.func.__module__.partition(".")[0] != "_pytest"
    if name.startswith("_unittest_") or not (foreign or name.startswith("_xunit_")):
        return _TEST
    return {"function": _TEST, "class": _MODULE, "module": _MODULE}.get(definition.scope, _SUITE)


def _sets_up_class(item: pytest.Item) -> bool:
    """Tell whether a test belongs to a class of unittest's that is set up as a whole."""
    kind = getattr(item, "cls", None)
    if kind is None or not issubclass(kind, unittest.TestCase):
        return False
    return any(
        getattr(kind, name).__func__ is not getattr(unittest.TestCase, name).__func__
        for name in ("setUpClass", "tearDownClass")
    )
