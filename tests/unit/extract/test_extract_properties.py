"""What holds for every text, also a hostile one: no exception, linear time, nothing invented."""

import threading
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.extract import extract
from grader.extract.blocks import find_blocks
from grader.extract.source import SourceReader, Syntax
from grader.model.overrides import ExtractionRule
from grader.source.syntax import MAX_PARSE_CHARS

F = "def f(x):\n    return x + 1"
STUB = 'def f(x):\n    """Doc."""\n'

PIECES = [
    *("```", "````", "~~~", "```python", "```\n", "```bash\n", "`", "\n", " ", "    ", "\t"),
    *("<think>", "</think>", "[THINK]", "<answer>", "</answer>", "[PYTHON]", "[/PYTHON]"),
    *("<|im_start|>", "<|im_start|>assistant\n", "<|im_end|>", "</s>", "[INST]", "[/INST]"),
    *("<|channel|>analysis<|message|>", "<start_of_turn>model\n", "<<SYS>>", "<s>"),
    *(F, "def f(", "class f:", "return x", "import f", "x = 1", "'''", '"""', "'", '"', "#"),
    *("f'{x}'", "(", ")", "{", "[", ":", "\\", "\0", "\r", "\r\n", "\ufeff", "\ud800", "\udc00"),
    *("> ", "<pre><code>", "</code></pre>", '{"code": "', '"}', "@@\n", "+", "<<E\n", "\nE\n"),
    *("<|python_tag|>", "... ", "&lt;"),
    *("Here is the code", "é", "ａ", "\x0c", "\u2028", ">>> f(1)", "print(f(1))"),  # noqa: RUF001
]
messes = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join)
programs = st.lists(
    st.sampled_from(
        [
            "import sys",
            "x = '```'",
            'y = """\n```python\n</think>\n```\n"""',
            "z = '<|im_end|>' + '</s>' + \"[/INST]\"",
            "def g():\n    '''\n    ~~~\n    '''\n    return '<think>'",
            "# ```",
            "class A:\n    pass",
            "s = '\\d'",
            "",
        ]
    ),
    max_size=6,
).map(lambda parts: "\n".join([*parts, F, ""]))


@given(
    text=messes,
    prompt=messes,
    rule=st.sampled_from(ExtractionRule),
    entry_point=st.sampled_from(["f", "f.g", "f()", "(", "", None]),
    continues=st.sampled_from([STUB, "def f(x):", "(", "x = 1", None]) | messes,
)
@settings(deadline=None, max_examples=400)
def test_any_text_gives_code_that_can_be_written_or_a_reason(
    text: str,
    prompt: str,
    rule: ExtractionRule,
    entry_point: str | None,
    continues: str | None,
) -> None:
    extraction = extract(
        text, prompt=prompt, rule=rule, entry_point=entry_point, continues=continues
    )
    assert extraction.note.endswith(".")
    assert "\n" not in extraction.note
    if extraction.code is not None:
        assert extraction.code.strip()
        extraction.code.encode()


@given(text=messes)
@example(text="<answer>[PYTHON]")
@settings(deadline=None, max_examples=200)
def test_blocks_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for block in find_blocks(text, SourceReader()):
        assert end <= block.opener <= block.start <= block.end <= len(text)
        end = block.end


@given(code=programs)
@settings(deadline=None)
def test_plain_code_comes_out_unchanged(code: str) -> None:
    assert extract(code, entry_point="f").code == code


@given(code=programs, before=st.sampled_from(["", "Sure:\n", "<think>hm</think>\n", "1. So\n"]))
@settings(deadline=None)
def test_code_in_a_longer_fence_comes_out_unchanged(code: str, before: str) -> None:
    text = f"{before}````python\n{code}\n````\nDone."
    assert extract(text, entry_point="f").code == code


@given(text=messes)
@settings(deadline=None, max_examples=200)
def test_what_was_extracted_is_extracted_again(text: str) -> None:
    code = extract(text, entry_point="f").code
    if code is not None and SourceReader().read(code).defines("f"):
        assert extract(code, entry_point="f").code == code


@given(prompt=st.text(alphabet="ab `\n~#", min_size=1).filter(str.strip))
@settings(deadline=None, max_examples=200)
def test_only_a_prompt_at_the_start_is_cut(prompt: str) -> None:
    answer = f"So:\n```python\n{F}\n```\n"
    assert extract(prompt + answer, prompt=prompt, entry_point="f").code == F
    assert extract(answer + prompt + "\n", prompt=prompt, entry_point="f").code == F


@given(text=messes)
@settings(deadline=None, max_examples=200)
def test_livecodebench_rule_is_the_harness_of_records(text: str) -> None:
    text = text.replace("think>", "").replace("THINK]", "").replace("\r", "").replace("\0", "")
    text = text.encode(errors="ignore").decode().lstrip("\ufeff")
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    expected = "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""
    code = extract(text, rule=ExtractionRule.LIVECODEBENCH).code
    assert (code or "").strip() == expected.strip()


# ---------------------------------------------------------------- time

SIZE = 10_000_000

HOSTILE = {
    "fences": "```\n",
    "python-fences": "```python\n",
    "closed-blocks": "```python\na=1\n```\nx\n",
    "fences-in-docstrings": '```python\n"""\n',
    "fences-on-one-line": "``` x",
    "backticks": "``x",
    "think-tags": "<think></think>",
    "closing-think-tags": "</think>",
    "chat-turns": "<|im_start|>assistant\n",
    "half-tokens": "<|",
    "markers": "[PYTHON]x[/PYTHON]\n",
    "newlines-and-word": "\n",
    "imports": "import a,",
    "statements": "x=1\n",
    "definitions": "def f(",
    "brackets": "(",
    "surrogates": "\ud800",
    "carriage-returns": "\r",
    "dense-blocks": "```python\n" + "a;" * 30_000 + "\n```\n",
    "quoted-lines": "> x\n",
    "html": "<code><pre>",
    "closing-html": "</code></pre>\n",
    "json": '{"a": [\n',
    "json-texts": '{"a": "{\\"b\\": \\"c\\"}"}\n',
    "hunks": "@@\n+a\n",
    "prompted-lines": ">>> a\n",
    "here-documents": "<<E\n",
    "indented-lines": "    a\n    \n",
    "f-string-blocks": "```python\nf'" + "{a}" * 3_900 + "x" * 40_000 + "'\n```\n",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_ten_megabytes_do_not_take_long(unit: str) -> None:
    text = "x" + unit * (SIZE // len(unit))
    started = time.thread_time()
    extract(text, entry_point="f", continues=STUB, prompt="Write f.")
    assert time.thread_time() - started < 3.0


@pytest.mark.parametrize("rule", ExtractionRule)
def test_a_repetitive_prompt_is_compared_in_linear_time(rule: ExtractionRule) -> None:
    text = "ab" * (SIZE // 4)
    started = time.thread_time()
    extract(text + "\n" + F, prompt="x" + text + "c", rule=rule)
    assert time.thread_time() - started < 3.0


# ---------------------------------------------------------------- the parser


@pytest.mark.parametrize(
    "bomb",
    [
        "(" * 50_000,
        "[" * 90 + "]" * 90,
        "(" * 150 + ")" * 150,
        "-" * 60_000 + "1",
        "not " * 15_000 + "1",
        "lambda:" * 9_000 + "1",
        "a" + ".b" * 30_000,
        "1" + "+1" * 30_000,
        "x if y else " * 5_000 + "z",
        "if 1:\n x\n" + "elif 1:\n x\n" * 5_000,
        "if 1:\n x\n" + "elif 1:\n x\n" * 1_500,
        "a" + ".b" * 1_500,
        "1" + "+1" * 1_500,
        "".join(" " * depth + "if 1:\n" for depth in range(150)) + " " * 150 + "pass",
        "f'" + "{a}" * 20_000 + "'",
        "x = " + "9" * 50_000,
        "{" * 5_000,
        "print " * 10_000,
        "\\\n" * 30_000,
    ],
    ids=lambda bomb: f"{len(bomb)}-of-{bomb[:8].strip()}",
)
def test_parser_bombs_are_survived_on_a_small_stack(bomb: str) -> None:
    text = f"def f(x): pass\n{bomb}\n"
    codes: list[str | None] = []
    cpu_times_s: list[float] = []

    def work() -> None:
        codes.append(extract(f"```python\n{text}```", entry_point="f").code)
        cpu_times_s.append(time.thread_time())

    before = threading.stack_size(1024 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert codes == [text[:-1]]
    assert cpu_times_s[0] < 5


def test_doubtful_escapes_neither_warn_nor_fail() -> None:
    code = "def f(x):\n    return '\\d' is 1"
    reader = SourceReader()
    assert reader.read(code).syntax is Syntax.VALID


def test_text_above_the_cap_is_taken_without_parsing() -> None:
    code = "X = [\n" + "1,\n" * MAX_PARSE_CHARS + "]\n" + F
    extraction = extract(f"```python\n{code}\n```", entry_point="f")
    assert extraction.code == code
    assert "too large" in extraction.note
    assert extract(code, entry_point="f").code == code


def test_budget_bounds_parsing_and_not_what_is_found() -> None:
    filler = "```python\nx = [" + "1, " * 15_000 + "]\n```\n"
    text = filler + f"```python\n{F}\n```\n" + filler * 8
    code = extract(text, entry_point="f").code
    assert code == F


@pytest.mark.parametrize(
    ("tail", "drop_code", "statements"),
    [
        ("That is all.\n", False, 2),
        ("That is all.\n", True, 2),
        ("print(f(1)\n", True, 2),
        ("print(f(1)\n", False, None),
        ("def g(:\n    pass\nThat is all.\n", False, None),
    ],
)
def test_reader_drops_prose_and_broken_code_only_when_told(
    tail: str, drop_code: bool, statements: int | None
) -> None:
    reading = SourceReader().read_leading(f"{F}\n\ny = 2\n{tail}", drop_code=drop_code)
    assert (len(reading.tree.body) if reading.tree else None) == statements


@pytest.mark.parametrize("opening", ["```python\n", "<think>\n", "  <answer>\n"])
def test_no_code_begins_with_a_fence_or_tag(opening: str) -> None:
    """Whatever comes then is not parsed. The parser would name an error further down here."""
    reading = SourceReader().read(f"\n{opening}x = 1\ny = '''\n")
    assert reading.syntax is Syntax.BROKEN
    assert reading.error_line == 2
