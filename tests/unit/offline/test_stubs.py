import asyncio
from typing import Any

import pytest

from grader.offline.stubs import Stub, stub_of, stub_program

SOLUTION = '''
"""A solution."""
from __future__ import annotations
import functools
from dataclasses import dataclass

LIMIT = 7
first, second = 1, 2
total: int = 3

print("work")
for number in range(3):
    print(number)

@functools.lru_cache
def add(a: int, b: int = 2, *rest, key=None) -> int:
    return a + b

async def fetch():
    return 1

def count():
    yield 1

class Base(ValueError):
    kind = "base"
    def __init__(self, name):
        super().__init__(name)
        self.name = name
    def __new__(cls, name):
        raise RuntimeError

class Stack(Base):
    @property
    def size(self):
        return 1
    @size.setter
    def size(self, value):
        raise ValueError
    @staticmethod
    def make(x):
        return x
    @classmethod
    def of(cls, x):
        return cls(x)
    def push(self, x):
        raise ValueError

class Items(list):
    pass

@dataclass
class Point:
    x: int
    y: int = 2
'''


def load(stub: Stub, source: str = SOLUTION) -> dict[str, Any]:
    text = stub_of(source, stub)
    assert text is not None
    namespace: dict[str, Any] = {"__name__": __name__}  # dataclasses look their module up
    exec(compile(text, "solution.py", "exec"), namespace)  # noqa: S102 - stubs of the text above
    return namespace


@pytest.mark.parametrize("stub", list(Stub))
def test_stub_does_nothing_under_every_name(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    made = load(stub)
    stack = made["Stack"]("name")
    stack.size = 3
    answers = [
        made["LIMIT"],
        made["total"],
        made["add"](1, 2, 3, key=4),
        asyncio.run(made["fetch"]()),
        made["count"](),
        made["Base"].kind,
        stack.size,
        made["Stack"].make(1),
        made["Stack"].of(1),
        stack.push(1),
        made["Point"](1).y,
    ]
    assert all(answer is answers[0] for answer in answers)
    assert (answers[0] is None) == (stub is Stub.NOTHING)
    assert isinstance(stack, ValueError)
    assert not isinstance(made["Items"]([1]), list)
    assert not hasattr(made["Point"](1), "x")
    assert capsys.readouterr().out == ""


def test_odd_answer_equals_nothing_else_and_is_true() -> None:
    odd = load(Stub.ODD)["add"](1)
    assert odd
    assert odd not in (None, True, 1, "", [], object())


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "(" * 10_000])
def test_solution_that_does_not_parse_has_no_stub(source: str) -> None:
    assert stub_of(source, Stub.NOTHING) is None


def test_solution_without_a_name_has_an_empty_stub() -> None:
    assert stub_of("print(1)", Stub.NOTHING) == "\n"


def test_programs_differ_in_what_they_print() -> None:
    assert stub_program(Stub.NOTHING) != stub_program(Stub.ODD)
