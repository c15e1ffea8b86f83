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


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param("ruby", "def twice(n)\n  2 * n\nend", id="Ruby"),
        pytest.param("javascript", "const twice = (n) => 2 * n;", id="JavaScript"),
        pytest.param("rust", "pub fn twice(n: i64) -> i64 {\n    2 * n\n}", id="Rust"),
        pytest.param("java", "class A {\n  long twice(long n) throws E {\n  }\n}", id="Java"),
        pytest.param("bash", "twice() {\n  echo $((2 * $1))\n}", id="Bash"),
        pytest.param("r", "twice <- function(n) 2 * n", id="R"),
        pytest.param("lua", "function M.twice(n) return 2 * n end", id="Lua"),
        pytest.param("cpp", "vector<int> twice(vector<int> n) {\n  return n;\n}", id="C++"),
    ],
)
def test_block_that_defines_the_function_is_taken_though_a_longer_one_calls_it(
    language: str, code: str
) -> None:
    calls = "\n".join(f"if twice({n}) == {2 * n} {{ print(twice({n})) }}" for n in range(20))
    for completion in (
        f"{fenced(language, code)}\nTry it:\n{fenced(language, calls)}",
        f"Used as\n{fenced(language, calls)}\nif\n{fenced(language, code)}",
    ):
        assert extract(completion, language=language, entry_point="twice").code == code
