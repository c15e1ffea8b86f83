"""Which scripts may run where others run afterwards."""

import pytest

from grader.execution.standing import leaves_no_trace
from grader.model import ScriptCase, ScriptTests


def _allowed(source: str, *, setup: str = "") -> bool:
    tests = ScriptTests(setup=setup, cases=(ScriptCase(id="0", source=source),))
    return leaves_no_trace(tests)


@pytest.mark.parametrize(
    "source",
    [
        "assert f(3) == 9",
        "assert f([1, 2]) == {'a': (1, None)}, 'message'",
        "import math\nassert math.isclose(f(1), 0.5, rel_tol=1e-6)",
        "from math import pi, isclose\nassert isclose(f(), pi)",
        "from collections import Counter\nassert f('aab') == Counter('aab')",
        "import random\nrandom.seed(1)\nfor _ in range(9):\n    assert f(random.randint(1, 5)) > 0",
        "def check(c):\n    for a, b in [(1, 2)]:\n        assert c(a) == b\ncheck(f)",
        "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    assert False",
        "with_it = sorted(f([3, 1]), key=lambda x: -x)\nassert with_it[0] == 3",
        "x = [1]\nf(x)\nx[0] += 1\ndel x[0]\nassert not x",
        "assert str(f(1)).upper().startswith('A')",
        "from typing import List, Optional\nrows: List[Optional[int]] = [1]\nassert f(rows)",
        "_hidden = 1\nassert f(_hidden)",
    ],
)
def test_plain_assertions_may_stay(source: str) -> None:
    assert _allowed(source)
    assert _allowed("assert f()", setup=source)


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import sys\nsys.setrecursionlimit(10)",
        "import math as m\nm.pi = 3",
        "import math\nmath.pi = 3",
        "import math\ndel math.pi",
        "import math\nmath.pi += 1",
        "import math\nm = math\nassert m",
        "import math\nf(math)",
        "import math\nfor math.pi in [3]: pass",
        "import math\nwith f() as math.pi: pass",
        "from math import *",
        "from . import x",
        "import collections.abc",
        "import collections\ncollections.abc.Sized.register(list)",
        "from functools import update_wrapper, wraps",
        "import functools\nfunctools.update_wrapper",
        "from operator import attrgetter",
        "import string\nstring.Formatter().get_field('0.__class__', [1], {})",
        "import decimal\ndecimal.getcontext().prec = 3",
        "from decimal import getcontext",
        "from typing import Counter",
        "f().__class__.__init__",
        "f._cache",
        "(x for x in ()).gi_frame",
        "f.f_globals",
        "class A: pass",
        "def g():\n    yield 1",
        "async def g(): pass",
        "open('x', 'w')",
        "exec('1')",
        "eval('1')",
        "getattr(f, 'x')",
        "setattr(f, 'x', 1)",
        "globals()['x'] = 1",
        "__builtins__",
        "__import__('os')",
        "def open(x): pass",
        "lambda exec: exec",
        "f.cache = 1",
        "assert f(",
        "\0",
    ],
)
def test_what_could_be_seen_afterwards_may_not_stay(source: str) -> None:
    assert not _allowed(source)
    assert not _allowed("assert f()", setup=source)


def test_a_module_of_the_setup_is_one_for_the_cases() -> None:
    assert not _allowed("g = math", setup="import math")
    assert _allowed("assert math.floor(f()) == 1", setup="import math")
