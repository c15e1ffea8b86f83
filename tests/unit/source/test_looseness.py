"""A submission that is spared strict comparisons certainly has no object that compares loosely."""

import pytest

from grader.source.looseness import combined_bases, compares_plainly

PLAIN = {
    "a function": "def add(a, b):\n    return a + b",
    "a class": "class Stack:\n    def __init__(self):\n        self.items = []\n"
    "    def __len__(self): return len(self.items)",
    "data": "from dataclasses import dataclass, field\n@dataclass\nclass Point:\n    x: int\n"
    "    tags: list = field(default_factory=list)",
    "an error of its own": "class EmptyError(ValueError):\n    pass",
    "libraries": "import math, re\nfrom collections import Counter\n"
    "from functools import lru_cache\n@lru_cache\ndef area(r): return math.pi * r ** 2",
    "a type that is asked for": "def kind(x): return type(x).__name__",
    "a module's own": "import datetime, random\nday = datetime.date(2031, 5, 17)\n"
    "def roll(): return random.randint(1, 6)",
    "a class that is asked for": "def is_text(x): return type(x) is str or type(x) in (bytes, int)",
    "what has its module's name": "import copy, datetime\n"
    "def now(): return datetime.datetime.now()\ndef same(x): return copy.copy(x)",
    "all of a module": "from math import *\ndef area(r): return pi * r ** 2",
    "classes with bases": "from abc import ABC, abstractmethod\nimport typing\n"
    "from typing import Generic, NamedTuple, TypeVar\nfrom collections import namedtuple\n"
    "T = TypeVar('T')\nclass Shape(ABC): pass\nclass Square(Shape): pass\n"
    "class Box(Generic[T]): pass\nclass Row(NamedTuple):\n    x: int\n"
    "class Point(namedtuple('Point', 'x y')): pass\nclass Bag(dict): pass\n"
    "class Drawn(typing.Protocol): pass",
    "a pattern": "def kind(x):\n    match x:\n        case complex(real=r): return r",
    "main": "def main(): pass\nif __name__ == '__main__':\n    main()",
}
NOT_PLAIN = {
    "an equality": "class Any:\n    def __eq__(self, other): return True",
    "a container of all": "class All:\n    def __contains__(self, item): return True",
    "a field that does not count": "from dataclasses import dataclass, field\n"
    "@dataclass\nclass A:\n    x: int = field(compare=False)",
    "a name that is computed": "class Any: pass\nsetattr(Any, '__' + 'eq__', lambda *both: True)",
    "a class that is made": "Any = type('Any', (), {'__' + 'eq__': lambda *both: True})",
    "a class of classes": "Any = type(int)('Any', (), {'__' + 'eq__': lambda *both: True})",
    "another name of type": "make = type\nAny = make('Any', (), {})",
    "a metaclass of a library": "from abc import ABCMeta",
    "another metaclass": "import enum\nAny = enum.EnumType",
    "a module of a module": "import random\nsystem = random._os",
    "a public module of a module": "from typing import sys",
    "another name of a module": "import typing\nt = typing\nm = t.sys",
    "an attribute that is computed": "subclasses = getattr(object, '__sub' + 'classes__')",
    "annotations that are evaluated": "from typing import get_type_hints as hints",
    "a class of a library whose equality asks other methods": "from fractions import Fraction\n"
    "class Any(Fraction):\n    def from_float(self, value): return self",
    "another name of it": "from fractions import Fraction as ABC\nclass Any(ABC): pass",
    "another name of it by assignment": "from fractions import Fraction\nclass Own: pass\n"
    "Own = Fraction\nclass Any(Own): pass",
    "an attribute that is it": "from fractions import Fraction\nclass Own:\n    ABC = Fraction\n"
    "class Any(Own.ABC): pass",
    "a set of a library": "import typing\nclass Any(typing.AbstractSet):\n"
    "    def __le__(self, other): return True",
    "a base that is computed": "class Any(make()): pass",
    "a class that an enumeration makes": "from enum import Enum\n"
    "Any = Enum('Any', {'x': 1, '__' + 'eq__': lambda *both: True}).x",
    "a metaclass that a module imports": "from typing import ABCMeta\n"
    "Any = ABCMeta('Any', (), {'__' + 'eq__': lambda *both: True})",
    "an attribute that a text names": "import string\ndef f(): pass\n"
    "g = string.Formatter().get_field('0.__globals__', (f,), {})",
    "an attribute that a pattern names": "def f(): pass\nmatch f:\n"
    "    case object(__globals__=names): pass",
    "a metaclass": "class Any(metaclass=Meta): pass",
    "an object of a library": "from unittest.mock import ANY as any_object",
    "an unknown library": "import numpy",
    "a function that copies attributes": "from functools import update_wrapper",
    "a relative import": "from . import other",
    "code in a text": "exec('x = 1')",
    "another name of that": "run = eval",
    "builtins": "__builtins__['len'] = None",
    "an attribute of a class": "object.__subclasses__()",
    "a frame": "def g():\n    yield\nf = g().gi_frame",
    "a traceback": "try: 1 / 0\nexcept Exception as e: t = e.__traceback__",
    "no Python": "def f(:",
}


@pytest.mark.parametrize("code", PLAIN.values(), ids=PLAIN)
def test_plain_submission(code: str) -> None:
    assert compares_plainly(code)


@pytest.mark.parametrize("code", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_submission_that_may_compare_loosely(code: str) -> None:
    assert not compares_plainly(code)


COMBINED = {
    "a class": "class E(KeyError, ValueError): pass",
    "a class that is made": "E = type('E', (KeyError, ValueError), {})",
    "a class that a function makes": "def make(name, *bases): return type(name, bases, {})\n"
    "E = make('E', KeyError, ValueError)",
    "a class of bases with a name": "import types\nbases = (KeyError, ValueError)\n"
    "E = types.new_class('E', bases)",
}
NOT_COMBINED = {
    "one base": "class E(KeyError): pass",
    "exceptions that are caught": "try: pass\nexcept (KeyError, ValueError): pass",
    "the class of an object": "kind = type(1)\nkinds = (KeyError, ValueError)",
    "more than an honest exception has": "E = type(\n"
    "    'E', (KeyError, ValueError, OSError, EOFError), {})",
}


@pytest.mark.parametrize("code", COMBINED.values(), ids=COMBINED)
def test_bases_of_an_exception_of_two_kinds(code: str) -> None:
    assert combined_bases(code) >= {"KeyError", "ValueError"}


@pytest.mark.parametrize("code", NOT_COMBINED.values(), ids=NOT_COMBINED)
def test_exceptions_that_no_class_derives_from_together(code: str) -> None:
    assert not combined_bases(code)
