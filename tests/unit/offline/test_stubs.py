import asyncio
from typing import Any

import pytest

from grader.offline.stubs import Recipe, stub_of

SOLUTION = '''
"""A solution."""
from __future__ import annotations
import functools
from dataclasses import dataclass

LIMIT = 7
first, second = 1, 2
total: int = 3
Alias = list[int]

print("work")
for number in range(3):
    print(number)

try:
    import absent_on_purpose as absent
except ImportError:
    pass

@functools.lru_cache
def add(a: int, b: int = LIMIT + 2, *rest, key=None) -> absent.Type:
    return a + b

double = lambda x, y=LIMIT[0]: 2 * x

async def fetch():
    return 1

def count(*numbers):
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
    def push(self, x: Alias[int]):
        raise ValueError

class Items(list):
    pass

class Special(Items):
    pass

@dataclass
class Point:
    x: int
    y: int = 2
'''

ODD = Recipe(body="return odd", value="odd", helpers="class Odd: pass\nodd = Odd()")


def load(recipe: Recipe, source: str = SOLUTION) -> dict[str, Any]:
    text = stub_of(source, recipe)
    assert text is not None
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, "solution.py", "exec"), namespace)  # noqa: S102 - stubs of the text above
    return namespace


@pytest.mark.parametrize("recipe", [Recipe(), ODD])
def test_stub_does_one_thing_under_every_name(
    recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    made = load(recipe)
    stack = made["Stack"]("name")
    stack.size = 3
    answers = [
        made["LIMIT"],
        made["total"],
        made["add"](1, 2, 3, key=4),
        made["double"](1),
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
    assert (answers[0] is None) == (recipe is not ODD)
    assert isinstance(stack, ValueError)
    assert not isinstance(made["Items"]([1]), list)
    assert not hasattr(made["Point"](1), "x")
    assert capsys.readouterr().out == ""


def test_argument_is_the_first_that_is_not_the_object() -> None:
    made = load(Recipe(body="return {argument}"))
    stack = made["Stack"]("name")
    answers = [
        made["add"](1, 2),
        made["double"](1),
        made["count"](1, 2),
        made["Stack"].make(1),
        made["Stack"].of(1),
        stack.push(1),
    ]
    assert answers == [1] * 6
    assert (made["count"](), stack.size) == (None, None)


@pytest.mark.parametrize("is_hollow", [False, True])
def test_base_comes_under_every_class_but_exceptions(is_hollow: bool) -> None:
    recipe = Recipe(helpers="class Extra:\n    x = 5", base="Extra", is_hollow=is_hollow)
    made = load(recipe)
    assert all(made[name].x == 5 for name in ("Items", "Special", "Point"))
    assert issubclass(made["Special"], made["Items"])
    assert not hasattr(made["Stack"], "x")
    assert hasattr(made["Point"], "y") is not is_hollow


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "(" * 10_000])
def test_solution_that_does_not_parse_has_no_stub(source: str) -> None:
    assert stub_of(source, Recipe()) is None


def test_solution_without_a_name_has_an_empty_stub() -> None:
    assert stub_of("print(1)", Recipe()) == "\n"
