"""Which scripts may run where others run afterwards."""

import builtins
import datetime as dt
import importlib
import types
from collections.abc import Iterator
from functools import cache

import pytest

from grader.execution import standing
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
        "assert type(f(1)) is int and float == type(f(2))",
        "assert isinstance(f(1), (int, float)) and issubclass(bool, int)",
        "try:\n    f(-1)\nexcept (ValueError, OverflowError) as error:\n    assert error.args",
        "total = 0\ndef g(n):\n    global total\n    total += f(n)\ng(1)\nassert total == 1",
        "if (n := f(1)) > 0:\n    assert f'{n:>3}' == '  1' and {**{'a': n}} and [*f(2)]",
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
        "match f:\n    case object(__globals__=g):\n        g['__builtins__']['abs'] = int",
        "match f:\n    case 1:\n        pass",
        "from fractions import Fraction\nFraction.register(float)",
        "from fractions import Fraction\nFraction.mro()[4].register(str)",
        "try:\n    f.x\nexcept AttributeError as error:\n    error.obj",
        "type('X', (), {'__reduce_ex__': f})",
        "type(int)('X', (), {'__reduce_ex__': f})",
        "map(type, ['X'], [()], [{}])",
        "assert [type(f(1))] == [int]",
        "assert type(f(1))(2) == 2",
        "super().x",
        "property(f)",
        "memoryview(f())",
        "exit()",
        "decimal.getcontext().clear_traps()",
        "g = warnings\nwarnings.simplefilter('error')",
        "assert sys.getsizeof(f()) == 1",
        "np.random.seed(1)",
        "from math import pi as open",
        "from math import pi as __builtins__",
        "try:\n    f()\nexcept ValueError as __builtins__:\n    pass",
        "def g():\n    global __builtins__",
        "def g():\n    x = 1\n    def h():\n        nonlocal x, open",
        "(x async for x in f())",
        "try:\n    f()\nexcept* ValueError:\n    pass",
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


_UNCHANGEABLE = (
    *(types.BuiltinFunctionType, types.FunctionType, types.MethodType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.ClassMethodDescriptorType, property, int, float, complex, str, bytes, tuple),
    *(dt.date, dt.time, dt.timedelta, dt.timezone, type(None), type(NotImplemented), type(...)),
)
"""What nothing can be changed in but by setting an attribute."""


def _named() -> Iterator[tuple[str, object]]:
    """Yield what a script may read by a name."""
    for name in standing._BUILTINS - {"type"}:
        yield name, getattr(builtins, name, None)
    for module, names in standing.HARMLESS.items():
        found = importlib.import_module(module)
        for name in names or {name for name in dir(found) if not name.startswith("_")}:
            yield f"{module}.{name}", getattr(found, name)


@cache
def _is_readable(attribute: str) -> bool:
    return attribute.isidentifier() and _allowed(f"f().{attribute}")


def test_nothing_that_a_script_can_reach_by_names_and_attributes_can_be_changed() -> None:
    """Classes can be, by methods of their own classes: none of those may be readable."""
    pending, seen = list(_named()), set()
    while pending:
        path, value = pending.pop()
        if id(value) in seen or isinstance(value, _UNCHANGEABLE):
            continue
        seen.add(id(value))
        kind = type(value)
        assert isinstance(value, type) or kind.__module__ == "typing", path
        if kind.__module__ != "typing":  # whose objects stand for others, and change nothing
            of_its_class = {name for base in kind.__mro__ for name in vars(base)}
            assert not list(filter(_is_readable, of_its_class)), path
        readable = filter(_is_readable, dir(value))
        pending += [(f"{path}.{name}", getattr(value, name, None)) for name in readable]
    assert len(seen) > 100
