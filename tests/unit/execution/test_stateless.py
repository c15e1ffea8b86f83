"""Which submissions keep nothing from one call to the next, and the tricks that do not pass."""

import pytest

from grader.execution.stateless import keeps_nothing

BUMP = "class A:\n    def bump(self, value):\n        self.n = value\n"
LEAK = "class A:\n    def __eq__(self, other):\n        self.other = other\n        return True\n"


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return x * x",
        "import math\nfrom collections import Counter\ndef f(x):\n    return math.pi, Counter(x)",
        "LIMIT: int = 10\nNAMES = ('a', 'b')\ndef f(x=LIMIT):\n    return x in NAMES",
        "CODES = {'a': 1, 'b': 2}\ndef f(x):\n    return CODES.get(x, 0) + CODES['a'] + len(CODES)",
        "WORDS = 'one two'.split()\ndef f():\n    return ', '.join(WORDS) + f'{WORDS}'",
        "TABLE = {c: i for i, c in enumerate('abc')}\ndef f():\n    return sorted(TABLE.items())",
        "A, B = range(2)\nSIGNS = {'+': lambda a, b: a + b}\ndef f(x):\n    return SIGNS[x](A, B)",
        "def f(items):\n    memo = {}\n    def g(n):\n        nonlocal items\n        memo[n] = 1\n"
        "        return memo\n    return g(1)",
        f"{BUMP}def f():\n    a = A()\n    a.bump(1)\n    return a",
        "class Stack:\n    SIZE = 3\n    def __init__(self):\n        self.items = []\n"
        "        self.size, self.top = 0, None\n"
        "    def push(self, x):\n        self.items.append(x)\n        self.size += 1\n"
        "    @property\n    def last(self):\n        return self.items[-1]\n"
        "    @last.setter\n    def last(self, x):\n        self.items[-1] = x\n"
        "    @classmethod\n    def of(cls, x):\n        made = cls()\n        made.push(x)\n"
        "        return made",
        "class Full(Exception):\n    pass\ndef f(x):\n    try:\n        raise Full('x')\n"
        "    except Full as error:\n        return isinstance(error, Full)",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int = 0",
        "class B:\n    def __init__(self):\n        self.x = 1\nclass C(B):\n"
        "    def __init__(self):\n        super().__init__()\n        self.y = 2",
        "def f():\n    yield 1\nasync def g():\n    return 1",
        "def f(x):\n    return x\nif __name__ == '__main__':\n    print(f(1))",
        "from typing import Optional\n"
        "def f(x: 'int', y: Optional[list[int]] = None) -> int | str:\n    return x",
        "import re, math\nWORD = re.compile('a')\nCIRCLE = 2 * math.pi\n"
        "def f(x):\n    return WORD.match(x)",
        "TOP = max(1, 2)\nLAST = max([1, 2])\nALL = sum([1, 2], 3)",
        "class Stack:\n    def max(self):\n        return max(self.items)\n"
        "    def list(self, items=()):\n        return list(items)",
    ],
)
def test_submission_without_a_state_is_proven(source: str) -> None:
    assert keeps_nothing(source)


@pytest.mark.parametrize(
    "source",
    [
        # what keeps a state as programs do
        "n = 0\ndef f():\n    global n\n    n += 1",
        "seen = []\ndef f(x):\n    seen.append(x)",
        "seen = {}\ndef f(x):\n    seen[x] = 1",
        "seen = {}\ndef f(x):\n    seen[x] += 1",
        "seen = [1]\ndef f():\n    del seen[0]",
        "rows = [[1]]\ndef f():\n    rows[0].append(1)",
        "def f(x, seen=[]):\n    seen.append(x)",
        "def f(x, *, seen={}):\n    return seen",
        "def f():\n    f.calls = 1",
        "class A:\n    n = 0\n    def g(self):\n        A.n += 1",
        "class A:\n    n = 0\n    def g(self):\n        type(self).n += 1",
        "class A:\n    n = 0\n    def g(self):\n        self.__class__.n += 1",
        "class A:\n    n = 0\n    @classmethod\n    def g(cls):\n        cls.n += 1",
        "class A:\n    items = []\n    def g(self, x):\n        self.items.append(x)",
        "class A:\n    items = []\n    def g(self, x):\n        self.items += [x]",
        "class A:\n    one = None\n    def __new__(cls):\n        return object()",
        "from functools import lru_cache\n@lru_cache\ndef f(x):\n    return [x]",
        "import functools\n@functools.cache\ndef f(x):\n    return [x]",
        "import itertools\nids = itertools.count()\ndef f():\n    return next(ids)",
        "def made():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n"
        "    return f\nf = made()",
        "def deco(g):\n    seen = []\n    return lambda x: seen.append(x)\n@deco\ndef f(x):\n"
        "    return x",
        "import random\ndef f():\n    return random.random()",
        "import time",
        "import os\ndef f():\n    os.environ['x'] = '1'",
        "import math\ndef f():\n    math.pi = 3",
        "from typing import *",
        "from string import *",
        "def f():\n    open('x', 'w')",
        "def f():\n    globals()['n'] = 1",
        "def f():\n    exec('n = 1', f.__globals__)",
        "def f():\n    setattr(f, 'n', 1)",
        "def f():\n    f.__dict__['n'] = 1",
        "def f():\n    f.__defaults__ = (1,)",
        "class M(type):\n    pass",
        "class A(metaclass=print):\n    pass",
        "for x in [1]:\n    pass",
        "x = y = [1]",
        "import json as j\ndef f():\n    j.decoder.x = 1",
        # an alias of a container
        "seen = [1]\ndef f():\n    other = seen\n    other.append(1)",
        "seen = [1]\ndef f():\n    return seen",
        "seen = [1]\ndef f():\n    list.append(seen, 1)",
        "seen = [1]\nmore = seen",
        "seen = [1]\nmore = (seen, 1)",
        "import heapq\nseen = [1]\ndef f(x):\n    heapq.heappush(seen, x)",
        "seen = [1]\ndef sorted(x):\n    x.append(1)\ndef f():\n    sorted(seen)",
        "from heapq import heapify as sorted\nseen = [2, 1]\ndef f():\n    sorted(seen)",
        "seen = [1]\nclass A:\n    def join(self, x):\n        x.append(1)\ndef f():\n"
        "    A().join(seen)",
        f"seen = [1]\n{LEAK}def f():\n    return seen == A()",
        f"seen = [1]\n{LEAK}def f():\n    return seen + A()",
        f"seen = {{'a': 1}}\n{LEAK}def f():\n    return seen.items().mapping == A()",
        "seen = [1]\ndef f(x):\n    x.more(enumerate(seen).__reduce__())",
        "def f(x: (seen := [])):\n    seen.append(x)",
        "class A:\n    seen = [1]\n    def g(self):\n        return self.seen",
        # a class or a bare function handed on, so that a `self` may be anything
        f"{BUMP}def f():\n    A.bump(f, 1)",
        f"{BUMP}def f():\n    A.bump(A, 1)",
        f"{BUMP}def g(kind):\n    kind.bump(g, 1)\ndef f():\n    g(A)",
        f"{BUMP}kind = A\ndef f():\n    kind.bump(f, 1)",
        f"{BUMP}def f():\n    A.mro()[0].bump(f, 1)",
        f"{BUMP}def f():\n    A().bump.__func__(f, 1)",
        f"{BUMP}def f():\n    A().__class__.bump(f, 1)",
        f"{BUMP}    @classmethod\n    def kind(k):\n        return k\n"
        "def f():\n    A.kind().bump(f, 1)",
        f"{BUMP}    @classmethod\n    def kind(cls):\n        return cls\n"
        "def f():\n    A.kind().bump(f, 1)",
        f"{BUMP}class B(A):\n    @classmethod\n    def g(cls, x):\n        super().bump(x, 1)\n"
        "def f():\n    B.g(f)",
        "class A:\n    @staticmethod\n    def bump(self):\n        self.n = 1\ndef f():\n"
        "    A().bump(f)",
        "class A:\n    def bump(self, other):\n        self = other\n        self.n = 1",
        "class A:\n    def bump(self, x):\n        def inner(self):\n            self.n = 1\n"
        "        inner(x)",
        "def f():\n    kept = []\n    def keep(g):\n        kept.append(g)\n        return g\n"
        "    class A:\n        @keep\n        def bump(self):\n            self.n = 1\n"
        "    kept[0](f)",
        "def f():\n    kept = []\n    class A:\n        def bump(self):\n            self.n = 1\n"
        "        kept.append(bump)\n    kept[0](f)",
        "class A:\n    def bump(self):\n        self.n = 1\n    def g(self, h=bump):\n        h(A)",
        f"{BUMP}def f():\n    try:\n        A.nothing\n    except AttributeError as error:\n"
        "        error.obj.bump(f, 1)",
        f"{BUMP}def f():\n    match A():\n        case object(__class__=kind):\n"
        "            kind.bump(f, 1)",
        f"{BUMP}class E(Exception, A):\n    pass\nclass C:\n"
        "    def __enter__(self):\n        pass\n"
        "    def __exit__(self, kind, *_):\n        kind.bump(f, 1)\n"
        "def f():\n    with C():\n        raise E",
        f"from abc import ABC\n{BUMP}class C(ABC):\n    @classmethod\n"
        "    def __subclasshook__(cls, kind):\n        kind.bump(f, 1)\n"
        "def f():\n    isinstance(A(), C)",
        f"{BUMP}class D:\n    def __get__(self, it, kind):\n        kind.bump(f, 1)",
        "from abc import ABC\nclass A(ABC):\n    pass\ndef f():\n    A.register(int)",
        f"{BUMP}class C:\n    class D(A):\n        pass\n    def g(self):\n"
        "        self.D.bump(self.D, 1)",
        # a `self` that is no longer what the method was called on
        "class A:\n    def bump(self, x):\n        match x:\n            case self:\n"
        "                self.n = 1\ndef f():\n    A().bump(f)",
        "class A:\n    def bump(self, x):\n        match x:\n            case {**self}:\n"
        "                self.n = 1",
        "class A:\n    def bump(self):\n        from dataclasses import dataclass as self\n"
        "        self.n = 1",
        "class A:\n    def bump(self):\n        try:\n            f()\n"
        "        except ValueError as self:\n            self.n = 1",
        "class A:\n    def bump(self):\n        def self():\n            pass\n        self.n = 1",
        # names that mean something else than they say
        "class re:\n    @staticmethod\n    def compile(x):\n        return [x]\n"
        "seen = re.compile(1)\ndef f(x):\n    seen.append(x)",
        "class math:\n    @property\n    def made(self):\n        return 1\nseen = math.made",
        "import itertools\ndef f():\n    import json as itertools\n"
        "    return itertools.codecs.open('x', 'w')",
        "from dataclasses import dataclass\nfrom functools import partial as dataclass\n"
        "@dataclass\nclass A:\n    pass\ndef f():\n    A.keywords['n'] = 1",
        "from dataclasses import dataclass\nclass dataclass:\n    def __init__(self, kind):\n"
        "        self.items = []\n@dataclass\nclass A:\n    pass\ndef f():\n"
        "    A.items.append(1)",
        "class K:\n    @staticmethod\n    def setter(g):\n        return [0]\n"
        "@K.setter\ndef seen():\n    pass\ndef f():\n    seen.append(1)",
        "class A:\n    def tuple(x):\n        return [x]\n    seen = tuple(1)\n"
        "    def g(self):\n        self.seen.append(1)",
        "class A:\n    def property(g):\n        return [1]\n    @property\n"
        "    def seen(self):\n        return 1\n    def g(self):\n        self.seen.append(1)",
        "class A:\n    def Exception(x):\n        return x\n    class B(Exception):\n        pass",
        "bump = 1\nclass A:\n    def bump(self):\n        self.n = 1\n"
        "    def g(self, h=bump):\n        h(f)\ndef f():\n    A().g()",
        # a container that is returned by what makes none
        "seen = sum((), [])\ndef f(x):\n    seen.append(x)",
        "seen = max([1], [2])\ndef f(x):\n    seen.append(x)",
        # annotations are executed
        "def f(x: exec('seen = [0]')):\n    return x",
        "def f(x) -> [exec('seen = [0]')][0]:\n    return x",
        "class A:\n    x: exec('seen = [0]')",
        "x: (lambda: 0)() = 1",
        # code that only seems never to run
        "__name__ = '__main__'\nseen = (1,)\nif __name__ == '__main__':\n    pass",
        "if __name__ == '__main__' or True:\n    pass",
        # no Python, or too much of it
        "def f(:",
        "(" * 500 + ")" * 500,
        "ONE = 1\n" * 10_000,
    ],
)
def test_submission_that_may_have_a_state_is_not_proven(source: str) -> None:
    assert not keeps_nothing(source)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = f'" + "{1}" * 200_000 + "'", id="an f-string of many fields"),
        pytest.param("x = " + "(" * 5_000 + ")" * 5_000, id="brackets"),
        pytest.param("x = " + "-" * 10_000 + "1", id="signs"),
        pytest.param("x = 1\n" * 100_000, id="a long text"),
    ],
)
def test_text_that_is_made_to_hurt_the_parser_is_not_looked_at(source: str) -> None:
    """CPython 3.11 needs minutes for the first, and holds up every thread of the grader."""
    assert not keeps_nothing(source)
