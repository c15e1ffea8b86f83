"""Programs in other languages than Python, in completions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.extract import extract
from grader.model.overrides import ExtractionRule

MAIN = "int main() {\n    return 0;\n}"
HELPER = "int helper() {\n    return 1;\n}"


def fenced(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```"


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        pytest.param(fenced("cpp", MAIN), MAIN, id="block"),
        pytest.param(fenced("cpp", f"\ufeff{MAIN}"), MAIN, id="byte order mark"),
        pytest.param(fenced("C++", MAIN), MAIN, id="alias"),
        pytest.param(
            f"First {fenced('python', 'print(1)')}\n\nthen\n\n{fenced('cpp', MAIN)}",
            MAIN,
            id="beside another language",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nCompile it:\n{fenced('bash', 'g++ x.cpp')}",
            MAIN,
            id="before a command",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nThis part matters:\n{fenced('cpp', HELPER)}",
            MAIN,
            id="before a part of it",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nBetter:\n{fenced('cpp', MAIN + ' // better')}",
            MAIN + " // better",
            id="the last of two",
        ),
        pytest.param(fenced("cpp", HELPER), HELPER, id="no whole program"),
        pytest.param(fenced("", MAIN), MAIN, id="no tag"),
        pytest.param(f"```cpp\n{MAIN}", MAIN, id="unclosed"),
        pytest.param(MAIN, MAIN, id="no block"),
        pytest.param(
            f"<think>{fenced('cpp', HELPER)}</think>\n{fenced('cpp', MAIN)}", MAIN, id="thinking"
        ),
    ],
)
def test_program_is_found(completion: str, code: str) -> None:
    found = extract(completion, language="cpp", is_program=True)
    assert (found.code, found.language) == (code, "cpp")


@pytest.mark.parametrize(
    ("completion", "note"),
    [
        pytest.param(fenced("python", "print(1)"), "blocks of 'python'", id="other language"),
        pytest.param("I cannot do this.", "no code block and no C\\+\\+17 program", id="prose"),
        pytest.param("", "empty", id="empty"),
        pytest.param("<think>int main() {", "thinking", id="unfinished"),
    ],
)
def test_answer_without_a_program_says_so(completion: str, note: str) -> None:
    found = extract(completion, language="cpp", is_program=True)
    assert (found.code, found.language) == (None, "cpp")
    assert re.search(note, found.note)


@pytest.mark.parametrize(
    ("completion", "language"),
    [
        pytest.param(fenced("cpp", MAIN), "cpp", id="C++"),
        pytest.param(fenced("lua", "print(1)"), "lua", id="a script"),
        pytest.param(f"{fenced('c', MAIN)}\n{fenced('sh', 'cc x.c')}", "c", id="with a command"),
        pytest.param(f"{fenced('py', 'print(1)')}\n{fenced('sh', 'ls')}", "python", id="python"),
        pytest.param("print(1)", "python", id="no block"),
    ],
)
def test_fence_tells_the_language_if_any_is_allowed(completion: str, language: str) -> None:
    found = extract(completion, language="any", is_program=True)
    assert found.language == language
    assert found.code


def test_rules_of_position_take_the_blocks_of_the_language() -> None:
    text = f"{fenced('cpp', HELPER)}\n{fenced('cpp', MAIN)}\n{fenced('sh', 'ls')}"
    first = extract(text, language="cpp", rule=ExtractionRule.FIRST_BLOCK)
    last = extract(text, language="cpp", rule=ExtractionRule.LAST_BLOCK)
    assert (first.code, last.code) == (HELPER, MAIN)


@given(st.text(), st.sampled_from(["cpp", "java", "any", "bash"]))
def test_any_text_is_read_without_an_error(text: str, language: str) -> None:
    found = extract(text, language=language, is_program=True)
    assert found.code is None or found.code.strip()
