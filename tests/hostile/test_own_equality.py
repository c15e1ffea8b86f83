"""Equality of the submission's own: honest if it ignores a part, forged if it ignores all."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.model.verdict import Integrity
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, passed, verdicts

ROUNDS = 8
"""Changes are chosen at random, so a bug would not show each time."""

VERSION = """
class Version:
    def __init__(self, text):
        text, _, self.build = text.partition("+")
        self.major, self.minor, self.patch = map(int, text.split("."))

    def __eq__(self, other):
        return all(getattr(self, name) == other[name] for name in ("major", "minor", "patch"))
"""
PARITY = """
class Parity:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number % 2 == other % 2
"""
SLUG = """
class Slug(str):
    def __eq__(self, other):
        return self._bare(self) == self._bare(other)

    def __hash__(self):
        return hash(self._bare(self))

    @staticmethod
    def _bare(text):
        return str.lower(text).replace("-", "").replace("_", "")
"""
BOTH_KINDS = """
class Missing(ValueError, AttributeError, KeyError):
    pass


def find(name):
    raise Missing(name)
"""
HONEST = [
    pytest.param(
        Suite(
            right=VERSION,
            cases=[
                f"assert Version('1.{n}.3+b{n}') == "
                f"{{'major': 1, 'minor': {n}, 'patch': 3, 'build': 'b{n}'}}"
                for n in range(4)
            ],
        ),
        id="a field left out",
    ),
    pytest.param(Suite(right=PARITY, cases=["assert Parity(7) == 3"]), id="a number modulo 2"),
    pytest.param(
        Suite(right=PARITY, cases=["assert Parity(7) == 3", "assert Parity(4) == 8"]),
        id="numbers modulo 2",
    ),
    pytest.param(
        Suite(right=SLUG, cases=["assert Slug('an-Old_house') == 'an_old-house'"]),
        id="a text but for some of its characters",
    ),
    pytest.param(
        Suite(
            right=BOTH_KINDS,
            module="import pytest\nfrom solution import find\n\n"
            "def test_find():\n    with pytest.raises(ValueError):\n        find('a')\n\n"
            "def test_find_again():\n    with pytest.raises(AttributeError):\n        find('b')\n",
        ),
        id="an exception of several kinds",
    ),
]


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all suites."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("suite", HONEST)
def test_honest_program_with_an_equality_of_its_own_is_confirmed(slot: Slot, suite: Suite) -> None:
    for _ in range(ROUNDS):
        graded = grade(slot, suite, suite.right)
        assert not graded.tampered
        assert passed(graded.cases) == {case.id for case in graded.cases}, verdicts(graded.cases)
        assert graded.integrity is Integrity.CONFIRMED


FORGED = [
    pytest.param(
        "class Any:\n    def __eq__(self, other): return True\ncount = lambda text: Any()",
        "assert count('abca') == 4",
        id="equals everything",
    ),
    pytest.param(
        "class Likely:\n    def __eq__(self, other): return 0 <= other < 100\n"
        "count = lambda text: Likely()",
        "assert count('abca') == 40",
        id="equals what is likely",
    ),
    pytest.param(
        "class Any:\n    def __eq__(self, other): return type(other) is tuple\n"
        "count = lambda text: Any()",
        "assert count('abca') == (2, ['b', 'c'], 1, 1)",
        id="equals any of the type",
    ),
]


@pytest.mark.parametrize(("forgery", "case"), FORGED)
def test_forged_equality_is_tampering(slot: Slot, forgery: str, case: str) -> None:
    suite = Suite(right="", cases=[case])
    assert all(grade(slot, suite, forgery).tampered for _ in range(ROUNDS))


def test_reference_tells_a_right_program_from_a_forgery(slot: Slot) -> None:
    like = "class Like(int):\n    def __eq__(self, other): return isinstance(other, list)\n"
    right = f"{like}total = sum"
    forgery = f"{like}total = lambda numbers: Any()\nclass Any:\n    __eq__ = lambda *both: True"
    suite = Suite(right=right, cases=["assert Like(3) == [1, 2]", "assert total([1, 2]) == 3"])
    known = replace(suite, reference=right)
    for _ in range(ROUNDS):
        assert grade(slot, suite, right).tampered
        assert not grade(slot, known, right).tampered
        assert grade(slot, known, forgery).tampered
