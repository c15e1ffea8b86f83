"""The text between two turns of the model, by chat template. All pure.

Sampled tokens stay unchanged; a template only provides the text between one answer of the model
and its next. Special tokens in text that a program printed are broken up, so that they cannot end
a turn.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.config.rewards import ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """A chat template."""

    ends: tuple[str, ...]
    """Tokens that end the model's turn. If a turn has none, the first is added."""
    before: str
    """The text between the end of the model's turn and the user's text."""
    after: str
    """The text between the user's text and the model's next turn."""
    marks: tuple[str, ...]
    """Texts that identify a conversation in this template."""


TEMPLATES: Mapping[ChatTemplate, Turns] = MappingProxyType(
    {
        ChatTemplate.LLAMA2: Turns(
            ends=("</s>",),
            before="<s>[INST] ",
            after=" [/INST]",
            marks=("[/INST]",),
        ),
        ChatTemplate.CHATML: Turns(
            ends=("<|im_end|>", "<|endoftext|>"),
            before="\n<|im_start|>user\n",
            after="<|im_end|>\n<|im_start|>assistant\n",
            marks=("<|im_start|>",),
        ),
        ChatTemplate.LLAMA3: Turns(
            ends=("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"),
            before="<|start_header_id|>user<|end_header_id|>\n\n",
            after="<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            marks=("<|start_header_id|>",),
        ),
        ChatTemplate.PLAIN: Turns(ends=(), before="\n\n", after="\n\nAssistant: ", marks=()),
    }
)

_SPECIAL = re.compile(
    r"<(?=\||\uff5c|<?/?(?:s|unk|pad|bos|eos|mask|cls|sep|sys|eot|pre|suf|mid|fill_me|endoftext"
    r"|(?:start|end)_of_turn|(?:fim|file|repo|issue|jupyter|commit)_\w{1,20}|think|tool_\w{1,20})>)"
    r"|(?-i:\[(?=/?[A-Z]{3,}(?:_[A-Z]+)*\]))",
    re.IGNORECASE,
)
"""Special tokens of Llama, CodeLlama, ChatML, Mistral, Gemma, StarCoder, DeepSeek and others."""


def template_of(conversation: str) -> ChatTemplate:
    """Return the template of a conversation, by the last mark in it."""
    found = [
        (conversation.rfind(mark), template)
        for template, turns in TEMPLATES.items()
        for mark in turns.marks
    ]
    position, template = max(found, key=lambda pair: pair[0])
    return template if position >= 0 else ChatTemplate.PLAIN


_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")


def next_turn(words: str, *, answer: str, template: ChatTemplate, prompt: str = "") -> str:
    """Return the text between an answer of the model and its next.

    Args:
        words: The text of the user's turn. Special tokens in it are broken up.
        answer: The model's answer as sampled. An end token is added only if it has none.
        template: Not `AUTO`.
        prompt: The first prompt. If it opens a thinking section, every later turn opens one, too.
    """
    turns = TEMPLATES[template]
    ended = not turns.ends or answer.rstrip("\n").endswith(turns.ends)
    end = "" if ended else turns.ends[0]
    before = turns.before
    if answer.endswith("\n") and before.startswith("\n") and ended and turns.ends:
        # The newline after the end token was sampled, too.
        before = before[1:]
    opened = _OPENED.search(prompt)
    return f"{end}{before}{defused(words)}{turns.after}{opened[0] if opened else ''}"


def defused(text: str) -> str:
    """Return a text without special tokens: each is broken up by a blank."""
    return _SPECIAL.sub(lambda match: match[0] + " ", text)
