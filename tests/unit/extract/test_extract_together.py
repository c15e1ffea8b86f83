"""Blocks of one answer are joined if they need each other, and only then."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.extract import extract

HELPER = "def helper(x):\n    return x + 1"
USER = "def solve(x):\n    return helper(x) * 2"
READ = "n = int(input())"
MAIN = "print(solve(int(input())))"


def text_of(*blocks: str) -> str:
    return "\nThen:\n".join(f"```python\n{block}\n```" for block in blocks)


def found(*blocks: str, entry_point: str | None = "solve", is_program: bool = False) -> str | None:
    return extract(text_of(*blocks), entry_point=entry_point, is_program=is_program).code


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        pytest.param((HELPER, USER), f"{HELPER}\n{USER}", id="helper first"),
        pytest.param((USER, HELPER), f"{HELPER}\n{USER}", id="helper last"),
        pytest.param(
            ("import math as helper", USER), f"import math as helper\n{USER}", id="import"
        ),
        pytest.param(
            (f"helper = str\nprint(helper(3))\n{READ}", USER),
            f"helper = str\n{USER}",
            id="what tries it out stays out",
        ),
        pytest.param(
            ("from math import sqrt", "def helper(x):\n    return sqrt(x)", USER),
            f"from math import sqrt\ndef helper(x):\n    return sqrt(x)\n{USER}",
            id="what a helper uses",
        ),
        pytest.param(
            ("helper = 1", "helper = abs", USER), f"helper = abs\n{USER}", id="the nearest"
        ),
        pytest.param(
            (HELPER, f"from __future__ import annotations\n{USER}"),
            f"from __future__ import annotations\n{HELPER}\n{USER}",
            id="future import stays first",
        ),
        pytest.param(
            ("@staticmethod\ndef helper(x):\n    return x", USER),
            f"@staticmethod\ndef helper(x):\n    return x\n{USER}",
            id="decorator",
        ),
    ],
)
def test_block_gets_what_it_uses_of_others(blocks: tuple[str, ...], code: str) -> None:
    assert found(*blocks) == code


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param((HELPER, "def solve(x):\n    return x"), id="nothing is missing"),
        pytest.param(("x = 1", USER), id="no block has what is missing"),
        pytest.param((HELPER, f"from tools import *\n{USER}"), id="a star import may bring it"),
        pytest.param(("n = 3", "def solve(n):\n    return n"), id="a parameter"),
        pytest.param((f"{HELPER}\n1 +", USER), id="the other does not parse"),
    ],
)
def test_block_that_needs_no_other_is_taken_alone(blocks: tuple[str, ...]) -> None:
    assert found(*blocks) == f"{blocks[-1]}"


def test_block_of_another_language_gives_nothing() -> None:
    text = f"```ruby\nhelper = 1\n```\n```python\n{USER}\n```"
    assert extract(text, entry_point="solve").code == f"{USER}"


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        pytest.param((HELPER, USER, MAIN), f"{HELPER}\n{USER}\n{MAIN}", id="a driver"),
        pytest.param((MAIN, HELPER, USER), f"{HELPER}\n{USER}\n{MAIN}", id="a driver first"),
        pytest.param((READ, "print(n + 1)"), f"{READ}\nprint(n + 1)", id="steps"),
        pytest.param((f"{READ}\nprint(n)", "print(n * 2)"), f"{READ}\nprint(n)", id="a program"),
    ],
)
def test_program_is_put_together_from_its_parts(blocks: tuple[str, ...], code: str) -> None:
    assert found(*blocks, entry_point=None, is_program=True) == code


PROGRAM = f"{READ}\nprint(n * 2)"


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("print(-1)", id="a line that prints"),
        pytest.param("import sys\nsys.setrecursionlimit(10**6)", id="a setting"),
        pytest.param("import sys\ninput = sys.stdin.readline", id="a way to read"),
        pytest.param("print(sum(...))", id="a gap"),
        pytest.param(HELPER, id="a definition"),
        pytest.param(
            "from subprocess import run\nprint(run(['python3', 'a.py'], input=b'4').stdout)",
            id="a trial",
        ),
    ],
)
def test_program_is_preferred_to_what_is_shown_of_it_later(shown: str) -> None:
    assert found(PROGRAM, shown, entry_point=None, is_program=True) == PROGRAM


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param((PROGRAM, f"{READ}\nprint(n)"), id="another program"),
        pytest.param(("print(1)", "print(2)"), id="none reads"),
        pytest.param((READ, "print(2)"), id="no whole program reads"),
    ],
)
def test_last_program_is_taken(blocks: tuple[str, ...]) -> None:
    assert found(*blocks, entry_point=None, is_program=True) == blocks[-1]


def test_example_of_use_stays_out_if_tests_import_the_code() -> None:
    assert found(HELPER, "print(helper(int(input())))", entry_point=None) == f"{HELPER}"


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        pytest.param((HELPER, USER), f"{HELPER}\n\n{USER}", id="later"),
        pytest.param((USER, HELPER), f"{HELPER}\n\n{USER}", id="earlier"),
        pytest.param(
            (HELPER, USER, "def other(x):\n    return solve(x)"),
            f"{HELPER}\n\n{USER}\n\ndef other(x):\n    return solve(x)",
            id="in turn",
        ),
        pytest.param((HELPER, f"{USER}\n{MAIN}"), HELPER, id="what acts stays out"),
        pytest.param(
            (f"{HELPER}\ndef solve(x):\n    return 0", USER),
            f"{HELPER}\ndef solve(x):\n    return 0",
            id="a part that is shown again",
        ),
        pytest.param(
            (USER, "def solve(x):\n    return x"), "def solve(x):\n    return x", id="draft"
        ),
    ],
)
def test_definitions_that_use_a_whole_block_are_kept_if_any_may_be_tested(
    blocks: tuple[str, ...], code: str
) -> None:
    assert found(*blocks, entry_point=None) == code


def test_note_says_that_blocks_were_joined() -> None:
    note = extract(text_of(HELPER, USER), entry_point="solve").note
    assert note.endswith(
        "Took block 2 of 2, the last that defines solve, with what it uses of other blocks."
    )


SOLVE = "def solve(x):\n    return x * 2"
METHOD = "class Solution:\n    def solve(self, x):\n        return x * 2"
WEAK = {
    "dots": "def solve(x):\n    ...",
    "pass": "def solve(x):\n    # your code\n    pass",
    "docstring": 'def solve(x):\n    """Double x."""',
    "not implemented": "def solve(x):\n    raise NotImplementedError",
    "tests that import it": "from solution import solve\n\ndef test():\n    assert solve(1) == 2",
    "a wrapper of itself": "from functools import cache\nsolve = cache(solve)",
}


@pytest.mark.parametrize("shown", WEAK.values(), ids=WEAK)
def test_template_or_test_does_not_replace_the_solution(shown: str) -> None:
    assert found(SOLVE, shown) == SOLVE
    assert found(shown, SOLVE) == SOLVE
    assert found(shown) == shown


def test_template_of_a_class_does_not_replace_the_solution() -> None:
    template = "class Solution:\n    def solve(self, x):\n        pass"
    assert found(METHOD, template, entry_point="Solution.solve") == METHOD
    inherits = "class Solution(Base):\n    pass"
    assert found(METHOD, inherits, entry_point="Solution.solve") == inherits


@pytest.mark.parametrize("name", ["dots", "tests that import it"])
def test_template_or_test_does_not_replace_the_solution_of_unknown_name(name: str) -> None:
    assert found(SOLVE, WEAK[name], entry_point=None) == SOLVE
    assert found(WEAK[name], entry_point=None) == WEAK[name]


def test_other_import_may_define_the_entry_point() -> None:
    assert found("solve = 3 +", "from math import gcd as solve") == "from math import gcd as solve"
    numbers = "from tools import other\n\ndef solve(x):\n    return other(x)"
    assert found(SOLVE, numbers, entry_point=None) == numbers


names = st.sampled_from(["a", "b", "c", "d"])
statements = st.builds(
    lambda form, name, used: form.format(name, used),
    st.sampled_from(["def {0}():\n    return {1}", "{0} = lambda: {1}", "{0}, {1}_ = 1, 2"]),
    names,
    names,
)
blocks = st.lists(st.lists(statements, min_size=1).map("\n".join), min_size=1, max_size=6)


@given(blocks, names)
def test_code_ends_with_the_taken_block_for_any_blocks(blocks: list[str], entry_point: str) -> None:
    alone = [found(block, entry_point=entry_point) for block in blocks]
    code = found(*blocks, entry_point=entry_point)
    assert code is not None
    assert any(code.endswith(each) for each in alone if each)
