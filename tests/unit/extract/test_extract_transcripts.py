"""Transcripts of every chat format, put together from parts, in which the answer is known."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.extract import extract
from grader.rewards.response import response_of

# ---------------------------------------------------------------- chat formats


@dataclass(frozen=True, kw_only=True)
class Template:
    """The form of a model's turns. `{}` is the text of a turn."""

    system: str
    user: str
    assistant: str
    """The beginning of the assistant's turn."""
    end: str
    """The end of the assistant's turn."""
    start: str = ""
    """The beginning of a conversation."""
    thinking: tuple[str, str] = ("<think>", "</think>")


TEMPLATES = {
    "chatml": Template(
        system="<|im_start|>system\n{}<|im_end|>\n",
        user="<|im_start|>user\n{}<|im_end|>\n",
        assistant="<|im_start|>assistant\n",
        end="<|im_end|>",
    ),
    "deepseek": Template(
        start="<｜begin▁of▁sentence｜>",  # noqa: RUF001
        system="{}",
        user="<｜User｜>{}",  # noqa: RUF001
        assistant="<｜Assistant｜>",  # noqa: RUF001
        end="<｜end▁of▁sentence｜>",  # noqa: RUF001
    ),
    "llama-3": Template(
        start="<|begin_of_text|>",
        system="<|start_header_id|>system<|end_header_id|>\n\n{}<|eot_id|>",
        user="<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>",
        assistant="<|start_header_id|>assistant<|end_header_id|>\n\n",
        end="<|eot_id|>",
    ),
    "llama-4": Template(
        start="<|begin_of_text|>",
        system="<|header_start|>system<|header_end|>\n\n{}<|eot|>",
        user="<|header_start|>user<|header_end|>\n\n{}<|eot|>",
        assistant="<|header_start|>assistant<|header_end|>\n\n",
        end="<|eot|>",
    ),
    "granite": Template(
        system="<|start_of_role|>system<|end_of_role|>{}<|end_of_text|>\n",
        user="<|start_of_role|>user<|end_of_role|>{}<|end_of_text|>\n",
        assistant="<|start_of_role|>assistant<|end_of_role|>",
        end="<|end_of_text|>",
    ),
    "kimi": Template(
        system="<|im_system|>system<|im_middle|>{}<|im_end|>",
        user="<|im_user|>user<|im_middle|>{}<|im_end|>",
        assistant="<|im_assistant|>assistant<|im_middle|>",
        end="<|im_end|>",
        thinking=("◁think▷", "◁/think▷"),
    ),
    "glm-4": Template(
        start="[gMASK]<sop>",
        system="<|system|>\n{}",
        user="<|user|>\n{}",
        assistant="<|assistant|>\n",
        end="<|user|>",
    ),
    "command-r": Template(
        start="<BOS_TOKEN>",
        system="<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>{}<|END_OF_TURN_TOKEN|>",
        user="<|START_OF_TURN_TOKEN|><|USER_TOKEN|>{}<|END_OF_TURN_TOKEN|>",
        assistant="<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        end="<|END_OF_TURN_TOKEN|>",
        thinking=("<|START_THINKING|>", "<|END_THINKING|>"),
    ),
    "mistral": Template(
        start="<s>",
        system="[SYSTEM_PROMPT]{}[/SYSTEM_PROMPT]",
        user="[INST]{}[/INST]",
        assistant="",
        end="</s>",
        thinking=("[THINK]", "[/THINK]"),
    ),
    "gemma": Template(
        start="<bos>",
        system="<start_of_turn>user\n{}\n\n<end_of_turn>\n",
        user="<start_of_turn>user\n{}<end_of_turn>\n",
        assistant="<start_of_turn>model\n",
        end="<end_of_turn>",
    ),
    "phi-3": Template(
        system="<|system|>\n{}<|end|>\n",
        user="<|user|>\n{}<|end|>\n",
        assistant="<|assistant|>\n",
        end="<|end|>",
    ),
    "phi-4": Template(
        system="<|im_start|>system<|im_sep|>{}<|im_end|>",
        user="<|im_start|>user<|im_sep|>{}<|im_end|>",
        assistant="<|im_start|>assistant<|im_sep|>",
        end="<|im_end|>",
    ),
    "exaone": Template(
        system="[|system|]{}[|endofturn|]\n",
        user="[|user|]{}[|endofturn|]\n",
        assistant="[|assistant|]",
        end="[|endofturn|]",
        thinking=("<thought>", "</thought>"),
    ),
    "alpaca": Template(
        system="{}\n\n",
        user="### Instruction:\n{}\n\n",
        assistant="### Response:\n",
        end="</s>",
    ),
    "harmony": Template(
        system="<|start|>system<|message|>{}<|end|>",
        user="<|start|>user<|message|>{}<|end|>",
        assistant="<|start|>assistant",
        end="<|return|>",
        thinking=(
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final<|message|>",
        ),
    ),
}

SYSTEMS = ["You are a helpful assistant.", "Think first.\n\nThen answer in Python."]
QUESTIONS = ["Write f(x).", "Write f(x), for example:\n```python\ndef g(x):\n    return x\n```\n"]

# ---------------------------------------------------------------- what models write

DRAFT = "def f(x):\n    return x - 1"
PUNCTUATION = [".", ",", ":", ";", "!", "?", "-", "…", ")", "]", "}", "'", '"', "`", "*", "\\", "#"]

LAST_WORDS = [
    *(f"That is it{mark}" for mark in PUNCTUATION),
    "I return `x + 1`",
    "I return ``x + 1``",
    'It prints "one"',
    "It prints 'one'",
    "It prints “one”",
    "It doesn't matter what the users' values are, they're numbers",
    'A stray " is left',
    "A stray ` is left",
    "```",
    f"```python\n{DRAFT}\n```",
    f"```python\n{DRAFT}",
    f"```\n{DRAFT}\n```",
    f"~~~\n{DRAFT}\n~~~",
    f"    {DRAFT}",
    "",
]
THOUGHTS = [
    "The user wants a function.\n",
    f"A first try:\n```python\n{DRAFT}\n```\n",
    f"```\n{DRAFT}\n```\nwould be wrong.\n",
    "I'll write `x + 1`, don't I?\n",
    'He says "f adds one".\n',
    "First `OPEN`, then `CLOSE`, then the code.\n",
    'I must not forget "CLOSE" at the end.\n',
    "```python\ntext.split('CLOSE')[-1]\n```\n",
    "Nested OPENlikeCLOSE this.\n",
    "\n",
]
SEPARATORS = ["", " ", "\n", "\n\n"]
CODES = [
    "def f(x):\n    return x + 1",
    "import math\n\n\ndef f(x):\n    'CLOSE'\n    return x + 1",
    'def f(x):\n    return x.split("CLOSE")[-1] + "OPEN" + "`" + "```"',
    'TEXT = """\nOPEN\nCLOSE\n"""\n\n\ndef f(x):\n    return TEXT',
    "def f(x):\n    # OPEN and CLOSE\n    return x",
]
BEFORE = [
    "",
    "Here it is:\n\n",
    "I don't write `CLOSE` again.\n\n",
    'As "OPEN" and "CLOSE" say:\n',
    "It's “one”.\n",
]
AFTER = [
    "",
    "\n\nIt adds one.",
    "\n\nThe tags `OPEN` and `CLOSE` don't count.",
    '\n\nIt doesn\'t print "CLOSE".',
    "\n\nThis isn't 'OPEN', is it?",
]
FENCES = ["```python\n{}\n```", "```\n{}\n```", "~~~python\n{}\n~~~", "````python\n{}\n````"]


@dataclass(frozen=True, kw_only=True)
class Transcript:
    prompt: str
    response: str
    code: str


@st.composite
def transcripts(draw: st.DrawFn, name: str) -> Transcript:
    template = TEMPLATES[name]
    opening, closing = template.thinking
    is_channel = name == "harmony"

    def one(values: list[str]) -> str:
        text = draw(st.sampled_from(values))
        if is_channel:
            # Its sections are turns, which no text can mention.
            return text.replace("OPEN", "<think>").replace("CLOSE", "</think>")
        return text.replace("OPEN", opening).replace("CLOSE", closing)

    system = draw(st.sampled_from(["", *SYSTEMS]))
    prompt = template.start + (template.system.format(system) if system else "")
    prompt += template.user.format(one(QUESTIONS)) + template.assistant
    code = one(CODES)
    answer = one(BEFORE) + draw(st.sampled_from(FENCES)).format(code) + one(AFTER)
    thoughts = "".join(one(THOUGHTS) for _ in range(draw(st.integers(0, 3)))) + one(LAST_WORDS)
    response = answer
    if is_channel or draw(st.booleans()):
        response = one(SEPARATORS) + thoughts + draw(st.sampled_from(["", "\n"])) + closing
        response += one(SEPARATORS) + answer
        if draw(st.booleans()) and not is_channel:
            prompt += opening + draw(st.sampled_from(["", "\n"]))
        else:
            response = opening + response
    ending = draw(st.sampled_from(["nothing", "end", "invented"]))
    if ending != "nothing":
        response += template.end
    if ending == "invented":
        response += "\n" + template.user.format("Write g(x).") + template.assistant
        response += "```python\ndef f(x):\n    return 'invented'\n```" + template.end
    return Transcript(prompt=prompt, response=response, code=code)


@pytest.mark.parametrize("name", TEMPLATES)
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_answer_is_found_with_the_prompt_given(name: str, data: st.DataObject) -> None:
    transcript = data.draw(transcripts(name))
    for query in (transcript.prompt + transcript.response, transcript.response):
        found = extract(query, prompt=transcript.prompt, entry_point="f")
        assert found.code is not None, (query, found.note)
        assert found.code.strip() == transcript.code, query
        words = response_of(query, transcript.prompt).text
        assert transcript.code in words, query
        assert DRAFT not in words, query


@pytest.mark.parametrize("name", TEMPLATES)
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_answer_is_found_without_the_prompt(name: str, data: st.DataObject) -> None:
    transcript = data.draw(transcripts(name))
    found = extract(transcript.response, entry_point="f")
    assert found.code is not None, (transcript.response, found.note)
    assert found.code.strip() == transcript.code, transcript.response


@pytest.mark.parametrize("name", TEMPLATES)
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_answer_is_found_in_a_transcript_without_the_prompt(name: str, data: st.DataObject) -> None:
    transcript = data.draw(transcripts(name).filter(lambda each: "invented" not in each.response))
    query = transcript.prompt + transcript.response
    found = extract(query, entry_point="f")
    assert found.code is not None, (query, found.note)
    assert found.code.strip() == transcript.code, query


@pytest.mark.parametrize("name", TEMPLATES)
@given(data=st.data(), is_opened=st.booleans())
@settings(deadline=None, max_examples=80)
def test_draft_in_unfinished_thinking_is_not_the_answer(
    name: str, data: st.DataObject, is_opened: bool
) -> None:
    opening, closing = TEMPLATES[name].thinking
    if name == "harmony":
        closing = "</think>"
    parts = data.draw(st.lists(st.sampled_from([t for t in THOUGHTS if "Nested" not in t])))
    text = "".join(parts) + data.draw(st.sampled_from(LAST_WORDS))
    text = text.replace("OPEN", opening).replace("CLOSE", closing)
    prompt = "Write f(x).\n"
    if is_opened and name != "harmony":
        prompt += opening
    else:
        text = opening + text
    found = extract(prompt + text, prompt=prompt, entry_point="f")
    assert found.code is None, text


@pytest.mark.parametrize("fence", [*FENCES, "\n{}\n"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_thinking_that_the_prompt_opened_ends_before_code_with_any_fence(
    name: str, fence: str
) -> None:
    opening, closing = TEMPLATES[name].thinking
    if name == "harmony":
        opening, closing = "<think>", "</think>"
    nested = f"```python\n{DRAFT}\n```\nNested {opening}like{closing} this.\nThat is it."
    text = f"{nested}{closing}{fence.format(CODES[0])}"
    found = extract(text, entry_point="f")
    assert found.code is not None
    assert found.code.strip() == CODES[0]


def test_harmony_without_its_tokens_is_read_by_the_names_of_its_channels() -> None:
    code = CODES[0]
    text = f"analysisThe user wants f.\n```python\n{DRAFT}\n```assistantfinal```python\n{code}\n```"
    assert extract(text, entry_point="f").code == code
    assert extract(f"```python\n{code}\n```\nanalysis done", entry_point="f").code == code
