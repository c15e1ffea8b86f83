"""Which names of a submission are found in a suite's code."""

import ast

import pytest

from grader.model import PytestTests, ScriptCase, ScriptTests, SuiteFile
from grader.offline.surface import skeleton_of
from tests.factories import make_suite


def names_of(skeleton: str) -> dict[str, str]:
    """Return the names that a skeleton defines, with what they are."""
    kinds = {}
    for node in ast.parse(skeleton).body:
        match node:
            case ast.FunctionDef(name=name):
                kinds[name] = "function"
            case ast.ClassDef(name=name, bases=bases, body=body):
                methods = [each.name for each in body if isinstance(each, ast.FunctionDef)]
                kinds[name] = "exception" if bases else f"class with {' '.join(methods)}".strip()
            case ast.Assign(targets=[ast.Name(id=name)]):
                kinds[name] = "variable"
            case _:
                pytest.fail(ast.unparse(node))
    return kinds


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param(
            "from solution import add, Stack, EmptyStack, LIMIT, MAX\n"
            "import math, pytest\n"
            "def test_it():\n"
            "    stack = Stack()\n"
            "    stack.push(add(1, LIMIT))\n"
            "    MAX(math.floor(2.5))\n"
            "    with pytest.raises(EmptyStack):\n"
            "        stack.pop()\n",
            {
                "add": "function",
                "Stack": "class with floor pop push raises",
                "EmptyStack": "exception",
                "LIMIT": "variable",
                "MAX": "class with floor pop push raises",
            },
            id="imported",
        ),
        pytest.param(
            "import solution as s\ndef test_it():\n    assert s.add(1) == s.total",
            {"add": "function", "total": "function"},
            id="attributes of the module",
        ),
        pytest.param(
            "from solution import *\nimport os\n"
            "def test_it(tmp_path):\n    x = add(1)\n    print(x, os.sep, tmp_path, total)\n",
            {"add": "function", "total": "function"},
            id="star",
        ),
        pytest.param("from other import add\nadd(1)", {}, id="another module"),
        pytest.param("from solution import (", {}, id="no Python"),
    ],
)
def test_names_that_a_pytest_suite_uses(source: str, names: dict[str, str]) -> None:
    file = SuiteFile(path="test_it.py", content=source.encode())
    tests = PytestTests(files=(file,), test_paths=("test_it.py",))
    skeleton = skeleton_of(make_suite(tests, entry_point=None))
    assert names_of(skeleton) == names


def test_module_in_a_folder_is_found_by_either_name() -> None:
    sources = ("from pkg.code import add", "from code import double")
    files = tuple(
        SuiteFile(path=f"test_{n}.py", content=source.encode()) for n, source in enumerate(sources)
    )
    tests = PytestTests(files=files, test_paths=("test_0.py",), solution_path="pkg/code.py")
    skeleton = skeleton_of(make_suite(tests, entry_point=None))
    assert names_of(skeleton) == {"add": "function", "double": "function"}


def test_names_that_a_script_uses() -> None:
    setup = "import math\ndef check(candidate):\n    assert candidate(math.pi) == helper()"
    case = ScriptCase(id="0", source="check(Solution().area)")
    suite = make_suite(ScriptTests(cases=(case,), setup=setup), entry_point="Solution().area")
    names = {"Solution": "class with area candidate check", "helper": "function"}
    assert names_of(skeleton_of(suite)) == names
