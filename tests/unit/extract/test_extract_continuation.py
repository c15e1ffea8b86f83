"""Completions that continue a code prompt, or define its function again."""

import pytest

from grader.extract import extract

STUB = '''from typing import List
import math


def helper(x):
    """Helps."""
    return x * 2


def f(xs: List[int]) -> int:
    """Sum the helped.

    >>> f([1])
    2
    """
'''
BODY = "    total = 0\n    for x in xs:\n        total += helper(x)\n    return total"
WHOLE = "def f(xs):\n    return sum(map(helper, xs))"
PRELUDE = STUB[: STUB.index("\n\n\ndef f")].replace("\n\n\n", "\n")


def completed(completion: str, stub: str = STUB, *, entry_point: str | None = "f") -> str:
    code = extract(completion, continues=stub, entry_point=entry_point).code
    assert code is not None
    return code.rstrip()


@pytest.mark.parametrize(
    "completion",
    [
        pytest.param(BODY, id="as-it-is"),
        pytest.param("\n" + BODY + "\n\n", id="blank-lines-around"),
        pytest.param(BODY.lstrip(), id="first-line-stripped"),
        pytest.param(BODY.replace("\n    ", "\n").lstrip(), id="dedented"),
        pytest.param(" " + BODY.lstrip(), id="first-line-one-blank"),
        pytest.param("  " + BODY.replace("\n", "\n  "), id="too-deep"),
        pytest.param("```python\n" + BODY + "\n```", id="in-a-block"),
        pytest.param(
            "Here:\n```\n" + BODY.replace("\n    ", "\n").lstrip() + "\n```",
            id="dedented-in-a-block",
        ),
        pytest.param(BODY + "<|endoftext|>", id="end-token"),
        pytest.param("<think>hm</think>\n" + BODY, id="after-thinking"),
        pytest.param(BODY + "\n```\nThat is it.", id="closing-fence"),
    ],
)
def test_body_is_joined_to_the_prompt(completion: str) -> None:
    assert completed(completion) == STUB + BODY


def test_prompt_without_a_last_newline_is_joined_on_a_new_line() -> None:
    assert completed(BODY, STUB.rstrip()) == STUB + BODY


def test_prompt_that_ends_in_a_bare_header_is_continued() -> None:
    assert completed("return x", "def f(x):") == "def f(x):\n    return x"


def test_method_stub_is_continued_at_its_depth() -> None:
    stub = 'class Solution:\n    def f(self, x):\n        """Doc."""\n'
    code = completed("return x", stub, entry_point="Solution.f")
    assert code == stub + "        return x"


def test_code_after_the_body_is_kept() -> None:
    tail = BODY + "\n\n\ndef other():\n    return 1"
    assert completed(tail) == STUB + tail


def test_incomplete_rest_after_the_body_is_dropped() -> None:
    assert completed(BODY + "\n\n\ndef test_f():\n    assert f([1") == STUB + BODY
    assert completed(BODY + "\n\nThis function sums.") == STUB + BODY


def test_completion_that_repeats_the_prompt_is_taken_alone() -> None:
    assert completed(STUB + BODY) == STUB + BODY
    assert completed("```python\n" + STUB + BODY + "\n```") == STUB + BODY


def test_redefinition_gets_the_other_definitions_of_the_prompt() -> None:
    for text in (WHOLE, "```python\n" + WHOLE + "\n```"):
        code = completed(text)
        assert code.endswith(WHOLE)
        assert "import math" in code
        assert code.count("def f") == 1
        namespace: dict[str, object] = {}
        exec(compile(code, "x", "exec"), namespace)  # noqa: S102 - this file's own text
        assert namespace["f"]([1, 2]) == 6  # type: ignore[operator]


def test_redefinition_keeps_its_own_helper() -> None:
    own = "def helper(x):\n    return x\n\n" + WHOLE
    assert completed(own).count("def helper") == 1


def test_future_import_stays_first() -> None:
    code = completed('"""Doc."""\nfrom __future__ import annotations\n\n' + WHOLE)
    compile(code, "x", "exec")
    assert "def helper" in code


@pytest.mark.parametrize(
    "text", ["", "\n    \n", "Sorry", "I cannot do this.", "    # TODO", "```python\n```"]
)
def test_completion_with_nothing_to_join_gives_no_code(text: str) -> None:
    assert extract(text, continues=STUB, entry_point="f").code is None


def test_broken_body_is_joined_so_that_it_fails_to_compile() -> None:
    extraction = extract("    return (xs\n", continues=STUB, entry_point="f")
    assert extraction.code == STUB + "    return (xs\n"
    assert "do not parse" in extraction.note


def test_entry_point_is_read_from_the_prompt_when_not_given() -> None:
    assert completed(
        "So:\n```python\n" + WHOLE + "\n```\n```python\nprint(f([1]))\n```", entry_point=None
    ).endswith(WHOLE)


def test_prompt_of_prose_is_not_a_stub() -> None:
    assert completed(WHOLE, "Write a function f.") == WHOLE
