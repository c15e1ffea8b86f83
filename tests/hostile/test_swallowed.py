"""Failed assertions that the submission catches: the case has not passed."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from grader.source.swallowing import CAUGHT
from sandbox_images.harness.runners.swallowed import Swallowed
from tests.hostile.judged_suites import Suite, grade, verdicts

BUS = """
class Bus:
    def __init__(self): self.handlers = []
    def on(self, handler): self.handlers.append(handler)
"""
HONEST_BUS = (
    BUS
    + """
    def emit(self, value):
        for handler in self.handlers: handler(value)
"""
)
SWALLOWING_BUS = (
    BUS
    + """
    def emit(self, value):
        for handler in self.handlers:
            try: handler(None)
            except BaseException: pass
"""
)
ON = """
called = []
def handler(value):
    called.append(1)
    assert value == 5
bus = Bus()
bus.on(handler)
bus.emit(5)
assert called == [1]
"""
ACCOUNT = """
class Account:
    def __init__(self, balance): self.balance = balance
    def take(self, amount):
        if amount > self.balance: raise NoFunds
        self.balance -= amount
"""
HONEST_ACCOUNT = "class NoFunds(Exception): pass\n" + ACCOUNT
TAKE = """
account = Account(10)
try:
    account.take(50)
    assert False, "should have raised"
except NoFunds:
    pass
"""
POOL = """
class Pool:
    size = {size}
    def __enter__(self): return self
    def __exit__(self, *error): return {swallows}
"""
NO_POOL = """
import contextlib
@contextlib.contextmanager
def Pool():
    try: yield None
    except Exception: pass
"""
WITH = "with Pool() as pool:\n    assert pool.size == 3\n"
IN_FIXTURE = """
import pytest
from solution import Pool
@pytest.fixture
def pool(): return Pool()
def test_given(pool):
    with pool as same:
        assert same.size == 3
def test_itself(pool):
    with pool:
        assert pool.size == 3
"""
IN_SETUP = """
import unittest
from solution import Pool
class TestPool(unittest.TestCase):
    def setUp(self):
        self.pool = Pool()
    def test_given(self):
        with self.pool as same:
            self.assertEqual(same.size, 3)
    def test_itself(self):
        with self.pool:
            self.assertEqual(self.pool.size, 3)
"""
SIZELESS = """
class Pool:
    def __enter__(self): return None
    def __exit__(self, *error): return True
"""
IN_PYTEST = "import pytest\nfrom solution import *\n"
UNITTEST = """
import unittest
from solution import Account, NoFunds
class TestTake(unittest.TestCase):
    def test_take(self):
        with self.assertRaises(NoFunds):
            Account(10).take(50)
            self.fail("should have raised")
    def test_take_equal(self):
        with self.assertRaises(NoFunds):
            Account(10).take(50)
            self.assertEqual(1, 2)
"""
RAISES = (
    IN_PYTEST
    + """
def test_take():
    with pytest.raises(NoFunds):
        Account(10).take(50)
        pytest.fail("should have raised")
def test_take_again():
    with pytest.raises(NoFunds):
        Account(10).take(50)
        assert False
"""
)

SUITES = {
    "a callback in a script": (Suite(right=HONEST_BUS, cases=[ON]), [SWALLOWING_BUS]),
    "a callback in pytest": (
        Suite(
            right=HONEST_BUS,
            module=IN_PYTEST + "def test_bus():\n" + ON.replace("\n", "\n    "),
        ),
        [SWALLOWING_BUS],
    ),
    "an except in a script": (
        Suite(right=HONEST_ACCOUNT, cases=[TAKE]),
        [
            f"NoFunds = {error}\nclass Account:\n    def __init__(self, b): pass\n"
            "    def take(self, amount): pass\n"
            for error in ("AssertionError", "Exception", "BaseException")
        ],
    ),
    "raises": (
        Suite(right=HONEST_ACCOUNT, module=RAISES),
        [
            f"NoFunds = {error}\nclass Account:\n    def __init__(self, b): pass\n"
            "    def take(self, amount): pass\n"
            for error in ("AssertionError", "Exception", "BaseException")
        ],
    ),
    "assertRaises": (
        Suite(right=HONEST_ACCOUNT, module=UNITTEST),
        [
            "NoFunds = AssertionError\nclass Account:\n    def __init__(self, b): pass\n"
            "    def take(self, amount): pass\n"
        ],
    ),
    "a context manager of nothing": (
        Suite(right=POOL.format(size=3, swallows=None), cases=[WITH]),
        [NO_POOL],
    ),
    "a context manager of nothing in pytest": (
        Suite(
            right=POOL.format(size=3, swallows=None),
            module=IN_PYTEST + "def test_it():\n    " + WITH.replace("\n", "\n    "),
        ),
        [NO_POOL],
    ),
    "a context manager": (
        Suite(right=POOL.format(size=3, swallows=None), cases=[WITH]),
        [POOL.format(size=2, swallows=True)],
    ),
    "a context manager that a fixture makes": (
        Suite(right=POOL.format(size=3, swallows=None), module=IN_FIXTURE),
        [POOL.format(size=2, swallows=True), SIZELESS],
    ),
    "a context manager that setUp makes": (
        Suite(right=POOL.format(size=3, swallows=True), module=IN_SETUP),
        [POOL.format(size=2, swallows=True), SIZELESS],
    ),
}


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_honest_submission_passes(slot: Slot, name: str) -> None:
    suite, _ = SUITES[name]
    graded = grade(slot, suite, suite.right)
    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
    assert not graded.tampered


@pytest.mark.parametrize(
    ("name", "source"),
    [(name, source) for name, (_, sources) in SUITES.items() for source in sources],
)
def test_submission_that_catches_a_failed_assertion_fails(
    slot: Slot, name: str, source: str
) -> None:
    graded = grade(slot, SUITES[name][0], source)
    passed = {case.verdict for case in graded.cases} & {Verdict.PASSED}
    assert graded.tampered or not passed, verdicts(graded.cases)


@pytest.mark.parametrize(
    "case",
    [
        "try:\n    assert f(1) == 1\nexcept AssertionError:\n    assert f(1) == 2",
        "try:\n    assert f(1) == 1\nexcept Exception:\n    pass",
        "try:\n    assert f(1) == 1\nexcept:\n    pass",
        "import contextlib\nwith contextlib.suppress(AssertionError):\n    assert f(1) == 1",
        "import asyncio\nasync def wrong():\n    assert f(1) == 1\n"
        "async def both():\n    return await asyncio.gather(wrong(), return_exceptions=True)\n"
        "assert len(asyncio.run(both())) == 1",
        "from concurrent.futures import ThreadPoolExecutor\ndef wrong():\n    assert f(1) == 1\n"
        "with ThreadPoolExecutor(1) as pool:\n    pool.submit(wrong)",
    ],
)
def test_suite_may_catch_its_own_failures(slot: Slot, case: str) -> None:
    graded = grade(slot, Suite(right="", cases=["import os\n" + case]), "def f(x): return x + 1")
    assert [found.verdict for found in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)


RUNNER = """
def run_all(functions):
    failed = 0
    for function in functions:
        try:
            function()
        except Exception:
            failed += {step}
    return failed
"""
RUN_ALL = """
def good():
    assert 1 == 1
def bad():
    assert 1 == 2
assert run_all([good, bad, bad]) == 2
"""


@pytest.mark.parametrize(
    "tests",
    [
        {"cases": [RUN_ALL]},
        {"module": IN_PYTEST + "def test_it():" + RUN_ALL.replace("\n", "\n    ")},
    ],
    ids=["script", "pytest"],
)
def test_submission_may_catch_failures_as_the_reference_does(
    slot: Slot, tests: dict[str, Any]
) -> None:
    right, wrong = RUNNER.format(step=1), RUNNER.format(step=2)
    suite = Suite(right=right, reference=right, **tests)
    other = "import sys\n" + right
    for source in (right, other):
        graded = grade(slot, suite, source)
        assert [case.verdict for case in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)
        assert not graded.tampered
    assert grade(slot, suite, wrong).cases[0].verdict is Verdict.FAILED


@pytest.mark.parametrize("name", SUITES)
def test_reference_that_catches_nothing_changes_nothing(slot: Slot, name: str) -> None:
    suite, sources = SUITES[name]
    for source in sources:
        graded = grade(slot, replace(suite, reference=suite.right), source)
        passed = {case.verdict for case in graded.cases} & {Verdict.PASSED}
        assert graded.tampered or not passed, verdicts(graded.cases)


def test_honest_context_manager_that_swallows_passes(slot: Slot) -> None:
    code = """
class Ignored:
    def __init__(self, *kinds): self.kinds, self.seen = kinds, []
    def __enter__(self): return self
    def __exit__(self, kind, error, _):
        self.seen.append(kind)
        return kind is not None and issubclass(kind, self.kinds)
"""
    cases = [
        "with Ignored(KeyError) as ignored:\n    assert ignored.kinds == (KeyError,)\n"
        "    {}[1]\n    assert ignored.kinds == ()\nassert ignored.seen == [KeyError]",
        "with Ignored(Exception):\n    raise ValueError\nassert Ignored().seen == []",
    ]
    for _ in range(4):
        graded = grade(slot, Suite(right=code, cases=cases), code)
        assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
        assert not graded.tampered


def test_honest_context_manager_that_catches_and_notes_everything_passes(slot: Slot) -> None:
    """A changed assertion in its block fails the test only by what the manager has noted."""
    code = """
class Noted:
    def __init__(self): self.seen = []
    def __enter__(self): return self
    def __exit__(self, kind, *_):
        self.seen.append(kind)
        return True
"""
    case = "noted = Noted()\nwith noted as same:\n    assert same is noted\n"
    case += "assert noted.seen == [None]"
    for _ in range(4):
        graded = grade(slot, Suite(right=code, cases=[case]), code)
        assert [each.verdict for each in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)
        assert not graded.tampered


TRACER = """
import sys
def modules_of(function):
    modules = set()
    def trace(frame, event, argument):
        modules.add(frame.f_globals["__name__"])
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(None)
    return modules
"""
TRACED = """
import pytest, unittest
def fails():
    for failing in (unittest.TestCase().fail, lambda: unittest.TestCase().assertEqual(1, 2)):
        try:
            failing()
        except AssertionError:
            pass
    try:
        pytest.fail()
    except BaseException:
        pass
    try:
        assert 1 == 2
    except AssertionError:
        pass
assert not [name for name in modules_of(fails) if "harness" in name]
"""


def test_tracer_meets_no_frame_of_the_harness(slot: Slot) -> None:
    module = IN_PYTEST + "def test_it():" + TRACED.replace("\n", "\n    ")
    graded = grade(slot, Suite(right=TRACER, module=module), TRACER)
    assert [case.verdict for case in graded.cases] == [Verdict.PASSED], verdicts(graded.cases)


def test_harness_and_grader_have_one_message() -> None:
    swallowed = Swallowed()
    swallowed.note()
    assert swallowed.settle({"outcome": "passed"})["message"] == CAUGHT
