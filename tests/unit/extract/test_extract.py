"""The code that is taken from completions: one table for each kind of completion."""

import html
import json
from collections.abc import Callable

import pytest

from grader.extract import extract
from grader.extract.source import SourceReader
from grader.extract.text import after_prompt
from grader.model.overrides import ExtractionRule

F = "def f(x):\n    return x + 1"
G = "def f(x):\n    return x - 1"
USE = "print(f(3))"


def block(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}\n{fence}\n"


def found(text: str, *, entry_point: str | None = "f", prompt: str = "") -> str | None:
    return extract(text, entry_point=entry_point, prompt=prompt).code


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(F), id="python"),
        pytest.param(block(F, "py"), id="py"),
        pytest.param(block(F, "python3"), id="python3"),
        pytest.param(block(F, "Python 3"), id="capital-with-version"),
        pytest.param(block(F, "{.python .numberLines}"), id="pandoc"),
        pytest.param(block(F, 'python title="solution.py"'), id="attributes"),
        pytest.param(block(F, ""), id="no-tag"),
        pytest.param(block(F, " python "), id="blanks-round-tag"),
        pytest.param(block(F, fence="````"), id="four-backticks"),
        pytest.param(block(F, fence="`````````"), id="nine-backticks"),
        pytest.param(block(F, fence="~~~"), id="tildes"),
        pytest.param("```python\n" + F + "\n`````", id="longer-closing-fence"),
        pytest.param("```python\n" + F + "\n```   \nDone.", id="blanks-after-closing-fence"),
        pytest.param("Sure! Here you go: ```python\n" + F + "\n```", id="fence-ends-prose-line"),
        pytest.param("```\npython\n" + F + "\n```", id="tag-on-its-own-line"),
        pytest.param(block(F) + block("8", "output"), id="output-block"),
        pytest.param(block(F) + block("pip install x", "bash"), id="bash-block"),
        pytest.param(block(F) + block('{"def": 1}', "json"), id="json-block"),
        pytest.param(block(F) + block("8", ""), id="untagged-output"),
        pytest.param(block(F) + block(USE), id="usage-example"),
        pytest.param(block(G) + "Wait, no:\n" + block(F), id="corrected"),
        pytest.param(block(F) + block("def f(x:\n  return"), id="later-one-broken"),
        pytest.param(block(F) + block(""), id="later-one-empty"),
        pytest.param(block(F) + "```python\n" + "def f(x", id="later-one-cut-off"),
        pytest.param(block(F) + "```python\n" + G, id="complete-before-unfinished"),
        pytest.param(
            "> note\n\n1. Code:\n\n   ```python\n   " + F.replace("\n", "\n   ") + "\n   ```",
            id="in-a-list",
        ),
        pytest.param(
            "```python\n    " + F.replace("\n", "\n    ") + "\n```", id="indented-content"
        ),
        pytest.param("Draft:\n```python\nx = [\n" + block(F), id="earlier-one-not-closed"),
        pytest.param(block("\n" + block(F), "markdown"), id="nested-in-markdown"),
        pytest.param(F + "\n```\nThat closes the block.", id="only-a-closing-fence"),
        pytest.param(F + "\n```\nUse:\n" + block(USE), id="closing-fence-then-usage"),
        pytest.param("[PYTHON]\n" + F + "\n[/PYTHON]", id="codellama"),
        pytest.param(
            "[PYTHON]" + F + "[/PYTHON]\n[TESTS]\nassert f(1)\n[/TESTS]", id="codellama-inline"
        ),
        pytest.param("[PYTHON]\n" + block(F) + "[/PYTHON]", id="codellama-with-fence"),
        pytest.param("[BEGIN]\n" + F + "\n[DONE]", id="mbpp"),
        pytest.param(F + "\n[DONE]", id="mbpp-begun-by-the-prompt"),
        pytest.param(F + "\n[DONE]\nYour task:\n[BEGIN]\nx = 1\n[DONE]", id="mbpp-goes-on"),
        pytest.param("<answer>\n" + block(F) + "</answer>", id="answer-tag-with-fence"),
        pytest.param("<answer>" + F + "</answer>", id="answer-tag"),
        pytest.param("<code>\n" + F + "\n</code>", id="code-tag"),
        pytest.param("```python\n" + F, id="unfinished"),
        pytest.param("```python\n" + F + "</answer>", id="unfinished-before-tag"),
        pytest.param("```python\n" + F + "```\nThat's it.", id="closing-fence-glued-to-code"),
        pytest.param("```python\n" + F + "\n\nThis adds one to x.", id="unfinished-then-prose"),
        pytest.param(
            "```python\n" + F + "\n\ndef test():\n    assert f(1", id="unfinished-after-f"
        ),
    ],
)
def test_block_that_defines_the_entry_point_is_taken(text: str) -> None:
    code = found(text)
    assert code is not None
    assert code.strip() == F


@pytest.mark.parametrize("quotes", ['"""', "'''"])
@pytest.mark.parametrize("indent", ["", "  ", "    "])
def test_fences_inside_a_docstring_do_not_close_the_block(quotes: str, indent: str) -> None:
    code = (
        f"def f(x):\n    {quotes}Add one.\n\n{indent}```python\n{indent}>>> f(1)\n{indent}```\n"
        f"    {quotes}\n    return x + 1"
    )
    text = block(G) + block(code) + "Use it:\n" + block(USE)
    assert found(text) == code


def test_fence_inside_a_longer_fence_is_content() -> None:
    code = 'README = """\n```python\nf(1)\n```\n"""\n' + F
    assert found(block(code, fence="````")) == code


def test_backticks_inside_a_string_do_not_end_the_block() -> None:
    code = 'def f(x):\n    return "```" + x + "~~~"'
    assert found("So:\n" + block(code)) == code


def test_last_block_that_parses_wins_when_several_define_the_entry_point() -> None:
    assert found(block(F) + block(G) + block("def g(): pass")) == G


@pytest.mark.parametrize(
    ("entry_point", "code"),
    [
        ("Solution", "class Solution:\n    pass"),
        ("Solution.two_sum", "class Solution:\n    def two_sum(self): pass"),
        ("Solution.two_sum", "class Base: pass\nclass Solution(Base):\n    pass"),
        ("Solution().two_sum", "class Solution:\n    def two_sum(self): pass"),
        ("f", "f = lambda x: x"),
        ("f", "from math import sqrt as f"),
        ("f", "try:\n    from fast import f\nexcept ImportError:\n    def f(x): return x"),
        ("f", "if True:\n    async def f(x): return x"),
        ("f", "f: object = len"),
        ("f", "g, (f, *_) = 1, (2, 3)"),
        ("f", "for f in [len]: pass"),
    ],
)
def test_every_way_to_define_an_entry_point_counts(entry_point: str, code: str) -> None:
    text = block(code) + block("class Other:\n    def two_sum(self): pass\nx = 1")
    assert found(text, entry_point=entry_point) == code


def test_a_local_name_does_not_define_the_entry_point() -> None:
    text = block(F) + block("def g():\n    def f(): pass\n    f = 1\n    return f")
    assert found(text) == F


def test_code_that_does_not_parse_is_still_taken() -> None:
    broken = "def f(x)\n    return x"
    extraction = extract("So:\n" + block(broken) + block(USE), entry_point="f")
    assert extraction.code == broken
    assert "does not parse" in extraction.note


def test_block_of_another_language_is_not_taken() -> None:
    extraction = extract(block("int main() { return 0; }", "cpp"))
    assert extraction.code is None
    assert extraction.note == "No code block of the answer holds Python statements."


# ---------------------------------------------------------------- code that is wrapped

ESCAPED = "def f(x):\n    return x + (1 < 2 and x > -9 & 1)"


def indented(code: str) -> str:
    return "    " + code.replace("\n", "\n    ")


def prefixed(prefix: str, code: str) -> str:
    return "\n".join(prefix + line for line in code.split("\n"))


WRAPPED = {
    "block-quote": lambda code: "So:\n\n" + prefixed("> ", block(code)),
    "indented": lambda code: f"So:\n\n{indented(code)}\n\nDone.",
    "indented-parts": lambda code: f"First\n\n{indented('K = 1')}\n\nthen\n\n{indented(code)}\n",
    "html": lambda code: f'<pre><code class="language-python">{html.escape(code)}</code></pre>',
    "pre": lambda code: f'<p>So:</p><pre lang="python">\n{html.escape(code)}\n</pre>',
    "escaped": lambda code: block(html.escape(code)),
    "json": lambda code: json.dumps({"thoughts": "print it", "code": code}, indent=2),
    "json-in-a-block": lambda code: block(json.dumps({"solution": code}), "json"),
    "json-with-a-block": lambda code: json.dumps({"answer": f"So:\n{block(code)}"}),
    "tool-call": lambda code: (
        "<tool_call>\n"
        + json.dumps({"name": "run", "arguments": json.dumps({"code": code})})
        + "\n</tool_call>"
    ),
    "llama-tool-call": lambda code: f"<|python_tag|>{code}<|eom_id|>",
    "new-file-in-a-diff": lambda code: block(
        f"--- /dev/null\n+++ b/solution.py\n@@ -0,0 +1,2 @@\n{prefixed('+', code)}", "diff"
    ),
    "diff-without-fence": lambda code: (
        f"diff --git a/a.py b/a.py\n@@ -1 +1,3 @@\n-x = 1\n X = 2\n{prefixed('+', code)}\n"
    ),
    "patch-that-adds-a-file": lambda code: (
        f"*** Begin Patch\n*** Add File: a.py\n{prefixed('+', code)}\n*** End Patch"
    ),
    "search-and-replace": lambda code: block(
        f"<<<<<<< SEARCH\n=======\n{code}\n>>>>>>> REPLACE", "python"
    ),
    "interpreter": lambda code: block(
        prefixed("... ", code).replace("... ", ">>> ", 1).replace("... print", ">>> print")
    ),
    "here-document": lambda code: block(f"cat > a.py <<'EOF'\n{code}\nEOF\npython3 a.py", "bash"),
    "longer-fence": lambda code: block("So:\n" + block(code), "markdown", "````"),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED.keys())
@pytest.mark.parametrize(
    ("code", "entry_point"),
    [(ESCAPED, "f"), ("n = int(input())\nprint(n > 2)", None)],
    ids=["function", "program"],
)
def test_code_is_taken_out_of_what_it_is_wrapped_in(
    wrap: Callable[[str], str], code: str, entry_point: str | None
) -> None:
    taken = found(wrap(code), entry_point=entry_point)
    assert taken is not None
    assert taken.strip().endswith(code)
    assert SourceReader().read(taken).valid


def test_examples_in_a_docstring_do_not_continue_the_prompt() -> None:
    stub = 'def f(x):\n    """Add one.\n\n    >>> f(1)\n    2\n    """\n'
    extraction = extract(f"So::\n\n{indented(stub + '    return x + 1')}\n", continues=stub)
    assert extraction.code is not None
    assert extraction.code.strip() == f"{stub}    return x + 1"


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED.keys())
def test_wrapped_code_does_not_replace_an_answer(wrap: Callable[[str], str]) -> None:
    assert found(block(F) + "\nNot so:\n\n" + wrap(ESCAPED)) == F
    assert found("<think>\n" + wrap(ESCAPED) + "\n</think>\nI give up.") is None


@pytest.mark.parametrize("mark", ["</code>", "```", "</answer>"])
def test_fragment_ends_at_a_mark_that_the_prompt_opened(mark: str) -> None:
    fragment = "result = df['a'].sum()"
    taken = found(f"{fragment}\n{mark}\nEND SOLUTION\n", entry_point=None)
    assert taken is not None
    assert taken.strip() == fragment


# ---------------------------------------------------------------- programs without entry point

PROGRAM = "n = int(input())\nprint(n * 2)"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(PROGRAM), id="one"),
        pytest.param(block(PROGRAM) + "Output:\n" + block("8", ""), id="output"),
        pytest.param(block(PROGRAM) + "Input:\n" + block("3 4\n1 2", "text"), id="input"),
        pytest.param(block(PROGRAM) + "Prints:\n" + block("YES", ""), id="word"),
        pytest.param(
            block(PROGRAM) + "The line\n" + block("print(n * 2)") + "doubles.", id="fragment"
        ),
        pytest.param(
            block(PROGRAM) + "First\n" + block("n = int(input())") + "reads.", id="first-line"
        ),
        pytest.param("Here it is:\n\n" + PROGRAM, id="prose-before"),
        pytest.param(
            "Here it is:\n\n" + PROGRAM + "\n\nThis doubles the number.", id="prose-around"
        ),
        pytest.param(PROGRAM + "\n\nThis doubles the number.", id="prose-after"),
        pytest.param("```python\n" + PROGRAM + "\n\nThis doubles the number.", id="unfinished"),
    ],
)
def test_whole_program_is_preferred_without_an_entry_point(text: str) -> None:
    code = found(text, entry_point=None)
    assert code is not None
    assert code.strip() == PROGRAM


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "Thanks",
        "Yes, it is",
        "8",
        "I cannot solve this.",
        "Answer: no",
        "```",
        "# TODO",
    ],
)
def test_text_without_statements_is_not_taken(text: str) -> None:
    assert extract(text).code is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "The answer is empty."),
        ("I give up.", "The answer has no code block and does not read as code."),
        (block(""), "Every code block of the answer is empty."),
        ("<think>hm", "The answer ends inside a thinking section; code in one is a draft."),
    ],
)
def test_note_says_why_there_is_no_code(text: str, note: str) -> None:
    assert extract(text).note == note


# ---------------------------------------------------------------- plain code and encodings


@pytest.mark.parametrize(
    "code",
    [
        F,
        "\n\n" + F + "\n\n",
        'def f(x):\n    """Like this:\n\n    ```python\n    f(1)\n    ```\n    """\n    return x',
        'def f(x):\n    return x.split("</think>")[-1].replace("<|im_end|>", "")',
        'PROMPT = """<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n<think>\n"""\n' + F,
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + F,
    ],
)
def test_plain_code_comes_out_as_it_went_in(code: str) -> None:
    assert found(code) == code


def test_assignments_above_the_first_definition_are_kept() -> None:
    code = "MOD = 7\n\nimport sys\n\n" + F
    found_code = found("Here is my answer.\n\n" + code + "\n\nIt is fast.")
    assert found_code is not None
    assert found_code.strip() == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(F.replace("\n", "\r\n"), F, id="crlf"),
        pytest.param(block(F).replace("\n", "\r\n"), F, id="crlf-block"),
        pytest.param(F.replace("\n", "\r"), F, id="cr"),
        pytest.param("\ufeff" + F, F, id="bom"),
        pytest.param("\0\0" + F + "\0\0", F, id="nul"),
        pytest.param(F + '\nS = "\ud83d\ude00"', F + '\nS = "\U0001f600"', id="surrogate-pair"),
        pytest.param(F + '\nS = "\ud800"', F + '\nS = "?"', id="lone-surrogate"),
    ],
)
def test_text_is_cleaned_for_the_parser(text: str, code: str) -> None:
    assert found(text) == code


# ---------------------------------------------------------------- thinking


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"<think>{block(G)}</think>\n{block(F)}", id="section"),
        pytest.param(f"{block(G)}</think>\n{block(F)}", id="opened-by-the-prompt"),
        pytest.param(f"```python\n{G}\n</think>\n{block(F)}", id="draft-not-closed"),
        pytest.param(f"<think>```\n{G}\n</think>\n{block(F)}", id="draft-not-closed-in-section"),
        pytest.param(f"<think>a<think>b</think>{block(G)}</think>{block(F)}", id="nested"),
        pytest.param(f"<think>say </think> {block(G)}</think>{block(F)}", id="closed-twice"),
        pytest.param(f"<think>a</think>{block(F)}</think>", id="stray-at-the-end"),
        pytest.param(f"<think>a</think>{block(F)}<think>b{block(G)}</think>", id="second-section"),
        pytest.param(f"<think>a</think>{block(F)}<think>b{block(G)}", id="second-unfinished"),
        pytest.param(f"<think>a</think>Use `<think>`:\n{block(F)}", id="mention"),
        pytest.param(f"<thinking>{block(G)}</thinking>{block(F)}", id="thinking"),
        pytest.param(f"<reasoning>{block(G)}</reasoning><answer>{F}</answer>", id="reasoning"),
        pytest.param(f"[THINK]{block(G)}[/THINK]{block(F)}", id="mistral"),
        pytest.param(f"◁think▷{block(G)}◁/think▷{block(F)}", id="kimi"),
        pytest.param(f"<think>\n\n</think>\n\n{F}\n", id="plain-code-after"),
    ],
)
def test_thinking_is_dropped(text: str) -> None:
    code = found(text)
    assert code is not None
    assert code.strip() == F


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        pytest.param(f"<think>{block(F)}", "", id="open"),
        pytest.param(f"<think>a</think><think>{block(F)}", "", id="open-again"),
        pytest.param(block(F), "Write f.<think>\n", id="opened-by-the-prompt"),
        pytest.param(F, "Write f.<think>\n", id="plain-opened-by-the-prompt"),
        pytest.param(f"<think>{block(F)}</think>", "", id="nothing-after"),
        pytest.param(f"{block(F)}</think>\n", "", id="nothing-after-prompt's-section"),
    ],
)
def test_code_inside_thinking_is_not_taken(text: str, prompt: str) -> None:
    assert found(text, prompt=prompt) is None


def test_thinking_tags_inside_a_block_are_kept() -> None:
    code = 'def f(x):\n    return x.split("<think>")[0] + x.split("</think>")[-1]'
    assert found(f"<think>{G}</think>\nSo:\n{block(code)}") == code


# ---------------------------------------------------------------- chats


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(F) + "<|im_end|>", id="chatml-end"),
        pytest.param(F + "</s>", id="eos-after-code"),
        pytest.param(F + "\n<|endoftext|>Human: next task\n" + G, id="runaway"),
        pytest.param("```python\n" + F + "<|eot_id|>", id="eos-in-unfinished-block"),
        pytest.param(f"{block(F)}<|im_end|>\n<|im_start|>user\n{block(G)}", id="made-up-user"),
        pytest.param(
            f"<|im_start|>user\n{block(G)}<|im_end|>\n<|im_start|>assistant\n{block(F)}<|im_end|>",
            id="chatml",
        ),
        pytest.param(
            f"tail of a prompt {block(G)}<|im_end|>\n<|im_start|>assistant\n{block(F)}",
            id="chatml-cut-on-the-left",
        ),
        pytest.param(
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            f"<|start_header_id|>assistant<|end_header_id|>\n\n{block(F)}<|eot_id|>",
            id="llama3",
        ),
        pytest.param(
            f"<s>[INST] <<SYS>>\nBe good.\n<</SYS>>\n\n{G} [/INST] {block(F)}</s>", id="llama2"
        ),
        pytest.param(
            f"<bos><start_of_turn>user\n{G}<end_of_turn>\n<start_of_turn>model\n{F}<end_of_turn>",
            id="gemma",
        ),
        pytest.param(f"<|user|>\n{G}<|end|>\n<|assistant|>\n{F}<|end|>", id="phi"),
        pytest.param(
            f"<｜begin▁of▁sentence｜><｜User｜>{G}<｜Assistant｜><think>\n{G}\n</think>\n\n"  # noqa: RUF001
            f"{block(F)}<｜end▁of▁sentence｜>",  # noqa: RUF001
            id="deepseek",
        ),
        pytest.param(
            f"<|channel|>analysis<|message|>{block(G)}<|end|><|start|>assistant"
            f"<|channel|>final<|message|>{block(F)}<|return|>",
            id="harmony",
        ),
        pytest.param(
            f"<|im_start|>user\nf?<|im_end|>\n<|im_start|>assistant\n{block(G)}<|im_end|>\n"
            f"<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n{block(F)}<|im_end|>",
            id="second-turn",
        ),
        pytest.param(
            f"<|im_start|>user\nf?<|im_end|>\n<|im_start|>assistant\n{block(F)}<|im_end|>\n"
            "<|im_start|>user\nThanks!<|im_end|>\n<|im_start|>assistant\nMy pleasure.<|im_end|>",
            id="pleasantries",
        ),
    ],
)
def test_answer_is_found_in_a_chat(text: str) -> None:
    code = found(text)
    assert code is not None
    assert code.strip() == F


def test_chat_tokens_inside_a_block_are_kept() -> None:
    code = 'def f(x):\n    T = """<|im_start|>user\n{x}<|im_end|>\n"""\n    return T + "</s>"'
    assert found("So:\n" + block(code) + "<|im_end|>") == code


# ---------------------------------------------------------------- prompts

PROMPT = "Write f(x), like this:\n```python\ndef g(x):\n    return x\n```\nThank you very much.\n"


def test_prompt_at_the_start_is_cut() -> None:
    assert found(PROMPT + block(F), prompt=PROMPT) == F
    assert found(PROMPT + F, prompt=PROMPT) == F


def test_prompt_repeated_in_the_answer_cuts_nothing() -> None:
    assert found(block(F) + PROMPT, prompt=PROMPT) == F
    assert found(PROMPT + block(F) + PROMPT, prompt=PROMPT) == F


def test_left_truncated_prompt_is_cut() -> None:
    assert extract(PROMPT[30:] + PROGRAM, prompt=PROMPT).code == PROGRAM


def test_begin_token_before_the_prompt_does_not_hide_it() -> None:
    assert found("<s>" + PROMPT + F, prompt=PROMPT) == F


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        pytest.param("<s>[INST] Q [/INST]", "<s> [INST] Q [/INST]", id="behind the first token"),
        pytest.param("[INST] Q [/INST]", "<s><s> [INST] Q [/INST]", id="tokens were added"),
        pytest.param(
            "<s>[INST] Q [/INST] x=1 </s><s>[INST] R [/INST]",
            "<s> [INST] Q [/INST] x=1 </s><s> [INST] R [/INST]",
            id="in the middle",
        ),
        pytest.param("Q: x = 1\nA:", "<s> Q: x = 1\nA:", id="no template"),
        pytest.param("  Q: x = 1\nA:", "<s>   Q: x = 1\nA:", id="a blank itself"),
    ],
)
def test_prompt_is_cut_off_as_tokenizers_decode_it(prompt: str, query: str) -> None:
    program = "print('<s> is kept')\n"
    assert after_prompt(query + program, prompt) == program
    assert after_prompt(query.replace("Q", "P") + program, prompt) is None


def test_short_overlap_with_the_prompts_end_is_not_cut() -> None:
    prompt = "Continue.\n```python\n"
    assert found("```python\n" + F + "\n```", prompt=prompt) == F


@pytest.mark.parametrize("entry_point", ["f", None])
def test_block_quoted_from_the_prompt_is_not_the_answer(entry_point: str | None) -> None:
    text = "You said:\n" + block("def g(x):\n    return x") + "I do not know."
    extraction = extract(text, prompt=PROMPT, entry_point=entry_point)
    assert extraction.code is None
    assert extraction.note == "The only code of the answer is quoted from the prompt."


def test_quoted_block_that_defines_the_entry_point_is_the_last_resort() -> None:
    prompt = "Is this right?\n" + block(F)
    assert found(block(F), prompt=prompt) == F
    assert found(block(F) + "Better:\n" + block(G) + "than\n" + block(F), prompt=prompt) == G


@pytest.mark.parametrize("whole_query", [True, False])
def test_code_that_the_prompt_begins_is_completed(whole_query: bool) -> None:
    prompt = "Complete this.\n```python\nimport math\n\ndef f(x):\n"
    answer = "    return math.sqrt(x)\n```\nDone."
    code = found(prompt + answer if whole_query else answer, prompt=prompt)
    assert code == "import math\n\ndef f(x):\n    return math.sqrt(x)"


# ---------------------------------------------------------------- rules


def test_rules_of_position_take_first_and_last() -> None:
    text = block(F) + block("ls", "bash") + block(USE)
    assert extract(text, rule=ExtractionRule.FIRST_BLOCK).code == F
    assert extract(text, rule=ExtractionRule.LAST_BLOCK).code == USE


def test_last_block_that_is_empty_gives_no_code() -> None:
    extraction = extract(block(F) + block(""), rule=ExtractionRule.LAST_BLOCK)
    assert extraction == extract(block(""), rule=ExtractionRule.LAST_BLOCK)
    assert extraction.code is None


def test_rules_of_position_fall_back_to_unfinished_blocks_and_text() -> None:
    for rule in (ExtractionRule.FIRST_BLOCK, ExtractionRule.LAST_BLOCK):
        assert extract("```python\n" + F, rule=rule).code == F
        assert extract("Well:\n\n" + F, rule=rule).code == F
        assert extract("<think>" + block(F), rule=rule).code is None


def test_verbatim_takes_everything() -> None:
    text = "<think>\r\n" + block(F)
    assert extract(text, rule=ExtractionRule.VERBATIM, prompt="<think>").code == text
    assert extract(" \n", rule=ExtractionRule.VERBATIM).code is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```python\nx\n```\nb", "x"),
        ("```\n1\n```\n```\n2\n```", "2"),
        ("```\n1\n```\n```\n2", None),
        ("see ``` here\ncode\nand ``` there", "code"),
        ("```python\nx", None),
        ("x", None),
        ("```x```", None),
        ("```\n\n```", None),
        ("```\nx = '```'\ny\n```", "y"),
    ],
)
def test_livecodebench_rule_takes_text_between_last_two_fence_lines(
    text: str, code: str | None
) -> None:
    assert extract(text, rule=ExtractionRule.LIVECODEBENCH).code == code
