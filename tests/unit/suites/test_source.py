import pytest

from grader.model.errors import SuiteError
from grader.suites import images, source
from grader.suites.source import SourceKind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("assert f(1) == 2", SourceKind.SCRIPT, id="assert"),
        pytest.param("for x in range(3):\n    assert f(x)", SourceKind.SCRIPT, id="loop"),
        pytest.param(
            "def test_f():\n    assert f(1)\ntest_f()", SourceKind.SCRIPT, id="calls its own test"
        ),
        pytest.param("def run():\n    assert f(1)\nrun()", SourceKind.SCRIPT, id="calls a helper"),
        pytest.param("def check(c):\n    assert c(1)", SourceKind.CHECK, id="check"),
        pytest.param("def test_f():\n    assert f(1)", SourceKind.PYTEST, id="test function"),
        pytest.param("async def test_f():\n    assert f(1)", SourceKind.PYTEST, id="async"),
        pytest.param("class TestF:\n    def test(self): ...", SourceKind.PYTEST, id="class"),
        pytest.param(
            "import unittest\nclass F(unittest.TestCase): ...", SourceKind.PYTEST, id="unittest"
        ),
        pytest.param(
            "from solution import f\ndef check(c): ...\ndef test_f():\n    assert check(f)",
            SourceKind.PYTEST,
            id="pytest with a helper named check",
        ),
        pytest.param(
            "def test_f():\n    assert f(1)\nif __name__ == '__main__':\n    test_f()",
            SourceKind.PYTEST,
            id="main guard",
        ),
        pytest.param("x = 1\nprint(x)", SourceKind.NONE, id="no assertion"),
        pytest.param("def helper():\n    assert True", SourceKind.NONE, id="never called"),
    ],
)
def test_kind_of_source(text: str, kind: SourceKind) -> None:
    assert source.kind_of(source.parse(text)) is kind


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        pytest.param("assert a\nassert b\n", ("assert a", "assert b"), id="lines"),
        pytest.param("assert a; assert b", ("assert a", "assert b"), id="semicolon"),
        pytest.param(
            "x = 1\n# why\nassert f(x)\ny = 2\nassert f(y)\n",
            ("x = 1\n# why\nassert f(x)", "y = 2\nassert f(y)"),
            id="setup joins the next case",
        ),
        pytest.param("assert a\nb()\n", ("assert a\nb()",), id="the rest joins the last case"),
        pytest.param(
            "s = 'a\x0cb\u2028'\nassert s\nassert t",
            ("s = 'a\x0cb\u2028'\nassert s", "assert t"),
            id="line separators that Python does not count",
        ),
        pytest.param(
            "@d\ndef g(): ...\nassert g()\n@d\ndef h(): ...\nassert h()",
            ("@d\ndef g(): ...\nassert g()", "@d\ndef h(): ...\nassert h()"),
            id="decorators",
        ),
        pytest.param(
            "for x in y:\n    assert x\nassert z",
            ("for x in y:\n    assert x", "assert z"),
            id="loop",
        ),
        pytest.param(
            "def t():\n    assert a\nt()\n", ("def t():\n    assert a\nt()\n",), id="whole"
        ),
    ],
)
def test_script_splits_into_cases(text: str, cases: tuple[str, ...]) -> None:
    assert source.split_cases(text) == cases


def test_script_that_asserts_nothing_is_refused() -> None:
    with pytest.raises(SuiteError, match="no assert statement runs"):
        source.split_cases("x = 1\nprint(x)\n")


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("from solution import f\nassert f(1)", "\nassert f(1)\n"),
        ("from solution import (\n    f,\n)\nassert f(1)", "\n\n\nassert f(1)\n"),
        ("from solution import f as g, h\nassert g(h)", "g = f\nassert g(h)\n"),
        ("import math\nassert f(1)", "import math\nassert f(1)"),
    ],
)
def test_imports_of_the_solution_are_removed_from_a_script(text: str, without: str) -> None:
    assert source.without_solution_imports(text, "solution") == without


@pytest.mark.parametrize(
    ("sources", "defined_in", "name"),
    [
        (["assert f(1) == 2"], "", "f"),
        (["assert set(f(1)) == {2}", "assert len(f(2)) == 1"], "", "f"),
        (["def near(a, b): ...", "assert near(f(1), 2)"], "", "f"),
        (["assert g(f(1))", "assert f(2)"], "", "f"),
        (["assert helper(f(1))"], "def f(x): ...", "f"),
        (["assert 1 == 1"], "", None),
    ],
)
def test_called_name_is_the_function_that_the_asserts_test(
    sources: list[str], defined_in: str, name: str | None
) -> None:
    assert source.called_name(sources, defined_in) == name


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("import math", "python"),
        ("import numpy as np", "science"),
        ("from scipy.stats import norm", "science"),
        ("    import os, pandas", "science"),
        ("import numpyish", "python"),
        ("x = 'import numpy'", "python"),
        ("import cv2", "python"),
    ],
)
def test_image_follows_the_imports(text: str, image: str) -> None:
    assert images.image_for("", text, None) == image


@pytest.mark.parametrize(
    ("code", "image"),
    [
        ("import os, sys as s\nfrom math import pi", "python"),
        ("from .helper import x\nimport solution", "python"),
        ("import os, cv2.face as f", "science"),
        ("def f():\n    from bs4 import BeautifulSoup", "science"),
        ("__import__('numpy')", "science"),
        ("import ", "python"),
    ],
)
def test_submission_that_imports_more_than_the_plain_image_has_wants_the_other(
    code: str, image: str
) -> None:
    assert images.image_named_in(code) == image


def test_star_import_stays_behind_future_imports() -> None:
    text = '"""Doc."""\nfrom __future__ import annotations\nimport math\n'
    assert source.with_star_import(text).splitlines()[1:3] == [
        "from __future__ import annotations",
        "from solution import *",
    ]


def test_invalid_escape_in_tests_raises_no_warning() -> None:
    source.parse("assert f('\\d') == 1 is 1")
