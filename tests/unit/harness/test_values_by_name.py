"""What of the standard library the submission may hand to the tests by name."""

import _queue
import collections
import functools
import json
import math
import operator
import os
import sys
import types
from typing import Any
from unittest import mock

import pytest

from sandbox_images.harness.split import library

HARMLESS = (
    int, len, sorted, math.sqrt, operator.add, str.upper, collections.Counter, ValueError,
    json.JSONDecodeError, _queue.Empty, SystemExit, operator.itemgetter,
)  # fmt: skip
HARMFUL = (
    eval, exec, open, getattr, print, type, os._exit, os.system, sys.exit, functools.partial,
    operator.attrgetter, operator.methodcaller, operator.setitem, str.format, dict.clear,
    object.__getattribute__, type.__subclasses__, types.FunctionType,
)  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        int,
        len,
        sorted,
        math.sqrt,
        operator.add,
        str.upper,
        collections.Counter,
        ValueError,
        json.JSONDecodeError,
        _queue.Empty,
        SystemExit,
        operator.itemgetter,
    ],
    ids=repr,
)
def test_harmless_value_crosses_both_ways(value: Any) -> None:
    named = library.name_of_harmless(value)

    assert named is not None
    assert library.find_harmless(*named) is value


@pytest.mark.parametrize(
    "value",
    [
        eval,
        exec,
        open,
        getattr,
        print,
        type,
        os._exit,
        os.system,
        sys.exit,
        functools.partial,
        operator.attrgetter,
        operator.methodcaller,
        operator.setitem,
        str.format,
        dict.clear,
        object.__getattribute__,
        type.__subclasses__,
        types.FunctionType,
    ],
    ids=repr,
)
def test_harmful_value_crosses_from_the_tests_only(value: Any) -> None:
    named = library.name_of(value)

    assert library.name_of_harmless(value) is None
    assert named is None or library.find_harmless(*named) is None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("unittest.mock", "ANY"),
        ("unittest.mock", "MagicMock"),
        ("unittest", "SkipTest"),
        ("sys", "modules"),
        ("os", "environ"),
        ("builtins", "str.format"),
        ("builtins", "int.__add__"),
        ("builtins", "len.__self__"),
        ("solution", "f"),
        ("sandbox_images.harness.split.judge", "Judge"),
        ("", ""),
        (None, []),
    ],
)
def test_name_of_something_else_means_nothing(module: Any, name: Any) -> None:
    assert mock.ANY == 1  # it is here, to be named
    assert library.find_harmless(module, name) is None


@pytest.mark.parametrize(
    "name", ["antigravity", "this", "test.__main__", "unittest.mock", "json.__main__", "numpy", ""]
)
def test_module_that_does_something_when_imported_is_not_safe(name: str) -> None:
    assert not library.is_safe_module(name)
