"""A submission that remembers its earlier runs does not know which expectations are right.

In the fake sandbox all runs share this process, so a submission can count them and keep what they
expected. In a real one it can use what the kernel counts for the whole machine, or clocks.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model import TestSuite
from grader.model.verdict import Integrity, Verdict
from grader.running.judged import run_judged
from grader.running.references import References
from grader.running.task import Graded, Task
from grader.sandbox.contract import Sandbox, Slot
from tests.fake.backend import FakeSandbox
from tests.hostile.judged_suites import LIMITS, Suite, grade, passed

COUNTING = """
import sys
sys.counted_runs += 1
class Any:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return sys.counted_runs in {lies}
square = Any
"""
"""Lies in some of the runs."""
KEEPING = """
import sys
class Any:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return other == sys.expected.setdefault(self.number, [other])[0]
square = Any
"""
"""Takes the first value that a case has ever expected for the right one."""
SEEING = """
seen = []
class Square(int):
    def __eq__(self, other):
        is_equal = int.__eq__(self, other)
        if not is_equal:
            seen.append(other)
        return is_equal
class Any:
    def __eq__(self, other):
        return not seen
def square(number):
    return Square(number * number) if number != 21 else Any()
"""
"""Right for all numbers but one, and lies for that one unless it sees another case fail."""
RIGHT = """
import sys
class Square(int):
    def __eq__(self, other):
        sys.expected.setdefault(int(self) ** 0.5, []).append(other)
        return int.__eq__(self, other)
def square(number):
    return Square(number * number)
"""


def suite_of(*numbers: int) -> Suite:
    """Return a suite that needs more of the submission than plain data."""
    cases = [f"square.__name__\nassert square({n}) == {n * n}" for n in numbers]
    return Suite(right="", cases=cases)


ONE, TWO, MANY = suite_of(3), suite_of(2, 3), suite_of(*range(2, 22))
GUESSES = pytest.mark.parametrize(("suite", "one_of"), [(ONE, 6), (TWO, 9), (MANY, 2**20)])


@pytest.fixture
def slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot]:
    """A slot in which runs are counted and expected values kept."""
    monkeypatch.setattr(sys, "counted_runs", 0, raising=False)
    monkeypatch.setattr(sys, "expected", {}, raising=False)
    with closing(FakeSandbox().open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.fixture(scope="module")
def jail(native_sandbox: Sandbox) -> Iterator[Slot]:
    """A real slot, which runs pytest faster than this process does."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


def count_paid(slot: Slot, suite: Suite, code: str, tries: int) -> int:
    """Count how often some case of a forgery passes."""
    paid = 0
    for _ in range(tries):
        sys.counted_runs = 0  # type: ignore[attr-defined]
        sys.expected = {}  # type: ignore[attr-defined]
        graded = grade(slot, suite, code)
        paid += not graded.tampered and passed(graded.cases) == {c.id for c in graded.cases}
    return paid


@pytest.mark.parametrize(
    "code", [*(COUNTING.format(lies=lies) for lies in ([1], [2], [1, 2], [6])), KEEPING]
)
@GUESSES
def test_memory_of_earlier_runs_leaves_a_guess_among_the_values(
    slot: Slot, suite: Suite, one_of: int, code: str
) -> None:
    tries = 40
    expected = tries / one_of
    # More than this has a probability of about 1e-7 if each guess is right once in `one_of`.
    assert count_paid(slot, suite, code, tries) <= expected + 6 * expected**0.5 + 2


@GUESSES
def test_right_program_is_confirmed_in_runs_that_expect_each_value_equally_often(
    slot: Slot, suite: Suite, one_of: int
) -> None:
    graded = grade(slot, suite, RIGHT)
    assert (graded.tampered, graded.integrity) == (False, Integrity.CONFIRMED)
    assert all(case.verdict is Verdict.PASSED for case in graded.cases)
    runs = {6: 6, 9: 3}.get(one_of, 2)
    for number, values in sys.expected.items():  # type: ignore[attr-defined]
        in_line_up, last = values[:runs], values[runs:]
        assert number**2 in in_line_up
        assert set(Counter(in_line_up).values()) == {1}
        assert len(in_line_up) == runs
        assert number**2 in last  # strict comparisons compare with others, too


def test_cases_that_a_liar_has_guessed_are_not_paid_either(slot: Slot) -> None:
    """Half of the guesses are right, which must not be half of the score."""
    for _ in range(5):
        sys.counted_runs = 0  # type: ignore[attr-defined]
        graded = grade(slot, MANY, COUNTING.format(lies=[1]))
        assert graded.tampered or not passed(graded.cases)


def test_cases_that_a_liar_has_guessed_in_a_later_line_up_are_not_paid_either(slot: Slot) -> None:
    """Failures that stand for several exceptions leave most cases unsure after two runs."""
    unsure = "if sys.counted_runs < 3:\n            raise ExceptionGroup('', [ValueError()])"
    code = COUNTING.replace("return", f"{unsure}\n        return").format(lies=[3, 6, 9])
    counts = []
    for _ in range(8):
        sys.counted_runs = 0  # type: ignore[attr-defined]
        counts.append(len(passed(grade(slot, MANY, code).cases)))
    assert sum(counts) <= len(counts)


def test_seeing_other_cases_fail_does_not_tell_what_is_changed(slot: Slot) -> None:
    # The last case is changed together with all others, so that nothing is seen, 1 in 2**19 times.
    graded = grade(slot, MANY, SEEING)
    assert graded.tampered or graded.cases[-1].verdict is Verdict.FAILED


# ---------------------------------------------------------------- honest programs

REGISTRY = """
known = {}
class Account:
    def __init__(self, name, balance):
        if name in known:
            raise ValueError(name)
        self.name, self.balance = name, balance
        known[name] = self
    def close(self):
        del known[self.name]
"""
"""Keeps state that a test which ends early leaves behind."""


def registry_suite(count: int) -> Suite:
    """Return a suite of which each test fails if the one before it ended early."""
    return Suite(
        right=REGISTRY,
        cases=[
            f"account = Account('a', {n})\nassert account.balance == {n}\naccount.close()"
            for n in range(10, 10 + count)
        ],
    )


@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_right_program_that_changed_cases_disturb_passes(slot: Slot, count: int) -> None:
    suite = registry_suite(count)
    for _ in range(10):
        graded = grade(slot, suite, REGISTRY)
        assert not graded.tampered
        assert len(passed(graded.cases)) == count
        assert graded.integrity is Integrity.CONFIRMED


@pytest.mark.parametrize("wrong", [[0], [1], [4], [0, 3], [0, 1, 2, 3, 4]])
def test_wrong_cases_fail_among_those_that_are_disturbed(slot: Slot, wrong: list[int]) -> None:
    numbers = [10 + index for index in wrong]
    code = REGISTRY.replace("name, balance\n", f"name, balance + (balance in {numbers})\n", 1)
    suite = registry_suite(5)
    # In plain Python, a case that fails leaves its account behind, so that all others fail.
    right = {str(n) for n in range(wrong[0])}
    for _ in range(25):
        graded = grade(slot, suite, code)
        assert not graded.tampered
        assert passed(graded.cases) == right


COUNTER = """
count = 0
class Ticket:
    def __init__(self):
        global count
        count += 1
        self.number = count
"""


def test_state_that_a_changed_case_leaves_behind_is_no_forgery(slot: Slot) -> None:
    """A later case may get just the value that its changed form expects."""
    cases = [f"assert Ticket().number == {n}\nassert Ticket().number == {n + 1}" for n in (1, 3, 5)]
    suite = Suite(right=COUNTER, cases=cases)
    for _ in range(40):
        graded = grade(slot, suite, COUNTER)
        assert not graded.tampered
        assert len(passed(graded.cases)) == len(cases)


LOCK = """
class Lock:
    held = False
    def take(self):
        was_held, Lock.held = Lock.held, True
        return not was_held
    def free(self):
        Lock.held = False
"""
LOCK_CASES = [
    "lock = Lock()\nassert lock.take() is True\nassert lock.take() is False\nlock.free()",
    "lock = Lock()\nassert lock.take() is True\nlock.free()",
    "lock = Lock()\nassert Lock.held is False\nassert lock.take() is True\nlock.free()",
    "assert Lock.held is False",
]


CHECKED_LATER = [
    "assert Lock.held is False"
    if n % 2
    else "lock = Lock()\nassert lock.take() is True\nlock.free()"
    for n in range(8)
]


@pytest.mark.parametrize("cases", [LOCK_CASES[1:], CHECKED_LATER])
def test_right_program_passes_though_what_is_left_behind_looks_like_a_guess(
    slot: Slot, cases: list[str]
) -> None:
    """In a run a case passes where it is changed, and in another it fails unchanged."""
    for _ in range(25):
        graded = grade(slot, Suite(right=LOCK, cases=cases), LOCK)
        assert not graded.tampered
        assert len(passed(graded.cases)) == len(cases)
        assert graded.integrity is Integrity.CONFIRMED


def test_reference_tells_state_that_a_changed_case_leaves_behind_from_a_guess(slot: Slot) -> None:
    """In a run the last case passes where it is changed, and in another it fails unchanged."""
    suite = Suite(right=LOCK, cases=LOCK_CASES, reference=LOCK)
    for _ in range(25):
        graded = grade(slot, suite, "# Right.\n" + LOCK)
        assert not graded.tampered
        assert len(passed(graded.cases)) == len(LOCK_CASES)
    wrong = LOCK.replace("return not was_held", "return True")
    for _ in range(10):
        graded = grade(slot, suite, wrong)
        assert not graded.tampered
        assert passed(graded.cases) <= {"1", "2", "3"}


def test_wrong_program_that_meets_a_changed_value_has_failed(slot: Slot) -> None:
    code = "class Flag:\n    pass\ndef is_even(n): return n % 2 == 1"
    cases = [f"is_even.__name__\nassert is_even({n}) is {n % 2 == 0}" for n in range(6)]
    for _ in range(5):
        graded = grade(slot, Suite(right="", cases=cases), code)
        assert not graded.tampered
        assert not passed(graded.cases)


class CountingSlot:
    """A slot that counts its runs."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self.runs = 0

    def run(self, batch: object) -> object:
        """Run a batch."""
        self.runs += 1
        return self._slot.run(batch)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("", 1),
        ("def square(n): return missing", 1),
        ("class Square(int): ...\ndef square(n): return Square(n * n)", 3),
        ("class Square(int): ...\ndef square(n): return Square(n * n + 1)", 2),
        ("class Square(int): ...\ndef square(n): return Square(n * n + 1000 * (n > 10))", 5),
        # Returns what changed cases expect more often than other wrong programs.
        ("class Square(int): ...\ndef square(n): return Square(n * n + (n > 10))", 13),
    ],
)
def test_how_many_runs_a_verdict_takes(slot: Slot, code: str, most: int) -> None:
    counts = []
    for _ in range(15):
        counting = CountingSlot(slot)
        assert not grade(counting, MANY, code).tampered  # type: ignore[arg-type]
        counts.append(counting.runs)
    # By chance, a wrong program can meet several changed values.
    assert sorted(counts)[10] <= most


def test_rows_that_the_source_does_not_tell_are_run_as_they_are(jail: Slot) -> None:
    module = (
        "import pytest\nfrom solution import square\n\n"
        "@pytest.fixture(params=[1, 2])\ndef times(request):\n    return request.param\n\n"
        "@pytest.mark.parametrize('n, want', [(2, 4), (3, 9)])\n"
        "def test_square(n, want, times):\n    assert square(n) == want\n\n"
        "def test_name():\n    assert square.__name__ == 'square'\n"
    )
    suite = Suite(right="", module=module)
    graded = grade(jail, suite, "def square(n): return n * n")
    assert len(passed(graded.cases)) == len(graded.cases) == 5
    assert graded.integrity is Integrity.SHARED
    wrong = grade(jail, suite, "def square(n): return n")
    assert passed(wrong.cases) == {"test_solution.py::test_name"}


def test_report_of_a_failure_has_the_suite_as_it_is(jail: Slot) -> None:
    module = (
        "import pytest\nfrom solution import square\n\n"
        "@pytest.mark.parametrize(('n', 'want'), [(2, 4), (3, 9), (5, 25)])\n"
        "def test_square(n, want):\n    assert square(n) != 'x'\n    assert square(n) == want\n"
    )
    ids = {f"test_solution.py::test_square[{n}-{n * n}]" for n in (2, 3, 5)}
    for code in ("class N(int): ...\ndef square(n): return N(n)", "def square(n): return missing"):
        for _ in range(6):
            graded = grade(jail, Suite(right="", module=module), code)
            assert {case.id for case in graded.cases} == ids
            for case in graded.cases:
                assert case.evidence is not None
                assert "(2, 4), (3, 9), (5, 25)" in (case.evidence.input or "")


ADDING = """
import _pytest.python
plain = _pytest.python.Metafunc.parametrize
def parametrize(self, names, values, *args, **kwargs):
    return plain(self, names, [*values, values[0]], *args, **kwargs)
_pytest.python.Metafunc.parametrize = parametrize
class Any:
    def __eq__(self, other): return True
def square(n): return Any()
"""
"""Adds a row, so that the position of a case no longer tells which row it has."""


def test_rows_that_the_submission_adds_are_not_believed(jail: Slot) -> None:
    module = (
        "import pytest\nfrom solution import square\n\n"
        "@pytest.mark.parametrize('n, want', [(2, 4), (3, 9)])\n"
        "def test_square(n, want):\n    assert square(n) == want\n"
    )
    graded = grade(jail, Suite(right="", module=module), ADDING)
    assert len(graded.cases) == 3
    assert not passed(graded.cases)


def grade_early(slot: Slot, suite: Suite, code: str) -> Graded:
    """Grade a submission until it is known that it does not pass."""
    task = Task(
        suite=TestSuite(tests=suite.tests, format="hostile"),
        code=code,
        limits=LIMITS,
        stop_early=True,
        require=None,
    )
    return run_judged(task, slot, References())


def test_cases_whose_runs_were_not_over_say_so(slot: Slot) -> None:
    suite = suite_of(2, 3, 4, 5)
    code = "class N(int): ...\ndef square(n): return N(n * n) if n != 3 else missing"
    for _ in range(10):
        first, second, *_ = grade_early(slot, suite, code).cases
        assert second.verdict is Verdict.RUNTIME_ERROR
        assert first.verdict in (Verdict.SKIPPED, Verdict.PASSED)
        if first.verdict is Verdict.SKIPPED:
            assert first.feedback in ("not run", "not confirmed, since another case had failed")


def test_what_comes_after_the_first_lost_case_is_not_run_if_grading_stops_early(
    slot: Slot,
) -> None:
    """Its runs went on, since a case may fail by a change, and a later case may have hung."""
    suite = suite_of(2, 3, 4, 5)
    code = "class N(int): ...\ndef square(n):\n    if n == 5: raise MemoryError\n    return N(n)"
    for _ in range(10):
        cases = grade_early(slot, suite, code).cases
        first = next(i for i, each in enumerate(cases) if each.verdict is not Verdict.SKIPPED)
        assert all(each.feedback == "not run" for each in cases[first + 1 :])


USES = """
import sys
class Square:
    def __init__(self, number):
        self.number = number
    def value(self):
        tests = sys._getframe(1).f_globals
        {look}
"""
SHARED = """
from solution import Square
WANT = {"three": 9, "all": [1, 4, 9]}
def want(number):
    return number * number
def test_constant():
    assert Square(3).value() == WANT["three"]
def test_all():
    assert [Square(n).value() for n in (1, 2, 3)] == WANT["all"]
def test_oracle():
    for number in range(1, 5):
        assert Square(number).value() == want(number)
"""


@pytest.mark.parametrize(
    "look",
    [
        "return tests['WANT']['three'] if self.number == 3 else tests['WANT']['all'][0]",
        "return tests['want'](self.number)",
        "tests['want'] = lambda number: 0; return 0",
        "tests['want'].__code__ = (lambda number: 0).__code__; return 0",
    ],
)
def test_values_that_the_tests_have_are_no_answers(jail: Slot, look: str) -> None:
    graded = grade(jail, Suite(right="", module=SHARED), USES.format(look=look))
    assert graded.tampered or not passed(graded.cases)


def test_right_program_passes_tests_that_share_what_they_expect(jail: Slot) -> None:
    right = USES.format(look="return self.number ** 2")
    graded = grade(jail, Suite(right="", module=SHARED), right)
    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}
    assert graded.integrity is Integrity.CONFIRMED


ROWS = """
import pytest
from solution import Half
X = ({first}, "x")
ROWS = [X, ({first}, "x"), (2, "1"), (True, "y"), ({first}, "x"), (4, "2"), (True, "y")]
@pytest.mark.parametrize("number, want", ROWS)
def test_half(number, want):
    assert Half(number).text == want
"""
HALF = """
class Half:
    def __init__(self, number):
        self.text = {None: "x", 7: "x", True: "y", 2: "1", 4: "2"}[number]
"""


@pytest.mark.parametrize("first", ["None", "7"])
def test_rows_with_equal_ids_are_numbered_as_in_the_suite_as_it_is(jail: Slot, first: str) -> None:
    module = ROWS.format(first=first)
    ids = [f"test_half[{first}-x0]", f"test_half[{first}-x1]", "test_half[2-1]"]
    ids += ["test_half[True-y0]", f"test_half[{first}-x2]", "test_half[4-2]", "test_half[True-y1]"]
    for _ in range(4):
        graded = grade(jail, Suite(right="", module=module), HALF)
        assert [case.id.partition("::")[2] for case in graded.cases] == ids
        assert graded.integrity is Integrity.CONFIRMED


STORED = """
import unittest
from solution import Box, square
class TestSquare(unittest.TestCase):
    def setUp(self):
        self.want = Box(9)
    def test_square(self):
        self.assertEqual({left}, {right})
"""
BOXES = """
class Box:
    def __init__(self, value):
        self.value = value
    def __eq__(self, other):
        return {equal}
class Other:
    def __eq__(self, other):
        return {other_equal}
def square(number):
    return {result}
"""


@pytest.mark.parametrize("poser", ["Box", "Other"])
@pytest.mark.parametrize("sides", [("self.want", "square(3)"), ("square(3)", "self.want")])
def test_object_that_equals_everything_fails_on_either_side(
    jail: Slot, sides: tuple[str, str], poser: str
) -> None:
    suite = Suite(right="", module=STORED.format(left=sides[0], right=sides[1]))
    equal = {"Box": "NotImplemented", "Other": "NotImplemented", poser: "True"}
    poses = BOXES.format(equal=equal["Box"], other_equal=equal["Other"], result="Other()")
    tries = [grade(jail, suite, poses) for _ in range(5)]
    assert any(graded.tampered or not passed(graded.cases) for graded in tries)
    same = "isinstance(other, Box) and self.value == other.value"
    right = BOXES.format(equal=same, other_equal="NotImplemented", result="Box(number * number)")
    graded = grade(jail, suite, right)
    assert passed(graded.cases)
    assert not graded.tampered


STACK = """
import math
class Stack(list):
    push = list.append
    def warn(self):
        import warnings
        warnings.warn("full", UserWarning)
        return len(self)
"""
IMPORT_STACK = "import unittest, math, pytest\nfrom solution import Stack\n"


@pytest.mark.parametrize(
    "more",
    [
        "assert stack[0] == math.floor(5.5)",
        "if stack:\n        assert stack[0] == 5",
        "for item in stack:\n        assert item > 4",
        "with pytest.warns(UserWarning):\n        assert stack.warn() == 2",
    ],
)
def test_pass_is_shared_if_an_assertion_beside_others_cannot_show_it(jail: Slot, more: str) -> None:
    test = (
        "def test_stack():\n    stack = Stack([5])\n    stack.push(6)\n    assert stack[1] == 6\n"
    )
    confirmed = Suite(right=STACK, module=IMPORT_STACK + test)
    shared = Suite(right=STACK, module=f"{IMPORT_STACK}{test}    {more}\n")

    assert grade(jail, confirmed, STACK).integrity is Integrity.CONFIRMED
    graded = grade(jail, shared, STACK)
    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}
    assert graded.integrity is Integrity.SHARED
