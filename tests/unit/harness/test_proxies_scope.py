"""Which names of the submission a suite takes where it does not ask for each."""

import math

import pytest

from sandbox_images.harness.split.scope import Scope, named_identifiers


def scope_of(*sources: str) -> Scope:
    return Scope(list(sources), named_identifiers(sources))


@pytest.mark.parametrize(
    ("source", "offered", "taken"),
    [
        pytest.param("assert f(1) == 2", {"f", "g"}, {"f"}, id="what it names"),
        pytest.param("assert abs(f(1)) == 2", {"f", "abs"}, {"f"}, id="no builtins"),
        pytest.param("assert sum(1, 2) == 3", {"sum", "x"}, {"sum"}, id="a builtin under test"),
        pytest.param("assert abs(sum(1, 2)) == 3", {"sum", "abs"}, set(), id="not two of them"),
        pytest.param("assert math.sqrt(f(4)) == 2", {"f", "math"}, {"f"}, id="no modules"),
        pytest.param("assert copy(4) == 2", {"copy"}, {"copy"}, id="a module's name, called"),
        pytest.param("assert queue.push(1)", {"queue"}, {"queue"}, id="a module's name, not it"),
        pytest.param("assert isclose(f(1), 2)", {"f", "isclose"}, {"f"}, id="no helpers"),
        pytest.param("assert f(1) ==", {"f", "len"}, {"f"}, id="unparsable"),
    ],
)
def test_script_takes_what_it_tests(source: str, offered: set[str], taken: set[str]) -> None:
    assert set(scope_of(source).of_script(offered).names) == taken


def test_script_keeps_its_own_modules_and_helpers() -> None:
    taken = scope_of("assert math.isclose(f(inf), inf)").of_script({"f", "math", "inf"})

    assert taken.own == {"math": math, "inf": math.inf}


def test_star_import_takes_all_but_what_the_module_has_itself() -> None:
    source = (
        "import pytest\nfrom math import isclose as close\nEPS = 1\n"
        "def helper(a): local = a\n"
        "from solution import *\n"
        "def test_f(): assert f(1)\n"
    )
    offered = ["f", "g", "local", "pytest", "close", "EPS", "helper", "test_f", "test_g", "len"]
    offered += ["setup_module", "pytest_generate_tests", "pytestmark", "approx", "a"]

    taken = scope_of(source).of_star_import(offered)

    assert taken.names == ("f", "g", "local", "a")
    assert taken.own == {}
