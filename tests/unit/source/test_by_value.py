"""Suites that may be judged apart from the submission, by a judge that judges others later."""

import builtins
import datetime as dt
import importlib
import types
from collections.abc import Iterator
from functools import cache

import pytest

from grader.model import PytestTests, ScriptCase, ScriptTests, SuiteFile
from grader.sandbox.payload import Apart
from grader.source.allowed import BUILTINS, MODULES
from grader.source.by_value import find_apart


def _apart(source: str, *, setup: str = "") -> Apart | None:
    return find_apart(ScriptTests(setup=setup, cases=(ScriptCase(id="0", source=source),)))


def _apart_in_pytest(source: str) -> Apart | None:
    file = SuiteFile(path="test_x.py", content=source.encode())
    return find_apart(PytestTests(files=(file,), test_paths=("test_x.py",)))


def _allowed(source: str, *, setup: str = "") -> bool:
    return _apart(source, setup=setup) is not None


@pytest.mark.parametrize(
    "source",
    [
        "assert f(3) == 9",
        "assert f([1, 2]) == {'a': (1, None)}, 'message'",
        "import math\nassert math.isclose(f(1), 0.5, rel_tol=1e-6)",
        "from math import pi, isclose\nassert isclose(f(), pi)",
        "from collections import Counter\nassert f('aab') == Counter('aab')",
        "def check(c):\n    for a, b in [(1, 2)]:\n        assert c(a) == b\ncheck(f)",
        "def check(f):\n    assert f(1) == 2\ncheck(f)",
        "def check(n, f):\n    assert f(n) == 2\ncheck(1, f=f)",
        "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    assert False",
        "with_it = sorted(f([3, 1]), key=lambda x: -x)\nassert with_it[0] == 3",
        "x = [1]\nx[0] += 1\nx.append(2)\ndel x[0]\nassert x == [2] and f(1)",
        "assert str(f(1)).upper().startswith('A')",
        "from typing import List, Optional\nrows: List[Optional[int]] = [1]\nassert f(rows)",
        "_hidden = 1\nassert f(_hidden)",
        "assert type(f(1)) is int and float == type(f(2))",
        "assert isinstance(f(1), (int, float)) and issubclass(bool, int)",
        "try:\n    f(-1)\nexcept (ValueError, OverflowError) as error:\n    assert error.args",
        "total = 0\ndef g(n):\n    global total\n    total += f(n)\ng(1)\nassert total == 1",
        "if (n := f(1)) > 0:\n    assert f'{n:>3}' == '  1' and {**{'a': n}} and [*f(2)]",
        "if __name__ == '__main__':\n    assert f(1) == 1",
    ],
)
def test_plain_assertions_are_judged_apart(source: str) -> None:
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
        "x = [1]\nf(x)\nx[0] += 1",
        "x = f(1)\nx.append(2)",
        "f(1)[0] = 2",
        "x = f(1)\ny = x\ny += [1]",
        "a = b = f(1)\nassert a is b",
        "assert f(a) is a",
        "assert f(1) is not f(2)",
        "import random\nrandom.seed(1)\nassert f()",
        "assert f.__name__ == 'f'",
        "assert callable(f)",
        "g = f\nassert g(1)",
        "assert Account(1).balance == 1",
        "a = Solution()\nassert a.f(1) == 1",
        "assert f(1, key=f)",
        "assert [f]",
        "assert MOD == f(1)",
        "assert f'{f}' == ''",
        "assert f(1).format(2)",
        "assert id(f(1))",
        "def g(f):\n    return f\nassert g(1) == f(2)",
        "assert [f for f in [1]] and f(2)",
        "if __name__ == '__main__':\n    exec('1')",
        "if __name__ == '__main__':\n    pass\nelse:\n    exec('1')",
        "if __name__ != 'x':\n    exec('1')",
        "x: exec('1') = 1",
        "x: exec('1')",
        "def g(x: exec('1')):\n    return f(x)",
        "def g(x) -> exec('1'):\n    return f(x)",
    ],
)
def test_assertions_that_could_tell_a_copy_or_leave_traces_are_not_judged_apart(
    source: str,
) -> None:
    assert not _allowed(source)
    assert not _allowed("assert f()", setup=source)


def test_a_module_of_the_setup_is_one_for_the_cases() -> None:
    assert not _allowed("g = math", setup="import math")
    assert _allowed("assert math.floor(f()) == 1", setup="import math")


@pytest.mark.parametrize(
    ("source", "apart"),
    [
        ("assert f(1) == g([2])", Apart(names=("f", "g"), nowhere=(), watched=False)),
        ("assert abs(f(1)) < 1", Apart(names=("f",), nowhere=("abs",), watched=False)),
        (
            "def check(c):\n    assert c(1) == 2\ncheck(f)",
            Apart(names=("f",), nowhere=("check",), watched=False),
        ),
        (
            "def check(c):\n    assert c(1) == 2\ncheck(Solution().two)",
            Apart(classes=("Solution",), nowhere=("check",), watched=False),
        ),
        (
            "assert math.isclose(f(1), 2)",
            Apart(names=("f",), modules=("math",), watched=False),
        ),
        ("x = [1]\nassert f(x) == [1]", Apart(names=("f",), nowhere=("x",), watched=False)),
        (
            "x = [1]\nassert f(x) == [1]\nassert x",
            Apart(names=("f",), nowhere=("x",), watched=True),
        ),
        (
            "x = [[1]]\nfor y in x:\n    assert f(y)\nassert x",
            Apart(names=("f",), nowhere=("x",), watched=True),
        ),
        (
            "for x, y in [([1], 2)]:\n    assert f(x) == y",
            Apart(names=("f",), nowhere=(), watched=False),
        ),
        (
            "x = [1]\nfor _ in range(2):\n    assert f(x)",
            Apart(names=("f",), nowhere=("range", "x"), watched=True),
        ),
    ],
)
def test_what_a_script_uses_of_the_submission_is_found(source: str, apart: Apart) -> None:
    assert _apart(source) == apart


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from solution import f\ndef test_a(): assert f(1) == 1", ["f"]),
        ("from solution import f as g\ndef test_a(): assert g(1) == 1", ["f"]),
        ("import solution\ndef test_a(): assert solution.f(1) == 1", ["f"]),
        ("import solution as s\ndef test_a(): assert s.f(1) == 1", ["f"]),
        ("from solution import *\ndef test_a(): assert f(1) == 1", ["f"]),
        (
            "import pytest\nfrom solution import f\n"
            "@pytest.mark.parametrize('x, y', [(1, 2)])\ndef test_a(x, y): assert f(x) == y",
            ["f"],
        ),
        (
            "import pytest\nfrom solution import f\n"
            "@pytest.fixture\ndef rows(): return [1]\ndef test_a(rows): assert f(rows) == 1\n"
            "def test_b():\n    with pytest.raises(ValueError, match='x'): f(-1)\n"
            "    pytest.raises(ValueError, f, -1)",
            ["f"],
        ),
        (
            "import unittest\nfrom solution import f\n"
            "class T(unittest.TestCase):\n    def setUp(self): self.x = [1]\n"
            "    def test_a(self):\n        self.assertEqual(f(self.x), 1)\n"
            "        with self.assertRaises(ValueError) as e: f(2)\n"
            "        self.assertEqual(type(e.exception), ValueError)\n"
            "if __name__ == '__main__':\n    unittest.main()",
            ["f"],
        ),
        (
            "from unittest import TestCase, main\nfrom solution import f\n"
            "class T(TestCase):\n    def test_a(self): self.assertEqual(f(1), 1)\n"
            "if __name__ == '__main__':\n    main(argv=['x'], exit=False)",
            ["f"],
        ),
    ],
)
def test_pytest_suites_over_functions_are_judged_apart(source: str, names: list[str]) -> None:
    apart = _apart_in_pytest(source)
    assert apart is not None
    assert [*apart.names] == names


@pytest.mark.parametrize(
    "body",
    [
        "def test_a(capsys): f(1)",
        "def test_a(tmp_path): f(1)",
        "def test_a(monkeypatch): f(1)",
        "def test_a(caplog): f(1)",
        "import warnings\ndef test_a(): f(1)",
        "import os\ndef test_a(): f(1)",
        "from unittest.mock import patch\ndef test_a(): f(1)",
        "def test_a():\n    with pytest.warns(UserWarning): f(1)",
        "def test_a():\n    pytest.skip('x')",
        "@pytest.mark.usefixtures('capsys')\ndef test_a(): f(1)",
        "@pytest.fixture\ndef x():\n    yield 1\ndef test_a(x): f(x)",
        "async def test_a(): f(1)",
        "@pytest.mark.parametrize('g', [f])\ndef test_a(g): assert g(1)",
        "pytestmark = pytest.mark.parametrize('x', [[1]])\ndef test_a(x): f(x)",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self):\n        with self.assertLogs(): f(1)",
        "class A:\n    def __eq__(self, other): return True\ndef test_a(): assert f(1) == A()",
        "def test_a():\n    a = f(1)\n    a.x = 2",
        "def test_a():\n    with f(1) as x: assert x is x",
        "if __name__ != '__main__':\n    exec('1')",
        "if __name__ in [exec('1')]:\n    pass",
        "if __name__ == '__main__':\n    pass\nelse:\n    exec('1')",
        "def test_a(__name__='__main__'):\n    if __name__ == '__main__':\n        exec('1')",
        "class A:\n    x: exec('1') = 1",
        "import unittest\nunittest.main(module=None, argv=['x', 'gc.disable'])",
        "from unittest import main as run\nrun(module=None, argv=['x', 'gc.disable'])",
        "from unittest import main\ndef test_a(run=main): run(f(1))",
    ],
)
def test_pytest_suites_that_observe_more_are_not(body: str) -> None:
    assert _apart_in_pytest(f"import pytest\nfrom solution import f\n{body}\n") is None


@pytest.mark.parametrize(
    ("head", "is_apart"),
    [
        (b"# -*- coding: utf-8 -*-\n", True),
        (b"#!/usr/bin/python\n# vim: set fileencoding=UTF8 :\n", True),
        (b"# -*- coding: utf-7 -*-\n", False),
        (b"\r# coding=unicode_escape\r", False),
        (b"\n# coding:\traw_unicode_escape\n", False),
        (b"\xef\xbb\xbf", False),
        (b"assert (\n", False),
    ],
)
def test_only_a_suite_that_python_reads_alike_is_judged_apart(head: bytes, is_apart: bool) -> None:
    body = b"# \\u000aexec('1')\nfrom solution import f\ndef test_a(): f(1)\n"
    test = SuiteFile(path="test_x.py", content=head + body)
    apart = find_apart(PytestTests(files=(test,), test_paths=("test_x.py",)))
    assert (apart is not None) == is_apart


def test_a_suite_with_other_files_is_not_judged_apart() -> None:
    test = SuiteFile(path="test_x.py", content=b"from solution import f\ndef test_a(): f(1)\n")
    data = SuiteFile(path="data.txt", content=b"")
    assert find_apart(PytestTests(files=(test,), test_paths=("test_x.py",)))
    assert not find_apart(PytestTests(files=(test, data), test_paths=("test_x.py",)))


_UNCHANGEABLE = (
    *(types.BuiltinFunctionType, types.FunctionType, types.MethodType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.ClassMethodDescriptorType, property, int, float, complex, str, bytes, tuple),
    *(dt.date, dt.time, dt.timedelta, dt.timezone, type(None), type(NotImplemented), type(...)),
)
"""Types whose instances can only be changed by setting an attribute."""


def _named() -> Iterator[tuple[str, object]]:
    """Yield the objects that a script may read by a name."""
    for name in BUILTINS - {"type"}:
        yield name, getattr(builtins, name, None)
    for module, names in MODULES.items():
        found = importlib.import_module(module)
        for name in names or {name for name in dir(found) if not name.startswith("_")}:
            yield f"{module}.{name}", getattr(found, name)


@cache
def _is_readable(attribute: str) -> bool:
    return attribute.isidentifier() and _allowed(f"f().{attribute}")


def test_nothing_that_a_script_can_reach_by_names_and_attributes_can_be_changed() -> None:
    """Methods of a metaclass can change its classes, so none of these may be readable."""
    pending, seen = list(_named()), set()
    while pending:
        path, value = pending.pop()
        if id(value) in seen or isinstance(value, _UNCHANGEABLE):
            continue
        seen.add(id(value))
        kind = type(value)
        assert isinstance(value, type) or kind.__module__ == "typing", path
        if kind.__module__ != "typing":  # objects of `typing` only stand for types
            of_its_class = {name for base in kind.__mro__ for name in vars(base)}
            assert not list(filter(_is_readable, of_its_class)), path
        readable = filter(_is_readable, dir(value))
        pending += [(f"{path}.{name}", getattr(value, name, None)) for name in readable]
    assert len(seen) > 100


def test_code_that_is_nested_too_deeply_to_be_read_is_not_judged_apart() -> None:
    assert not _allowed("assert f(1) == " + " + ".join(["[1]"] * 900))
