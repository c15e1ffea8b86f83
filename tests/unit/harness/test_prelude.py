"""What is executed before a submission's code changes neither its meaning nor its line numbers."""

import importlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_images.harness.runners.prelude import PreludeFinder, compile_after, execute

LINES = ["import math", "x = 1\n\n", "def helper():\n    return 1", "from typing import *"]


def run(prelude: str, source: str) -> ModuleType:
    module = ModuleType("submission")
    execute(prelude, module)
    exec(compile_after(prelude, source, "submission.py"), module.__dict__)  # noqa: S102
    return module


def test_submission_sees_what_its_prelude_defines() -> None:
    assert run("import math\nhalf = math.pi / 2", "value = math.cos(half)").value < 1e-9


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from __future__ import annotations\ndef f(a: Missing): pass", id="first"),
        pytest.param('"""Says."""\nfrom __future__ import division\n', id="after a docstring"),
        pytest.param("\ufefffrom __future__ import annotations\n", id="after a byte order mark"),
        pytest.param("# says\n\nfrom __future__ import print_function\n", id="after a comment"),
    ],
)
def test_future_import_stays_the_first_statement(source: str) -> None:
    run("import math", source)


def test_docstring_stays_the_modules() -> None:
    assert run("import math", '"""Says."""').__doc__ == "Says."


def test_future_import_of_a_prelude_holds_for_the_submission() -> None:
    source = "def f(a: Missing): pass"
    assert run("from __future__ import annotations", source).f.__annotations__ == {"a": "Missing"}
    with pytest.raises(NameError, match="Missing"):
        # At the definition, or from Python 3.14 on when the annotations are read.
        _ = run("import math", source).f.__annotations__


@given(st.lists(st.sampled_from(LINES)), st.integers(0, 20))
def test_lines_are_counted_from_the_submissions_first(prelude: list[str], blank: int) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run("\n".join(prelude), "\n" * blank + "1 / 0")
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == blank + 1
    with pytest.raises(SyntaxError) as refused:
        run("\n".join(prelude), "\n" * blank + "1 +")
    assert refused.value.lineno == blank + 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    modules, finders = dict(sys.modules), sys.meta_path[:]
    yield tmp_path
    sys.meta_path[:] = finders
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]


@pytest.mark.parametrize("name", ["its_solution", "its_package.its_solution"])
def test_import_of_the_file_executes_the_prelude_first(folder: Path, name: str) -> None:
    path = folder / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("from __future__ import annotations\ndef f(a: T) -> T:\n    return value\n")
    (folder / "its_helper.py").write_text("value = 2\n")
    sys.meta_path.insert(0, PreludeFinder("import math\nvalue = 7", str(path)))
    module = importlib.import_module(name)
    assert (module.f(0), module.f.__code__.co_firstlineno, module.__file__) == (7, 2, str(path))
    assert not hasattr(importlib.import_module("its_helper"), "math")
